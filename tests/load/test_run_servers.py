"""Runs over real sockets, on both event loops: what the in-memory tests take for granted about the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

from lbctl.balance.policies.table import POLICIES
from lbctl.clock import SystemClock
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Code, Endpoint, Instance
from lbctl.rpc.options import ConnectionOptions
from lbctl.stats.report import Report
from lbctl.wire.request import Request
from tests.fakes import until
from tests.load.rig import plan
from tests.load.stage import consistent
from tests.scripted import Connection, ScriptedServer, answering
from tests.wire import frames as h2
from tests.wire.frames import reply

Scenario = Callable[[], Awaitable[None]]
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(params=sorted(LOOPS))
def on_loop(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    """Run a scenario on that loop, and fail if anything was raised in a callback or a task was left."""

    def run(scenario: Scenario) -> None:
        problems: list[str] = []
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            handler = lambda _, context: problems.append(f"{context['message']} {context.get('exception')!r}")  # noqa: E731
            runner.get_loop().set_exception_handler(handler)

            async def bounded() -> None:
                async with asyncio.timeout(10):
                    await scenario()
                assert len(asyncio.all_tasks()) == 1

            runner.run(bounded())
        assert not problems

    return run


def instances(*endpoints: Endpoint) -> list[Instance]:
    return [Instance(f"/services/echo/{endpoint}", "echo", "seed", endpoint, 1) for endpoint in endpoints]


@asynccontextmanager
async def running(load: Plan, *endpoints: Endpoint, policy: str = "round_robin") -> AsyncIterator[Run]:
    """A run that is connected to these backends; every report of it is checked while the block lasts."""

    def request_for(instance: Instance) -> Request:
        return Request("/pkg.Svc/Method", b"x", instance.address, load.timeout_ns)

    connection = ConnectionOptions(connect_timeout_s=2.0)
    task = Task("echo", "pkg.Svc/Method", POLICIES[policy], 1, load, request_for, connection=connection, grace_s=1.0)
    run = Run(task, SystemClock())
    watching = asyncio.create_task(_watch(run))
    try:
        run.apply(instances(*endpoints))
        await run.backends.settled()
        yield run
        watching.cancel()
        await asyncio.wait([watching])
        if not watching.cancelled():
            watching.result()
        consistent(run.report())
    finally:
        watching.cancel()
        await run.aclose()


async def _watch(run: Run) -> None:
    elapsed = 0.0
    while True:
        report = run.report()
        consistent(report)
        assert report.elapsed_s >= elapsed
        elapsed = report.elapsed_s
        await asyncio.sleep(0.002)


def picks(report: Report, *endpoints: Endpoint) -> list[int]:
    """The picks of these backends, in this order."""
    rows = {row.address: row.picks for row in report.backends}
    return [rows[str(endpoint)] for endpoint in endpoints]


def counted(report: Report) -> dict[str, dict[Code, int]]:
    return {row.address: dict(row.codes) for row in report.backends}


def test_a_run_over_two_servers_is_counted_on_both_sides_alike(on_loop: Callable[[Scenario], None]) -> None:
    async def scenario() -> None:
        async with ScriptedServer(answering(reply)) as one, ScriptedServer(answering(reply)) as two:
            async with running(plan(20, 1000), one.endpoint, two.endpoint) as run:
                await run.drive()
                report = run.report()
            assert (report.ok, report.errors, report.attempts) == (1000, 0, 1000)
            assert picks(report, one.endpoint, two.endpoint) == [500, 500]
            assert [len(server.connections[0].requests) for server in (one, two)] == [500, 500]
            assert len(one.connections) == 1

    on_loop(scenario)


def test_a_server_that_says_goaway_every_few_calls_costs_no_call(on_loop: Callable[[Scenario], None]) -> None:
    async def behave(peer: Connection) -> None:
        for _ in range(20):
            request = await peer.request()
            peer.send(reply(request.stream))
        peer.send(h2.goaway(h2.LARGEST_WINDOW))
        await answering(reply)(peer)

    async def scenario() -> None:
        async with ScriptedServer(behave) as aging, ScriptedServer(answering(reply)) as steady:
            async with running(plan(8, 600), aging.endpoint, steady.endpoint) as run:
                await run.drive()
                report = run.report()
            assert (report.ok, report.errors, report.retries) == (600, 0, 0)
            assert picks(report, aging.endpoint, steady.endpoint) == [300, 300]
            assert not report.events
            assert len(aging.connections) > 5

    on_loop(scenario)


def test_a_server_that_dies_under_load_fails_only_its_own_calls(on_loop: Callable[[Scenario], None]) -> None:
    async def behave(peer: Connection) -> None:
        for _ in range(10):
            request = await peer.request()
            peer.send(reply(request.stream))
        await peer.request()
        peer.abort()
        dying._server.close()  # type: ignore[union-attr]  # nobody comes back

    dying = ScriptedServer(behave)

    async def scenario() -> None:
        async with dying, ScriptedServer(answering(reply)) as steady:
            async with running(plan(8, 400), dying.endpoint, steady.endpoint) as run:
                await run.drive()
                report = run.report()
            assert report.issued == report.completed == 400
            codes = counted(report)
            assert set(codes[str(steady.endpoint)]) == {Code.OK}
            assert set(codes[str(dying.endpoint)]) == {Code.OK, Code.UNAVAILABLE}
            assert 1 <= report.errors <= 8
            assert report.events[0].text.startswith("connection ")

    on_loop(scenario)


def test_a_server_that_never_answers_neither_hangs_the_run_nor_its_end(on_loop: Callable[[Scenario], None]) -> None:
    async def behave(peer: Connection) -> None:
        await peer.gone()

    async def scenario() -> None:
        async with ScriptedServer(behave) as silent, ScriptedServer(answering(reply)) as steady:
            async with running(plan(4, 40, timeout_s=0.05), silent.endpoint, steady.endpoint) as run:
                await run.drive()
                report = run.report()
            codes = counted(report)
            assert codes == {str(silent.endpoint): {Code.DEADLINE_EXCEEDED: 20}, str(steady.endpoint): {Code.OK: 20}}
            assert len(silent.connections[0].all_seen(h2.RST_STREAM)) == 20

    on_loop(scenario)


def test_backends_that_come_and_go_under_load_cost_no_call(on_loop: Callable[[Scenario], None]) -> None:
    async def scenario() -> None:
        async with ScriptedServer(answering(reply)) as one, ScriptedServer(answering(reply)) as two:
            async with running(plan(8), one.endpoint, two.endpoint) as run:
                driving = asyncio.create_task(run.drive())
                for _ in range(10):
                    for members in ((one.endpoint,), (one.endpoint, two.endpoint)):
                        run.apply(instances(*members))
                        wanted = run.report().completed + 50
                        await until(lambda wanted=wanted: run.report().completed >= wanted)  # type: ignore[misc]
                run.stop()
                await driving
                report = run.report()
            assert report.errors == 0
            assert report.issued == report.completed == report.ok
            assert [event.text for event in report.events] == ["left the registry", "joined, weight 1"] * 10
            assert len(report.backends) == 2
            assert [sum(len(peer.requests) for peer in two.connections)] == picks(report, two.endpoint)

    on_loop(scenario)


def test_peers_that_are_no_grpc_servers_are_named_for_what_they_are(on_loop: Callable[[Scenario], None]) -> None:
    async def http1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await reader.read(1)
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(http1, "127.0.0.1", 0)
        async with server, ScriptedServer(answering(reply)) as steady:
            odd = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            async with running(plan(4, 100), odd, steady.endpoint) as run:
                assert run.backends.failures() == {str(odd): "peer speaks HTTP/1.x, not HTTP/2"}
                await run.drive()
                report = run.report()
            assert report.ok == 100
            assert picks(report, odd, steady.endpoint) == [0, 100]
            assert [event.text for event in report.events] == ["peer speaks HTTP/1.x, not HTTP/2"]

    on_loop(scenario)
