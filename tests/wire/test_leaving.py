"""Giving up a backend: retire lets calls end, cancel ends them, and what waits between connections is handed back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lbctl.model import Code, Origin, Reply
from tests.scripted import Behaviour, Connection, ScriptedServer, answering
from tests.wire import frames as h2
from tests.wire.frames import goaway, reply
from tests.wire.harness import call, calls, failed, succeeded
from tests.wire.hot_client import HotClient

HTTP1 = b"HTTP/1.1 400 Bad Request\r\n\r\n"


@asynccontextmanager
async def engine(behave: Behaviour, *, handshake: bool = True) -> AsyncIterator[tuple[ScriptedServer, HotClient]]:
    """A server, and the load engine's kind of client whose subchannel the test may touch."""
    server = ScriptedServer(behave, handshake=handshake)
    async with (
        asyncio.timeout(6),
        server,
        HotClient(server.endpoint, authority="echo", connect_timeout_s=1.0) as client,
    ):
        yield server, client


async def test_a_retired_backend_finishes_its_calls_says_goodbye_and_dials_no_more() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(3)]
        asked.set()
        await answer.wait()
        peer.send(*(reply(request.stream) for request in requests))
        assert (await peer.seen(h2.GOAWAY)).number == h2.NO_ERROR
        await peer.gone()
        assert len(peer.all_seen(h2.GOAWAY)) == 1
        assert not peer.all_seen(h2.RST_STREAM)

    async with engine(behave) as (server, client):
        open_calls = asyncio.create_task(calls(client, 3))
        await asyncio.wait_for(asked.wait(), 2)
        client.subchannel.retire()
        answer.set()
        for result in await open_calls:
            succeeded(result)
        await asyncio.wait_for(server.connections[0].gone(), 2)
    assert len(server.connections) == 1


async def test_retiring_an_idle_backend_closes_at_once() -> None:
    async with engine(answering(reply)) as (server, client):
        succeeded(await call(client))
        client.subchannel.retire()
        await asyncio.wait_for(server.connections[0].gone(), 2)
    assert [frame.number for frame in server.connections[0].all_seen(h2.GOAWAY)] == [h2.NO_ERROR]


async def test_cancelling_ends_every_call_with_the_given_reply_and_keeps_the_connection() -> None:
    asked = asyncio.Event()

    async def behave(peer: Connection) -> None:
        first = [await peer.request() for _ in range(5)]
        asked.set()
        await peer.seen(h2.RST_STREAM, count=5)
        cut = {(frame.stream, frame.number) for frame in peer.all_seen(h2.RST_STREAM)}
        assert cut == {(request.stream, h2.CANCEL) for request in first}
        peer.send(reply((await peer.request()).stream))

    async with engine(behave) as (server, client):
        open_calls = asyncio.create_task(calls(client, 5))
        await asyncio.wait_for(asked.wait(), 2)
        client.subchannel.cancel(Reply(Code.CANCELLED, Origin.CLIENT, "the run is over"))
        for result in await open_calls:
            assert failed(result, Code.CANCELLED, Origin.CLIENT) == "the run is over"
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_calls_between_connections_fail_with_the_reason_when_the_replacement_is_no_server() -> None:
    leave = asyncio.Event()

    async def behave(peer: Connection) -> None:
        if peer.index:
            peer.send_raw(HTTP1)
            await peer.gone()
            return
        peer.send(h2.settings(), h2.settings_ack())
        request = await peer.request()
        peer.send(reply(request.stream), goaway(request.stream))
        await peer.gone()
        leave.set()

    async with engine(behave, handshake=False) as (_, client):
        succeeded(await call(client))
        for result in await calls(client, 3, timeout_s=3.0):
            failed(result, Code.UNAVAILABLE, Origin.TRANSPORT, "HTTP/1")
        await asyncio.wait_for(leave.wait(), 2)


async def test_leaving_while_connecting_ends_the_calls_that_wait() -> None:
    async def behave(peer: Connection) -> None:
        asked.set()
        await peer.gone()

    asked = asyncio.Event()
    async with engine(behave, handshake=False) as (_, client):
        waiting = asyncio.create_task(call(client, timeout_s=0.5))
        await asyncio.wait_for(asked.wait(), 2)
    assert (await waiting).reply.code in (Code.UNAVAILABLE, Code.CANCELLED, Code.DEADLINE_EXCEEDED)
