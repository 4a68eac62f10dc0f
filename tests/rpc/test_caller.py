"""Single awaited calls: a failed call is a reply, and every call ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lbctl.model import Code, Endpoint, Origin
from lbctl.rpc.caller import Caller, Result
from lbctl.rpc.options import ConnectionOptions
from tests.fakes import FakeClock, quiet_loop, turns, until
from tests.scripted import Behaviour, Connection, ScriptedServer, answering
from tests.wire import frames as h2
from tests.wire.frames import reply

__all__ = ["quiet_loop"]

QUICK = ConnectionOptions(connect_timeout_s=1.0)


@asynccontextmanager
async def calling(behave: Behaviour, **how: object) -> AsyncIterator[tuple[ScriptedServer, Caller]]:
    """A scripted server and a caller of it."""
    server = ScriptedServer(behave, **how)  # type: ignore[arg-type]
    async with asyncio.timeout(6), server, Caller(server.endpoint, options=QUICK) as caller:
        yield server, caller


async def call(caller: Caller, *, timeout_s: float = 2.0) -> Result:
    return await caller.unary("/pkg.Svc/Method", b"ask", timeout_s=timeout_s)


async def silent(peer: Connection) -> None:
    await peer.gone()


async def test_a_call_returns_the_message_and_one_attempt() -> None:
    async with calling(answering(reply)) as (server, caller):
        result = await call(caller)
        assert (result.reply.code, result.reply.message, result.attempts) == (Code.OK, b"reply", 1)
        assert caller.counters["connections"] == 1
    assert server.connections[0].requests[1].message == b"ask"


async def test_what_is_called_is_named_by_the_address_unless_told_otherwise() -> None:
    async with calling(answering(reply)) as (server, caller):
        await call(caller)
        await caller.unary("/pkg.Svc/Method", b"", timeout_s=2.0, authority="echo", metadata=((b"x-a", b"1"),))
    first, second = server.connections[0].requests.values()
    assert first.header(b":authority") == str(server.endpoint).encode()
    assert (second.header(b":authority"), second.header(b"x-a")) == (b"echo", b"1")


async def test_calls_wait_for_a_connection_that_is_being_made() -> None:
    ready = asyncio.Event()

    async def behave(peer: Connection) -> None:
        await asyncio.wait_for(ready.wait(), 2)
        peer.send(h2.settings(), h2.settings_ack())
        await answering(reply)(peer)

    async with calling(behave, handshake=False) as (_, caller):
        waiting = [asyncio.create_task(call(caller)) for _ in range(3)]
        await turns()
        ready.set()
        assert [(await task).reply.code for task in waiting] == [Code.OK] * 3


async def test_a_call_fails_at_once_when_connecting_failed() -> None:
    async with ScriptedServer(silent) as gone:
        nobody = gone.endpoint
    async with Caller(nobody) as caller:
        for _ in range(2):
            result = await call(caller, timeout_s=60.0)
            assert (result.reply.code, result.reply.origin) == (Code.UNAVAILABLE, Origin.TRANSPORT)
            assert result.reply.reason == "connection refused"


async def test_a_name_that_does_not_resolve_says_so() -> None:
    async with Caller(Endpoint("nowhere.invalid", 1)) as caller:
        result = await call(caller)
        assert result.reply.code is Code.UNAVAILABLE
        assert any(word in result.reply.reason for word in ("not known", "no address", "name resolution"))


async def test_a_call_that_waits_for_the_connection_ends_at_its_deadline() -> None:
    async with calling(silent, handshake=False) as (_, caller):
        result = await call(caller, timeout_s=0.02)
        assert (result.reply.code, result.reply.origin) == (Code.DEADLINE_EXCEEDED, Origin.CLIENT)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
async def test_a_call_without_any_time_left_fails_without_being_sent(timeout_s: float) -> None:
    async with calling(answering(reply)) as (server, caller):
        await call(caller)
        result = await call(caller, timeout_s=timeout_s)
        assert result.reply.code is Code.DEADLINE_EXCEEDED
    assert len(server.connections[0].requests) == 1


async def test_a_call_that_its_caller_gives_up_is_reset() -> None:
    async with calling(silent) as (server, caller):
        task = asyncio.create_task(call(caller, timeout_s=60.0))
        await until(lambda: server.connections and server.connections[0].requests)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        reset = await server.connections[0].seen(h2.RST_STREAM)
        assert reset.number == h2.CANCEL


async def test_giving_up_one_call_does_not_end_those_that_have_less_time() -> None:
    async with calling(silent) as (server, caller):
        other = asyncio.create_task(call(caller, timeout_s=30.0))
        given_up = asyncio.create_task(call(caller, timeout_s=60.0))
        await until(lambda: server.connections and len(server.connections[0].requests) == 2)
        given_up.cancel()
        await asyncio.wait([given_up])
        await server.connections[0].seen(h2.RST_STREAM)
        assert not other.done()
        other.cancel()
        await asyncio.wait([other])


async def test_a_call_that_its_caller_gives_up_before_it_was_sent_is_forgotten() -> None:
    async with calling(silent, handshake=False) as (server, caller):
        task = asyncio.create_task(call(caller, timeout_s=60.0))
        await until(lambda: server.connections)
        task.cancel()
        await asyncio.wait([task])
        assert not caller._waiting
        server.connections[0].send(h2.settings(), h2.settings_ack())
        await server.connections[0].acknowledged(1)
        await server.connections[0].barrier()
        assert not server.connections[0].requests


async def test_closing_the_caller_ends_every_call_however_far_it_is() -> None:
    async with ScriptedServer(silent, settings={h2.MAX_CONCURRENT_STREAMS: 1}) as server:
        async with Caller(server.endpoint) as caller:
            tasks = [asyncio.create_task(call(caller, timeout_s=60.0)) for _ in range(3)]
            await until(lambda: server.connections and server.connections[0].requests)
        await turns()
        results = [task.result() for task in tasks]
    assert {result.reply.code for result in results} == {Code.UNAVAILABLE}
    assert {result.reply.reason for result in results} == {"connection closed"}


async def test_closing_the_caller_ends_calls_that_wait_for_the_connection() -> None:
    async with ScriptedServer(silent, handshake=False) as server:
        async with Caller(server.endpoint) as caller:
            task = asyncio.create_task(call(caller, timeout_s=60.0))
            await until(lambda: server.connections)
        await turns()
        assert (task.result().reply.code, task.result().reply.reason) == (Code.UNAVAILABLE, "connection closed")
        late = await call(caller, timeout_s=60.0)
        assert late.reply.reason == "connection closed"


async def test_a_refused_call_is_sent_once_more_and_no_oftener() -> None:
    def refuse(stream: int) -> bytes:
        return h2.rst(stream, h2.REFUSED_STREAM)

    async with calling(answering(refuse, reply)) as (_, caller):
        assert await call(caller) == Result((await call(caller)).reply, 2)
    async with calling(answering(refuse)) as (_, caller):
        result = await call(caller)
        assert (result.reply.code, result.reply.origin, result.attempts) == (Code.UNAVAILABLE, Origin.TRANSPORT, 2)


async def test_a_reply_after_the_deadline_is_a_deadline_error() -> None:
    clock = FakeClock()

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        clock.advance(100.0)
        peer.send(reply(request.stream))

    server = ScriptedServer(behave)
    async with asyncio.timeout(6), server, Caller(server.endpoint, clock=clock) as caller:
        result = await call(caller, timeout_s=60.0)
        assert result.reply.code is Code.DEADLINE_EXCEEDED


async def test_calls_that_a_lost_replacement_left_waiting_fail_with_its_reason() -> None:
    """GOAWAY, then nobody listens any more: what was begun in between cannot be sent."""

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        server._server.close()  # type: ignore[union-attr]
        peer.send(h2.goaway(h2.LARGEST_WINDOW), reply(request.stream))

    server = ScriptedServer(behave)
    async with asyncio.timeout(6), server, Caller(server.endpoint, options=QUICK) as caller:
        assert (await call(caller)).reply.code is Code.OK
        result = await call(caller)
        assert (result.reply.code, result.reply.reason) == (Code.UNAVAILABLE, "connection refused")


async def test_a_stream_is_sent_whole_and_returns_every_message() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        stream = request.stream
        peer.send(h2.okh(stream), h2.msg(stream, b"one"), h2.msg(stream, b""), h2.msg(stream, b"three"))
        peer.send(h2.trailers(stream))
        await peer.gone()

    async with calling(behave) as (server, caller):
        result = await caller.stream("/pkg.Svc/Chat", [b"a", b"bc"], timeout_s=2.0, metadata=((b"x-a", b"1"),))
        assert (result.reply.code, result.reply.messages) == (Code.OK, (b"one", b"", b"three"))
        assert (result.reply.sent, result.reply.received) == (2, 3)
    request = server.connections[0].requests[1]
    assert (request.header(b":path"), request.header(b"x-a")) == (b"/pkg.Svc/Chat", b"1")
    assert bytes(request.body) == h2.message(b"a") + h2.message(b"bc")


async def test_a_stream_may_have_no_message_at_all() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(h2.trailers_only(request.stream, 5, (b"grpc-message", b"nobody")))
        await peer.gone()

    async with calling(behave) as (server, caller):
        result = await caller.stream("/pkg.Svc/Chat", [], timeout_s=2.0)
        assert (result.reply.code, result.reply.reason) == (Code.NOT_FOUND, "nobody")
    assert server.connections[0].requests[1].body == b""


async def test_whether_there_is_a_connection_is_known_once_it_is_up() -> None:
    async with calling(answering(reply)) as (server, caller):
        assert await caller.connected(timeout_s=2.0) is None
        assert not server.connections[0].requests
        assert await caller.connected(timeout_s=0.0) is None


async def test_whether_there_is_a_connection_is_known_once_it_failed() -> None:
    async with ScriptedServer(silent) as gone:
        nobody = gone.endpoint
    async with Caller(nobody) as caller:
        failure = await caller.connected(timeout_s=2.0)
        assert failure is not None
        assert failure == (await call(caller)).reply
        assert caller.has_failed
    closed = await caller.connected(timeout_s=2.0)
    assert closed is not None
    assert closed.reason == "connection closed"


async def test_a_connection_that_takes_too_long_is_late() -> None:
    async with calling(silent, handshake=False) as (_, caller):
        failure = await caller.connected(timeout_s=0.02)
        assert failure is not None
        assert (failure.code, failure.origin) == (Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        assert not caller.has_failed


async def test_a_stream_is_followed_message_by_message_without_a_deadline() -> None:
    heard: list[bytes] = []
    more = asyncio.Event()

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(h2.okh(request.stream), h2.msg(request.stream, b"first"))
        await more.wait()
        peer.send(h2.msg(request.stream, b"second"), h2.trailers(request.stream, 0))
        await peer.gone()

    async with calling(behave) as (server, caller):
        following = asyncio.create_task(caller.follow("/pkg.Svc/Watch", b"ask", heard.append))
        await until(lambda: heard == [b"first"])
        more.set()
        result = await following
        assert (result.reply.code, heard) == (Code.OK, [b"first", b"second"])
    (request,) = server.connections[0].requests.values()
    assert request.message == b"ask"
    assert request.header(b"grpc-timeout") is None


async def test_a_stream_that_is_no_longer_followed_is_cancelled_at_the_server() -> None:
    heard: list[bytes] = []
    resets: list[int] = []

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(h2.okh(request.stream), h2.msg(request.stream))
        resets.append((await peer.seen(h2.RST_STREAM)).number)
        await peer.gone()

    async with calling(behave) as (_, caller):
        following = asyncio.create_task(caller.follow("/pkg.Svc/Watch", b"", heard.append))
        await until(lambda: heard)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        await until(lambda: resets)
    assert resets == [h2.CANCEL]


async def test_a_stream_that_was_refused_is_asked_for_again_without_a_deadline() -> None:
    heard: list[bytes] = []

    async def behave(peer: Connection) -> None:
        first = await peer.request()
        peer.send(h2.rst(first.stream, h2.REFUSED_STREAM))
        second = await peer.request()
        peer.send(h2.okh(second.stream), h2.msg(second.stream), h2.trailers(second.stream, 0))
        await peer.gone()

    async with calling(behave) as (server, caller):
        result = await caller.follow("/pkg.Svc/Watch", b"", heard.append)
        assert (result.reply.code, result.attempts, heard) == (Code.OK, 2, [b"reply"])
    assert [each.header(b"grpc-timeout") for each in server.connections[0].requests.values()] == [None, None]
