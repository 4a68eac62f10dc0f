"""Every call is attributed to the server that counted it, however it ends, and to that one alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.load.engines import require
from lbctl.load.pacing.schedule import steady
from lbctl.model import Code, Origin
from tests.rpc.grpcio.backends import Backend, backends, stream
from tests.rpc.grpcio.runs import VERDICTS, consistent, every_policy, instance, run_to_its_end, running, task
from tests.scripted import ScriptedServer
from tests.scripted import answering as scripted
from tests.wire import frames as h2


@every_policy
async def test_every_call_is_attributed_to_the_server_that_counted_it(policy: str) -> None:
    await require(policy, "grpcio")
    async with backends(3) as servers:
        report = await run_to_its_end(task(policy), servers)
    consistent(report, servers)
    assert (report.ok, report.issued) == (600, 600)
    assert sum(backend.unary for backend in servers) == 600
    assert report.balance.verdict == VERDICTS[policy], report.balance
    assert {backend.metadata["lbctl-call"] for backend in servers if backend.unary}


async def test_the_servers_errors_are_theirs() -> None:
    async with backends(2) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100, method="Fail"), servers)
    consistent(report, servers, method="Fail")
    (group,) = report.error_groups
    assert (group.code, group.origin, group.message, group.count) == (
        Code.NOT_FOUND,
        Origin.SERVER,
        "nothing here",
        100,
    )
    assert group.backends == {str(backend.endpoint): 50 for backend in servers}


async def test_a_refused_call_is_sent_again_by_lbctl_and_both_attempts_are_counted() -> None:
    def refused(stream_id: int) -> bytes:
        return h2.rst(stream_id, h2.REFUSED_STREAM)

    async with ScriptedServer(scripted(refused, h2.reply), strict=False) as server:
        wanted = task("grpc:round_robin", requests=10, concurrency=1)
        report = await run_to_its_end(wanted, [Backend(server.endpoint)])
    assert sum(len(peer.requests) for peer in server.connections) == 11
    assert (report.ok, report.attempts, report.retries, report.backends[0].picks) == (10, 11, 1, 11)


async def test_streams_are_attributed_like_any_call() -> None:
    async with backends(2) as servers:
        wanted = replace(task("grpc:round_robin", requests=60), request_for=lambda _: stream("Chat", count=3))
        report = await run_to_its_end(wanted, servers)
    consistent(report, servers, method="Chat")
    assert [backend.calls["Chat"] for backend in servers] == [30, 30]
    assert report.streams is not None
    assert (report.streams.sent, report.streams.received) == (180, 180)


async def test_an_open_loop_is_picked_by_grpc_too() -> None:
    async with backends(2) as servers:
        wanted = task("grpc:round_robin", requests=100)
        plan = replace(wanted.plan, schedule=steady(500.0), concurrency=0)
        report = await run_to_its_end(replace(wanted, plan=plan), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [50, 50]


async def test_calls_that_are_late_are_charged_to_the_backend_that_had_them() -> None:
    async with backends(2) as servers:
        wanted = task("grpc:round_robin", requests=20, concurrency=10, method="Wait", timeout_s=0.2)
        report = await run_to_its_end(wanted, servers)
    consistent(report, servers, method="Wait")
    assert dict(report.codes) == {Code.DEADLINE_EXCEEDED: 20}
    assert [each.errors for each in report.backends] == [10, 10]


async def test_calls_that_are_cancelled_at_the_end_are_charged_to_the_backend_that_had_them() -> None:
    wanted = task("grpc:round_robin", requests=None, method="Wait")
    async with backends(2) as servers, running(wanted, map(instance, servers)) as drive:
        assert await drive.all_waiting(servers) == [10, 10]
        drive.run.abort()
        report = await drive.end()
    consistent(report, servers, method="Wait")
    assert (report.cancelled, report.errors, report.ok) == (20, 0, 0)
    assert [each.cancelled for each in report.backends] == [10, 10]


async def test_what_the_connections_did_is_counted_by_the_taps() -> None:
    async with backends(2) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100), servers)
    assert (report.wire.opened, report.wire.sockets) == (2, 2)
    assert all(each.wire.bytes_in > 50 * 20 for each in report.backends)


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_lbctls_own_policies_work_with_both_engines(engine: str) -> None:
    await require("round_robin", engine)
    async with backends(3) as servers:
        report = await run_to_its_end(task("round_robin", requests=300, engine=engine), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [100, 100, 100]
    assert report.generator.engine == engine
    assert all("lbctl-call" not in backend.metadata for backend in servers)
