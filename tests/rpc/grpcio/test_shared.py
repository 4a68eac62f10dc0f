"""The shared channel itself: no call is lost or counted twice while lines change, and none outlives its end."""

from __future__ import annotations

import grpc.aio

from lbctl.model import Code, Origin, Reply
from lbctl.rpc.grpcio.tap import HEADER
from lbctl.rpc.transport import Connectivity
from lbctl.wire.state import Wait
from tests.fakes import until
from tests.rpc.grpcio.backends import PATIENCE_S, SERVICE, backends
from tests.rpc.grpcio.sharing import Gates, sharing

STOP = Reply(Code.CANCELLED, Origin.CLIENT, "enough")


async def test_a_call_that_is_seen_again_elsewhere_counts_for_the_backend_that_had_it_last() -> None:
    async with backends(2) as servers, sharing(servers, "Wait") as shared:
        await shared.ready(*servers)
        calls = shared.start()
        await until(lambda: sum(backend.calls["Wait"] for backend in servers) == 1, PATIENCE_S)
        first, other = sorted(servers, key=lambda backend: -backend.calls["Wait"])
        line = shared.channel.lines.current
        assert line is not None
        tap = line.tap_of(shared.member(other))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{tap.port}") as again:  # as gRPC's own retry would
            attempt = again.unary_unary(f"/{SERVICE}/Say", None, None)
            await attempt(b"", metadata=((HEADER, "1"),))
        assert (shared.member(first).in_flight, shared.member(other).in_flight) == (0, 1)
        assert shared.sights[first.endpoint].placed_here == [(False, False)]
        assert shared.sights[other.endpoint].placed_here == [(True, False)]
        assert (shared.sights[first.endpoint].moved_away, shared.sights[other.endpoint].moved_away) == (1, 0)
        first.gate.set()
        assert await shared.finish(calls) == ["done"]
        assert (shared.member(first).in_flight, shared.member(other).in_flight) == (0, 0)


async def test_calls_since_the_last_one_at_a_backend_that_is_lost_may_have_been_picked_without_it() -> None:
    async with backends(2) as servers, sharing(servers, "Wait") as shared:
        await shared.ready(*servers)
        calls = shared.start()
        await until(lambda: sum(backend.calls["Wait"] for backend in servers) == 1, PATIENCE_S)
        dies, stays = sorted(servers, key=lambda backend: -backend.calls["Wait"])
        calls += shared.start()
        await until(lambda: stays.calls["Wait"] == 1, PATIENCE_S)
        line, lost = shared.channel.lines.current, shared.member(dies)
        assert line is not None
        assert line.unsure_of(lost) == 0
        loose = shared.picker.loose
        await dies.stop()
        await until(lambda: lost.state is Connectivity.TRANSIENT_FAILURE, PATIENCE_S)
        assert line.unsure_of(lost) == 1
        assert shared.picker.loose >= loose + 2  # the one that followed, and the change itself
        stays.gate.set()
        assert sorted(await shared.finish(calls)) == ["done", "replied"]


async def test_calls_that_wait_while_a_backend_leaves_are_returned_when_the_rest_is_connected() -> None:
    gates = Gates()
    async with backends(2) as servers:
        stays, leaves = servers
        gates.shut(leaves)
        async with sharing(servers, gates=gates) as shared:
            await until(lambda: shared.member(stays).gauges().sockets == 1, PATIENCE_S)
            calls = shared.start(3)
            assert {call.waited_for for call in calls} == {Wait.CONNECTION}
            assert shared.channel.gauges().waiting == 3
            shared.leave(leaves)
            assert await shared.finish(calls) == ["returned"] * 3
            assert shared.channel.gauges().waiting == 0
            assert await shared.finish(shared.start(3)) == ["done"] * 3
        assert (stays.unary, leaves.unary) == (3, 0)


async def test_no_call_is_handed_over_to_a_list_with_a_backend_that_has_left() -> None:
    gates = Gates()
    async with backends(2) as servers, sharing(servers, gates=gates) as shared:
        await shared.ready(*servers)
        stays, leaves = servers
        gates.shut(stays)
        shared.leave(leaves)
        calls = shared.start(4)
        assert shared.channel.gauges().waiting == 4
        gates.open(stays)
        assert await shared.finish(calls) == ["returned"] * 4


async def test_a_backend_that_joins_and_leaves_before_it_is_connected_changes_nothing() -> None:
    gates = Gates()
    async with backends(2) as servers:
        stays, passes = servers
        gates.shut(passes)
        async with sharing([stays], "Wait", gates) as shared:
            await shared.ready(stays)
            line, calls = shared.channel.lines.current, shared.start()
            shared.join(passes)
            await until(lambda: len(shared.channel.lines) == 2, PATIENCE_S)
            shared.leave(passes)
            await until(lambda: len(shared.channel.lines) == 1, PATIENCE_S)
            assert shared.channel.lines.usable() is line
            calls += shared.start(2)
            stays.gate.set()
            assert await shared.finish(calls) == ["done"] * 3
        assert (stays.calls["Wait"], passes.calls["Wait"], shared.events) == (3, 0, [])


async def test_cancelling_ends_every_call_at_once_on_lines_that_are_leaving_too_and_returns_those_that_wait() -> None:
    gates = Gates()
    async with backends(2) as servers, sharing(servers, "Wait", gates) as shared:
        await shared.ready(*servers)
        sent = shared.start(6)
        await until(lambda: sum(backend.calls["Wait"] for backend in servers) == 6, PATIENCE_S)
        shared.leave(servers[1])
        await shared.ready(servers[0])
        sent += shared.start(2)
        await until(lambda: sum(backend.calls["Wait"] for backend in servers) == 8, PATIENCE_S)
        gates.shut(servers[1])
        shared.join(servers[1])
        await until(lambda: len(shared.channel.lines) == 3, PATIENCE_S)
        shared.leave(servers[0])
        waiting = shared.start(2)
        shared.channel.cancel(STOP)
        assert [call.reply for call in sent] == [STOP] * 8
        assert [call.how for call in waiting] == ["returned"] * 2
        assert [member.in_flight for member in shared.members.values()] == [0]


async def test_a_call_whose_deadline_passes_while_it_waits_is_returned_and_the_others_wait_on() -> None:
    gates = Gates()
    async with backends(1) as servers:
        gates.shut(servers[0])
        async with sharing(servers, gates=gates) as shared:
            late, early = shared.start(timeout_s=1), shared.start(timeout_s=60)
            shared.channel.expire(late[0].deadline_ns - 1)
            assert not late[0].how
            shared.channel.expire(late[0].deadline_ns)
            assert (late[0].how, early[0].how) == ("returned", "")
            assert shared.channel.gauges().waiting == 1
            assert servers[0].unary == 0


async def test_a_deadline_is_kept_on_lines_that_are_leaving() -> None:
    async with backends(2) as servers, sharing(servers, "Wait") as shared:
        await shared.ready(*servers)
        calls = shared.start(2, timeout_s=60)
        await until(lambda: all(backend.calls["Wait"] for backend in servers), PATIENCE_S)
        shared.leave(servers[1])
        await shared.ready(servers[0])
        shared.channel.expire(calls[-1].deadline_ns)
        assert {call.reply.code for call in calls if call.reply} == {Code.DEADLINE_EXCEEDED}
        assert [call.how for call in calls] == ["replied"] * 2


async def test_what_a_closed_line_has_counted_is_kept_and_counted_once() -> None:
    async with backends(2) as servers, sharing(servers[:1]) as shared:
        await shared.ready(servers[0])
        await shared.finish(shared.start(5))
        member = shared.member(servers[0])
        read = member.total_counters()["bytes_in"]
        shared.join(servers[1])
        await shared.ready(*servers)
        await until(lambda: len(shared.channel.lines) == 1, PATIENCE_S)
        counters = member.total_counters()
        assert (counters["opened"], counters["connections"], counters["closed: by us"]) == (2, 2, 1)
        assert counters["bytes_in"] > read > 0
        assert member.gauges().sockets == 1


async def test_a_line_is_closed_when_the_last_call_on_it_has_ended_and_not_before() -> None:
    async with backends(2) as servers, sharing(servers, "Wait") as shared:
        await shared.ready(*servers)
        calls = shared.start(2)
        await until(lambda: all(backend.calls["Wait"] for backend in servers), PATIENCE_S)
        gone = shared.leave(servers[1])
        await shared.ready(servers[0])
        assert (len(shared.channel.lines), gone.is_over, gone.gauges().sockets) == (2, False, 1)
        for backend in servers:
            backend.gate.set()
        assert await shared.finish(calls) == ["done"] * 2
        await until(lambda: gone.is_over, PATIENCE_S)
        assert (len(shared.channel.lines), gone.gauges().sockets) == (1, 0)
