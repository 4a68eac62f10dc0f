"""The three streaming kinds through grpcio: how many messages, at what pace, and who ends them."""

from __future__ import annotations

from lbctl.model import Code
from tests.rpc.grpcio.backends import backends, line, stream
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2

MS = 1_000_000


async def test_a_server_stream_is_counted_to_its_end() -> None:
    request = stream("Watch", messages=(b"\x05",))
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        sent = calls.start()
        (reply,) = await calls.finish(sent)
        assert len(calls.desk.gaps) == 4
    assert (reply.code, reply.sent, reply.received, reply.messages) == (Code.OK, 1, 5, (b"\x05",) * 5)
    assert sent[0].first_ns > 0


async def test_a_server_stream_without_end_is_ended_after_the_limit() -> None:
    request = stream("Watch", messages=(b"",), limit=7)
    async with backends() as (backend,), line(backend.endpoint, request, keep=False) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert (reply.code, reply.received, reply.messages) == (Code.OK, 7, ())


async def test_a_server_stream_without_end_is_ended_after_its_time() -> None:
    request = stream("Watch", messages=(b"",), duration_ns=50 * MS)
    async with backends() as (backend,), line(backend.endpoint, request, keep=False) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply.code is Code.OK
    assert reply.received > 0


async def test_a_client_stream_sends_its_messages_in_turn() -> None:
    request = stream("Push", messages=(b"a", b"b"), count=5)
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert (reply.code, reply.sent, reply.received, reply.messages) == (Code.OK, 5, 1, (b"ababa",))


async def test_a_client_stream_without_number_is_ended_after_its_time() -> None:
    request = stream("Push", count=0, interval_ns=5 * MS, duration_ns=60 * MS)
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply.code is Code.OK
    assert 1 < reply.sent == len(reply.messages[0]) <= 13


async def test_both_sides_stream_at_the_given_pace() -> None:
    request = stream("Chat", messages=(b"x",), count=4, interval_ns=10 * MS)
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
        assert sum(calls.desk.gaps) >= 20 * MS
    assert (reply.code, reply.sent, reply.received) == (Code.OK, 4, 4)


async def test_after_the_limit_a_client_that_streams_ends_its_side() -> None:
    request = stream("Chat", count=0, interval_ns=MS, limit=3)
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        (reply,) = await calls.ask(timeout_s=5)
    assert reply.code is Code.OK
    assert reply.received >= 3


async def test_a_stream_that_runs_into_its_deadline_tells_what_came_before() -> None:
    request = stream("Chat", count=2, interval_ns=60_000 * MS)
    async with backends() as (backend,), line(backend.endpoint, request) as calls:
        await calls.ready()
        (reply,) = await calls.ask(timeout_s=0.3)
    assert (reply.code, reply.sent, reply.received) == (Code.DEADLINE_EXCEEDED, 1, 1)


async def test_many_streams_at_once_end_each_for_itself() -> None:
    request = stream("Chat", messages=(b"x", b"y"), count=6)
    async with backends() as (backend,), line(backend.endpoint, request, keep=False) as calls:
        await calls.ready()
        replies = await calls.ask(40)
    assert {(reply.code, reply.sent, reply.received) for reply in replies} == {(Code.OK, 6, 6)}
    assert backend.calls["Chat"] == 40


async def test_a_stream_refused_after_a_message_came_is_not_offered_for_another_attempt() -> None:
    async def behave(peer: Connection) -> None:
        number = (await peer.request()).stream
        peer.send(h2.okh(number), h2.msg(number))
        await peer.barrier()
        peer.send(h2.rst(number, h2.REFUSED_STREAM))
        await peer.gone()

    async with ScriptedServer(behave, strict=False) as server, line(server.endpoint, stream("Watch")) as calls:
        await calls.ready()
        sent = calls.start()
        (reply,) = await calls.finish(sent)
    # gRPC drops a message that a reset follows before it was read; then nothing came.
    assert (sent[0].how, reply.code) == ("replied" if reply.received else "refused", Code.UNAVAILABLE)
