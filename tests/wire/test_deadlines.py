"""Deadlines: said to the server, kept by the client, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest
from hpack import Encoder

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import data, header_frame, message, reply, rst
from tests.wire.harness import call, calls, failed, greet, greeted, meeting, succeeded
from tests.wire.request_head import timeout_seconds

pytestmark = pytest.mark.usefixtures("door")

SHORT_S = 0.3  # a deadline that a warm connection answers within, and a test can wait for


async def test_a_silent_server_costs_the_deadline_and_is_told_to_stop() -> None:
    async def behave(peer: Connection) -> None:
        await greet(peer)
        request = await peer.request()
        assert SHORT_S <= timeout_seconds(request.header(b"grpc-timeout") or b"") <= SHORT_S * 1.01
        assert (await peer.seen(h2.RST_STREAM, stream=request.stream)).number == h2.CANCEL
        peer.send(reply((await peer.request()).stream))

    async with meeting(behave) as (server, client):
        await greeted(client, timeout_s=SHORT_S)
        clock = asyncio.get_running_loop().time
        began = clock()
        failed(await call(client, timeout_s=SHORT_S), Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        assert clock() - began >= SHORT_S * 0.99
        succeeded(await call(client))
        assert client.counters["rst_sent: CANCEL"] == 1
    assert len(server.connections) == 1


@pytest.mark.parametrize("timeout_s", [0.0005, 0.0101, 1.5, 7.0, 100_000.0, 3e7])
async def test_grpc_timeout_is_never_shorter_than_the_deadline(timeout_s: float) -> None:
    async with meeting(answering(reply)) as (server, client):
        succeeded(await call(client))
        await call(client, timeout_s=timeout_s)
    _, told = (timeout_seconds(sent.header(b"grpc-timeout") or b"") for sent in server.connections[0].requests.values())
    assert timeout_s * (1 - 1e-9) <= told <= max(timeout_s * 1.01, timeout_s + 0.001)


async def test_a_reply_after_the_deadline_is_late_and_keeps_the_compression_state() -> None:
    """The late blocks fill the dynamic table; the next call's blocks are nothing but references into it."""
    encoder = Encoder()
    head = [(":status", "200"), ("content-type", "application/grpc"), ("x-served-by", "backend-17")]
    tail = [("grpc-status", "0"), ("grpc-message", "fine")]

    def said(sid: int) -> bytes:
        first = header_frame(sid, encoder.encode(head))
        return first + data(sid, message(b"reply")) + header_frame(sid, encoder.encode(tail), end=True)

    async def behave(peer: Connection) -> None:
        await greet(peer)
        late = await peer.request()
        await peer.seen(h2.RST_STREAM, stream=late.stream)
        peer.send(said(late.stream))
        prompt = await peer.request()
        peer.send(said(prompt.stream))

    async with meeting(behave) as (_, client):
        await greeted(client, timeout_s=SHORT_S)
        failed(await call(client, timeout_s=SHORT_S), Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        succeeded(await call(client))
        assert client.counters["late_frames"] == 3


async def test_a_call_that_never_got_a_slot_sends_nothing() -> None:
    async def behave(peer: Connection) -> None:
        await peer.acknowledged(1)
        await peer.gone()
        assert not peer.all_seen(h2.HEADERS)
        assert not peer.all_seen(h2.RST_STREAM)

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 0}) as (_, client):
        for result in await calls(client, 3, timeout_s=0.1):
            failed(result, Code.DEADLINE_EXCEEDED, Origin.CLIENT)


async def test_a_slot_freed_by_a_deadline_goes_to_the_next_call_at_once() -> None:
    async def behave(peer: Connection) -> None:
        await greet(peer)
        stuck = await peer.request()
        waiting = await peer.request()  # the server says nothing that could wake the client up
        assert (await peer.seen(h2.RST_STREAM)).stream == stuck.stream
        peer.send(reply(waiting.stream))

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 1}) as (server, client):
        await greeted(client)
        first = asyncio.create_task(call(client, timeout_s=0.1))
        await asyncio.sleep(0)
        succeeded(await call(client, timeout_s=1.5))
        failed(await first, Code.DEADLINE_EXCEEDED, Origin.CLIENT)
    assert server.connections[0].ledger.most_open == 1


async def test_a_deadline_while_the_body_is_blocked_drops_the_rest_of_it() -> None:
    async def behave(peer: Connection) -> None:
        await greet(peer)
        request = await peer.opened()
        assert (await peer.seen(h2.RST_STREAM, stream=request.stream)).number == h2.CANCEL
        peer.send(h2.window_update(request.stream, 1_000_000), h2.window_update(0, 1_000_000))
        later = await peer.request()
        assert len(request.body) == h2.DEFAULT_WINDOW - len(message(b"request"))
        peer.send(reply(later.stream))

    async with meeting(behave, credit=False) as (_, client):
        await greeted(client)
        failed(await call(client, bytes(100_000), timeout_s=0.1), Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        succeeded(await call(client))


async def test_each_call_has_its_own_deadline() -> None:
    async def behave(peer: Connection) -> None:
        await greet(peer)
        requests = [await peer.request() for _ in range(6)]
        await peer.seen(h2.RST_STREAM, count=3)
        cut = {frame.stream for frame in peer.all_seen(h2.RST_STREAM)}
        peer.send(*(reply(request.stream) for request in requests if request.stream not in cut))

    async with meeting(behave) as (_, client):
        await greeted(client)
        short = asyncio.create_task(calls(client, 3, timeout_s=0.1))
        long = await calls(client, 3, timeout_s=1.5)
        for result in await short:
            failed(result, Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        for result in long:
            succeeded(result)


async def test_a_retry_states_what_is_left_of_the_deadline() -> None:
    async def behave(peer: Connection) -> None:
        first = await peer.request()
        await asyncio.sleep(0.05)  # time the retry no longer has
        peer.send(rst(first.stream, h2.REFUSED_STREAM))
        second = await peer.request()
        told = [timeout_seconds(request.header(b"grpc-timeout") or b"") for request in (first, second)]
        assert told[1] <= told[0] - 0.049
        peer.send(reply(second.stream))

    async with meeting(behave) as (_, client):
        succeeded(await call(client), attempts=2)


async def test_cancelling_a_call_leaves_the_connection_usable() -> None:
    async def behave(peer: Connection) -> None:
        await peer.request()
        asked.set()
        later = await peer.request()
        peer.send(reply(later.stream))

    asked = asyncio.Event()
    async with meeting(behave) as (_, client):
        abandoned = asyncio.create_task(call(client))
        await asyncio.wait_for(asked.wait(), 2)
        abandoned.cancel()
        with pytest.raises(asyncio.CancelledError):
            await abandoned
        succeeded(await call(client))
