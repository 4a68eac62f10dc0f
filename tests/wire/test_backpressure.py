"""A peer that stops reading: calls end at their deadlines, and the connection recovers when it reads again."""

from __future__ import annotations

import asyncio

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection
from tests.wire import frames as h2
from tests.wire.frames import reply
from tests.wire.harness import call, calls, failed, greet, greeted, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

MB = 1024 * 1024
WIDE = {h2.INITIAL_WINDOW_SIZE: 2**30}


async def test_a_peer_that_reads_nothing_for_a_while_costs_only_deadlines() -> None:
    async def behave(peer: Connection) -> None:
        peer.send(h2.window_update(0, 2**30))
        await greet(peer)
        first = await peer.opened()
        peer.deaf(deaf=True)
        await ended.wait()
        peer.deaf(deaf=False)
        assert (await peer.seen(h2.RST_STREAM, stream=first.stream)).number == h2.CANCEL
        later = await peer.request()
        peer.send(reply(later.stream))

    ended = asyncio.Event()
    async with meeting(behave, settings=WIDE, credit=False) as (server, client):
        await greeted(client)
        for result in await calls(client, 3, bytes(8 * MB), timeout_s=0.3):
            failed(result, Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        ended.set()
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_large_bodies_pass_a_slow_reader_whole() -> None:
    async def behave(peer: Connection) -> None:
        peer.send(h2.window_update(0, 2**30))
        opened = [await peer.opened() for _ in range(4)]
        for _ in range(5):
            peer.deaf(deaf=True)
            await asyncio.sleep(0.01)  # time for the client's buffers to fill
            peer.deaf(deaf=False)
            await asyncio.sleep(0.01)
        for request in opened:
            await peer.whole(request)
            assert len(request.message) == 4 * MB
            peer.send(reply(request.stream))

    async with meeting(behave, settings=WIDE, credit=False) as (_, client):
        for result in await calls(client, 4, bytes(4 * MB), timeout_s=4.0):
            succeeded(result)
