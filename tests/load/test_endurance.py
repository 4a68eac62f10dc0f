"""Servers that replace connections all the time, and one that stops reading: nothing is lost, nothing grows."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from concurrent import futures
from contextlib import asynccontextmanager

import grpc
import pytest
import uvloop

from lbctl.balance.policies.table import POLICIES
from lbctl.clock import SystemClock
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Endpoint, Instance
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.request import Request
from tests.load.stage import consistent
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2
from tests.wire.frames import reply

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

IN_FLIGHT, MIB = 64, 1 << 20
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)


@asynccontextmanager
async def restless(age_ms: int) -> AsyncIterator[Endpoint]:
    """A real gRPC server whose connections live that long."""
    server = grpc.server(
        futures.ThreadPoolExecutor(4),
        handlers=[_Echo()],
        options=[("grpc.max_connection_age_ms", age_ms), ("grpc.so_reuseport", 0)],
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield Endpoint("127.0.0.1", port)
    finally:
        await asyncio.to_thread(server.stop(None).wait)


def a_run(endpoint: Endpoint, duration_s: float, body: bytes = b"x", connections: int = 1) -> Run:
    plan = Plan(concurrency=IN_FLIGHT, requests=None, duration_s=duration_s, timeout_s=30.0)

    def request_for(instance: Instance) -> Request:
        return Request("/pkg.Svc/Method", body, instance.address, plan.timeout_ns)

    options = ConnectionOptions(connections=connections)
    policy = POLICIES["round_robin"]
    task = Task("echo", "pkg.Svc/Method", policy, 1, plan, request_for, connection=options, grace_s=20.0)
    run = Run(task, SystemClock())
    run.apply([Instance("/services/echo/1", "echo", "seed", endpoint, 1)])
    return run


async def _sample(seen: list[int]) -> None:
    while True:
        await asyncio.sleep(0.05)
        seen.append(descriptors())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("duration_s", "age_ms", "connections"), [(3.0, 300, 1), (3.0, 300, 3), (6.0, 60, 1)])
def test_a_maximum_connection_age_costs_no_call_and_no_descriptor(
    loop: str, duration_s: float, age_ms: int, connections: int
) -> None:
    async def work() -> None:
        async with restless(age_ms) as endpoint:
            run = a_run(endpoint, duration_s, connections=connections)
            await run.backends.settled()
            seen: list[int] = []
            sampling = asyncio.create_task(_sample(seen))
            await run.drive()
            sampling.cancel()
            report = run.report()
            await run.aclose()
        consistent(report)
        assert (report.errors, report.cancelled, report.in_flight) == (0, 0, 0), report.error_groups
        assert report.ok == report.issued > 100
        (lane,) = run.backends.lanes.values()
        counters = lane.counters()
        assert counters["connections"] >= connections * duration_s * 300 / age_ms  # each lived for 3 ages at most
        assert counters["opened"] == sum(count for name, count in counters.items() if name.startswith("closed: "))
        # Both ends of each connection are ours; old ones overlap with new ones for as long as their calls take.
        half = len(seen) // 2
        assert max(seen[half:]) <= max(seen[:half]) + 4 * connections

    before = descriptors()
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(work())
    assert descriptors() <= before + 8  # what grpc keeps for its next server


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_stops_reading_for_ten_seconds_costs_no_memory_and_no_call(loop: str) -> None:
    async def behave(peer: Connection) -> None:
        peer.send(h2.window_update(0, 2**30))
        while True:
            peer.send(reply((await peer.request()).stream), *(reply(request.stream) for request in peer.pending()))

    async def work() -> None:
        server = ScriptedServer(behave, settings={h2.INITIAL_WINDOW_SIZE: 2**30})
        async with server:
            run = a_run(server.endpoint, 11.0, bytes(100_000))
            await run.backends.settled()
            driving = asyncio.create_task(run.drive())
            await asyncio.sleep(0.1)
            (peer,) = server.connections
            before = resident()
            peer.deaf(deaf=True)
            grown = 0
            for _ in range(100):
                await asyncio.sleep(0.1)
                grown = max(grown, resident() - before)
            assert run.report().in_flight == IN_FLIGHT
            peer.deaf(deaf=False)
            run.stop()
            await driving
            report = run.report()
            await run.aclose()
        assert grown < 64 * MIB
        assert (report.errors, report.cancelled, report.ok) == (0, 0, report.issued)
        assert len(server.connections) == 1

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(asyncio.wait_for(work(), 40))
