"""Calls through grpcio: ends, origins, times, limits, and the states of the backend."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.transport import Connectivity
from lbctl.wire.limits import Limits
from lbctl.wire.state import Wait
from tests.fakes import until
from tests.rpc.grpcio.backends import PATIENCE_S, Backend, Desk, OneCall, asking, backends, line
from tests.rpc.servers import answering, refused_port
from tests.scripted import Connection, ScriptedServer
from tests.scripted import answering as scripted
from tests.wire import frames as h2
from tests.wire.frames import reply

STOP = Reply(Code.CANCELLED, Origin.CLIENT, "enough")


async def test_a_call_is_answered_and_its_message_kept_where_it_is_wanted() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Say", b"hi")) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply == Reply(Code.OK, Origin.SERVER, "", b"hi")
    assert backend.calls == {"Say": 1}


async def test_ok_calls_are_done_without_a_message_where_nobody_wants_it() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Say"), keep=False) as calls:
        await calls.ready()
        sent = calls.start(30)
        await calls.finish(sent)
    assert {call.how for call in sent} == {"done"}
    assert backend.unary == 30


async def test_the_servers_own_status_and_words_are_its_own() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Fail")) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply == Reply(Code.NOT_FOUND, Origin.SERVER, "nothing here")


async def test_a_method_nobody_has_is_the_servers_answer() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Nope")) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert (reply.code, reply.origin) == (Code.UNIMPLEMENTED, Origin.SERVER)


async def test_a_deadline_is_ours_and_the_server_is_told() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        (reply,) = await calls.ask(timeout_s=0.1)
    assert reply == Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT, "deadline exceeded")


async def test_expiring_ends_late_calls_alone() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        early, late = calls.start(1, timeout_s=60), calls.start(1)
        await until(lambda: backend.calls["Wait"] == 2, PATIENCE_S)
        calls.transport.expire(calls.desk.clock.now_ns() + int(61e9))
        (reply,) = await calls.finish(early)
        assert (reply.code, reply.origin) == (Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        assert not late[0].how
        backend.gate.set()
        (reply,) = await calls.finish(late)
    assert reply.code is Code.OK


async def test_cancelling_ends_every_call_with_the_given_reply_and_the_next_one_goes_well() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        sent = calls.start(5)
        await until(lambda: backend.calls["Wait"] == 5, PATIENCE_S)
        calls.transport.cancel(STOP)
        assert [call.reply for call in sent] == [STOP] * 5
        backend.gate.set()
        (reply,) = await calls.ask()
    assert reply.code is Code.OK


async def test_metadata_reaches_the_server_binary_values_as_they_were() -> None:
    octets = bytes(range(256))
    metadata = ((b"x-team", b"blue"), (b"x-trace-bin", base64.b64encode(octets).rstrip(b"=")))
    async with backends() as (backend,), line(backend.endpoint, asking("Say", metadata=metadata)) as calls:
        await calls.ready()
        await calls.ask()
    assert backend.metadata["x-team"] == "blue"
    assert backend.metadata["x-trace-bin"] == octets
    assert str(backend.metadata["user-agent"]).startswith("lbctl/")
    assert "lbctl-call" not in backend.metadata


async def test_metadata_that_grpcio_does_not_send_is_refused() -> None:
    with pytest.raises(UsageError, match="metadata x: grpcio sends printable ASCII only"):
        async with line(Endpoint("127.0.0.1", 1), asking("Say", metadata=((b"x", b"\xff"),))):
            pass


async def test_compressed_messages_arrive_as_they_were() -> None:
    large = b"abc" * 10_000
    async with backends() as (backend,), line(backend.endpoint, asking("Say", large, gzip=True)) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply.message == large


async def test_a_reply_above_the_limit_is_refused_by_the_client() -> None:
    options = ConnectionOptions(limits=Limits(max_message=1000))
    async with backends() as (backend,), line(backend.endpoint, asking("Say", bytes(1001)), options=options) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert (reply.code, reply.origin) == (Code.RESOURCE_EXHAUSTED, Origin.CLIENT)
    assert "1001 vs. 1000" in reply.reason


async def test_a_request_above_grpcs_usual_limit_is_sent() -> None:
    options = ConnectionOptions(limits=Limits(max_message=32 << 20))
    async with (
        backends() as (backend,),
        line(backend.endpoint, asking("Say", bytes(3 << 20)), options=options) as calls,
    ):
        await calls.ready()
        (reply,) = await calls.ask()
    assert len(reply.message) == 3 << 20


async def test_several_connections_are_several_sockets_and_all_carry_calls() -> None:
    async with (
        backends() as (backend,),
        line(backend.endpoint, asking("Say"), options=ConnectionOptions(connections=3)) as calls,
    ):
        await until(lambda: calls.transport.gauges().sockets == 3, PATIENCE_S)
        await calls.ask(9)
        assert calls.transport.total_counters()["opened"] == 3
    assert backend.unary == 9


async def test_a_unix_socket_is_a_backend(tmp_path: Path) -> None:
    backend = Backend(Endpoint(f"unix:{tmp_path}/s", 0))
    await backend.start(f"unix:{tmp_path}/s")
    try:
        async with line(backend.endpoint, asking("Say", authority="localhost")) as calls:
            await calls.ready()
            (reply,) = await calls.ask()
    finally:
        await backend.stop()
    assert reply.code is Code.OK


async def test_an_ipv6_address_is_a_backend() -> None:
    backend = Backend(Endpoint("::1", 0))
    await backend.start("[::1]:0")
    try:
        async with line(backend.endpoint, asking("Say")) as calls:
            await calls.ready()
            (reply,) = await calls.ask()
    finally:
        await backend.stop()
    assert reply.code is Code.OK


async def test_calls_wait_for_the_connection_and_are_written_then() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Say")) as calls:
        sent = calls.start(3)
        assert {call.waited_for for call in sent} == {Wait.CONNECTION}
        assert calls.transport.gauges().waiting == 3
        await calls.finish(sent)
        assert calls.desk.written == sent
    assert backend.unary == 3


async def test_calls_that_wait_are_returned_when_they_are_late_and_when_all_are_cancelled() -> None:
    async with line(Endpoint("127.0.0.1", 1), asking("Say"), connect=lambda _: False) as calls:
        (late,), (waiting,) = calls.start(timeout_s=1), calls.start(timeout_s=60)
        calls.transport.expire(late.deadline_ns - 1)
        assert not late.how
        calls.transport.expire(late.deadline_ns)
        assert (late.how, waiting.how) == ("returned", "")
        calls.transport.cancel(STOP)
        assert (waiting.how, calls.transport.gauges().waiting) == ("returned", 0)


async def test_a_refused_connection_returns_the_calls_that_wait_and_says_why() -> None:
    with refused_port() as endpoint:
        async with line(endpoint, asking("Say")) as calls:
            sent = calls.start(2)
            await calls.finish(sent)
            assert {call.how for call in sent} == {"returned"}
            assert calls.desk.told[-1] == (Connectivity.TRANSIENT_FAILURE, "connection refused")


async def test_a_peer_that_speaks_http1_is_named() -> None:
    async with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as endpoint,
        line(endpoint, asking("Say")) as calls,
    ):
        await until(lambda: calls.transport.state is Connectivity.TRANSIENT_FAILURE, PATIENCE_S)
        assert "HTTP/1" in calls.transport.reason


async def test_a_backend_that_goes_and_comes_back_is_found_again() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Say")) as calls:
        await calls.ready()
        await calls.ask(2)
        await backend.stop()
        await until(lambda: calls.transport.state is Connectivity.TRANSIENT_FAILURE, PATIENCE_S)
        again = Backend(backend.endpoint)
        await again.start()
        try:
            await calls.ready()
            (reply,) = await calls.ask()
        finally:
            await again.stop()
    states = [state for state, _ in calls.desk.told]
    assert states.count(Connectivity.READY) == 2
    assert (reply.code, again.unary) == (Code.OK, 1)


async def test_a_call_on_a_connection_that_breaks_is_lost_by_the_transport() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        sent = calls.start()
        await until(lambda: backend.calls["Wait"] == 1, PATIENCE_S)
        await backend.stop()
        (reply,) = await calls.finish(sent)
    assert reply.code in (Code.UNAVAILABLE, Code.CANCELLED)


async def test_retiring_lets_calls_end_and_closes_then() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        sent = calls.start(2)
        await until(lambda: backend.calls["Wait"] == 2, PATIENCE_S)
        calls.transport.retire()
        assert not calls.transport.is_over
        backend.gate.set()
        replies = await calls.finish(sent)
        await until(lambda: calls.transport.is_over, PATIENCE_S)
    assert {reply.code for reply in replies} == {Code.OK}


async def test_closing_ends_calls_as_lost_and_returns_those_that_wait() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Wait")) as calls:
        await calls.ready()
        sent = calls.start(2)
        await until(lambda: backend.calls["Wait"] == 2, PATIENCE_S)
    assert {call.reply for call in sent} == {Reply(Code.UNAVAILABLE, Origin.TRANSPORT, "connection closed")}
    with refused_port() as endpoint:
        async with line(endpoint, asking("Say"), connect=lambda _: False) as idle:
            waiting = idle.start()
    assert waiting[0].how == "returned"


async def test_a_call_of_another_request_goes_to_its_own_method() -> None:
    async with backends() as (backend,), line(backend.endpoint, asking("Say")) as calls:
        await calls.ready()
        call = OneCall()
        calls.transport.enqueue(call, asking("Fail"))
        calls.transport.settle()
        (reply,) = await calls.finish([call])
        assert calls.desk.written == [call]
    assert (reply.code, backend.calls) == (Code.NOT_FOUND, {"Fail": 1})


@pytest.mark.parametrize(
    ("limits", "flag"),
    [
        (Limits(max_streams=5), "--max-streams"),
        (Limits(max_requests=5), "--max-requests-per-conn"),
        (Limits(reset_late=False), "--no-rst"),
    ],
)
async def test_what_grpcio_cannot_do_is_refused_by_name(limits: Limits, flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        async with line(Endpoint("127.0.0.1", 1), asking("Say"), options=ConnectionOptions(limits=limits)):
            pass


async def test_the_request_has_the_authority_asked_for_and_no_number() -> None:
    async with (
        ScriptedServer(scripted(reply)) as server,
        line(server.endpoint, asking("Say", authority="a.b")) as calls,
    ):
        await calls.ready()
        await calls.ask()
    head = server.connections[0].requests[1]
    assert (head.header(b":authority"), head.header(b":scheme")) == (b"a.b", b"http")
    assert head.header(b"lbctl-call") is None


async def test_keepalive_pings_are_sent_while_a_call_is_open_and_a_silent_peer_is_given_up() -> None:
    async def behave(peer: Connection) -> None:
        peer.send(h2.settings())
        await peer.request()
        await peer.seen(h2.PING, ack=False)
        await peer.gone()

    options = ConnectionOptions(keepalive_s=0.1, keepalive_timeout_s=0.2)
    async with (
        ScriptedServer(behave, strict=False, handshake=False) as server,
        line(server.endpoint, asking("Say"), options=options) as calls,
    ):
        await calls.ready()
        (answer,) = await calls.ask()
    assert (answer.code, answer.origin) == (Code.UNAVAILABLE, Origin.TRANSPORT)


async def test_nothing_is_told_after_the_end() -> None:
    desk = Desk()
    async with backends() as (backend,), line(backend.endpoint, asking("Say")) as calls:
        await calls.ready()
        desk = calls.desk
        told = len(desk.told)
    assert len(desk.told) == told
