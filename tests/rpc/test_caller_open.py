"""Calls whose messages become known while they last, and replies with all of their headers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc

from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.caller import Caller, Result
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.limits import Limits
from lbctl.wire.outbox import Outbox
from lbctl.wire.request import Request, Stream
from tests.fakes import quiet_loop, turns, until
from tests.rpc.servers import refused_port, serving
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2

__all__ = ["quiet_loop"]

ALL_HEADERS = ConnectionOptions(limits=Limits(headers=True))
SECOND_NS = 1_000_000_000


async def echo(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
    """Send everything back, behind headers and in front of trailers; ``bye`` is an error."""
    await context.send_initial_metadata((("x-served-by", "b1"), ("x-id-bin", b"\x00\x01")))
    async for message in messages:
        if message == b"bye":
            context.set_trailing_metadata((("x-left", "early"),))
            await context.abort(grpc.StatusCode.ABORTED, "enough")
        yield message
    context.set_trailing_metadata((("x-done", "yes"),))


HANDLERS = (grpc.method_handlers_generic_handler("t.S", {"Chat": grpc.stream_stream_rpc_method_handler(echo)}),)


def request(endpoint: Endpoint, outbox: Outbox, heard: list[bytes], *, gzip: bool = False) -> Request:
    stream = Stream(client=True, server=True, messages=(), told=heard.append, outbox=outbox)
    return Request("/t.S/Chat", b"", endpoint.authority, 5 * SECOND_NS, stream=stream, gzip=gzip)


async def test_what_was_taken_is_not_sent_again_and_that_is_said() -> None:
    outbox = Outbox()
    outbox.put(b"one")
    outbox.end()

    async def refuse(peer: Connection) -> None:
        peer.send(h2.rst((await peer.request()).stream, h2.REFUSED_STREAM))
        await peer.gone()

    async with ScriptedServer(refuse) as server, Caller(server.endpoint) as caller:
        result = await caller.call(request(server.endpoint, outbox, []))
    assert (result.reply.code, result.attempts) == (Code.UNAVAILABLE, 1)
    assert result.reply.reason.endswith("; not sent again, as its messages are not kept")


async def test_a_call_is_cancelled_with_the_counts_of_its_messages() -> None:
    outbox, heard = Outbox(), list[bytes]()
    outbox.put(b"one")

    async def echo_one(peer: Connection) -> None:
        asked = await peer.opened()
        await peer.body(asked, len(h2.message(b"one")))
        peer.send(h2.okh(asked.stream), h2.msg(asked.stream, b"one"))
        await peer.seen(h2.RST_STREAM, stream=asked.stream)
        await peer.gone()

    async with ScriptedServer(echo_one) as server, Caller(server.endpoint) as caller:
        call = asyncio.create_task(caller.call(request(server.endpoint, outbox, heard)))
        await until(lambda: heard)
        caller.cancel(Reply(Code.CANCELLED, Origin.CLIENT, "cancelled by Ctrl-C"))
        reply = (await call).reply
    assert (reply.code, reply.reason, reply.sent, reply.received) == (Code.CANCELLED, "cancelled by Ctrl-C", 1, 1)


async def test_messages_are_sent_as_they_come_and_answered_before_the_next() -> None:
    outbox, heard = Outbox(), list[bytes]()
    async with serving(HANDLERS) as endpoint, Caller(endpoint, options=ALL_HEADERS) as caller:
        call = asyncio.create_task(caller.call(request(endpoint, outbox, heard)))
        for number in range(3):
            outbox.put(b"message %d" % number)
            await until(lambda: len(heard) == number + 1)  # noqa: B023
        outbox.put(b"")
        outbox.end()
        result = await call
    assert heard == [b"message 0", b"message 1", b"message 2", b""]
    assert (result.reply.code, result.reply.sent, result.reply.received) == (Code.OK, 4, 4)
    assert outbox.taken == 4


async def test_all_headers_and_trailers_come_with_the_reply() -> None:
    outbox = Outbox()
    outbox.end()
    async with serving(HANDLERS) as endpoint, Caller(endpoint, options=ALL_HEADERS) as caller:
        reply = (await caller.call(request(endpoint, outbox, []))).reply
        plain = Request("/t.S/Nowhere", b"", endpoint.authority, 5 * SECOND_NS)
        missing = (await caller.call(plain)).reply
    assert {(b"x-served-by", b"b1"), (b"x-id-bin", b"AAE")} <= set(reply.headers)
    assert {(b"x-done", b"yes"), (b"grpc-status", b"0")} <= set(reply.metadata)
    assert (missing.code, missing.headers) == (Code.UNIMPLEMENTED, ())  # it was nothing but its end
    assert (b"grpc-status", b"12") in missing.metadata


async def test_without_being_asked_for_they_are_left_out() -> None:
    outbox = Outbox()
    outbox.end()
    async with serving(HANDLERS) as endpoint, Caller(endpoint) as caller:
        reply = (await caller.call(request(endpoint, outbox, []))).reply
    assert (reply.code, reply.headers, reply.metadata) == (Code.OK, (), ())


async def test_a_server_that_ends_early_ends_the_call_and_not_the_sender() -> None:
    outbox, heard = Outbox(), list[bytes]()
    async with serving(HANDLERS) as endpoint, Caller(endpoint, options=ALL_HEADERS) as caller:
        outbox.put(b"one")
        outbox.put(b"bye")
        reply = (await caller.call(request(endpoint, outbox, heard))).reply
        outbox.put(b"nobody listens")
        outbox.end()
    assert heard == [b"one"]
    assert (reply.code, reply.reason, reply.origin) == (Code.ABORTED, "enough", Origin.SERVER)
    assert (b"x-left", b"early") in reply.metadata
    assert (b"x-served-by", b"b1") in reply.headers


async def test_compressed_messages_come_back_as_they_were() -> None:
    outbox, heard = Outbox(), list[bytes]()
    async with serving(HANDLERS) as endpoint, Caller(endpoint) as caller:
        outbox.put(b"a" * 1000)
        outbox.end()
        result = await caller.call(request(endpoint, outbox, heard, gzip=True))
    assert (result.reply.code, heard) == (Code.OK, [b"a" * 1000])


async def test_more_than_the_windows_hold_waits_for_room() -> None:
    taken = asyncio.Event()
    outbox, received = Outbox(taken.set), list[int]()
    async with serving(HANDLERS) as endpoint, Caller(endpoint) as caller:
        asked = request(endpoint, outbox, [])
        assert asked.stream is not None
        asked = replace(asked, stream=replace(asked.stream, told=lambda message: received.append(len(message))))
        call = asyncio.create_task(caller.call(asked))
        for _ in range(64):
            while len(outbox) >= 4:
                taken.clear()
                await taken.wait()
            outbox.put(bytes(50_000))
        outbox.end()
        reply = (await call).reply
    assert (reply.code, reply.sent, received) == (Code.OK, 64, [50_000] * 64)


async def test_messages_wait_for_the_connection_and_for_nothing_where_there_is_none() -> None:
    outbox, heard = Outbox(), list[bytes]()
    outbox.put(b"early")
    with refused_port() as endpoint:
        async with Caller(endpoint) as caller:
            result: Result = await caller.call(request(endpoint, outbox, heard))
    assert (result.reply.code, result.reply.origin, heard) == (Code.UNAVAILABLE, Origin.TRANSPORT, [])
    assert len(outbox) == 1


async def test_a_call_may_have_no_deadline_and_be_cancelled() -> None:
    outbox, heard = Outbox(), list[bytes]()
    async with serving(HANDLERS) as endpoint, Caller(endpoint) as caller:
        call = asyncio.create_task(caller.call(replace(request(endpoint, outbox, heard), timeout_ns=0)))
        outbox.put(b"hello")
        await until(lambda: heard)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        await until(lambda: caller.counters["rst_sent: CANCEL"] == 1)


async def test_what_is_held_back_is_read_when_it_goes_on() -> None:
    outbox, heard, answered = Outbox(), list[bytes](), asyncio.Event()

    async def answer(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        async for message in messages:
            yield message
            if message == b"held":
                answered.set()

    handler = grpc.method_handlers_generic_handler("t.S", {"Chat": grpc.stream_stream_rpc_method_handler(answer)})
    async with serving((handler,)) as endpoint, Caller(endpoint) as caller:
        call = asyncio.create_task(caller.call(request(endpoint, outbox, heard)))
        outbox.put(b"first")
        await until(lambda: heard)
        caller.hold(True)
        caller.hold(True)
        outbox.put(b"held")
        await answered.wait()
        await turns()
        assert heard == [b"first"]
        caller.hold(False)
        await until(lambda: len(heard) == 2)
        outbox.end()
        assert (await call).reply.code is Code.OK
