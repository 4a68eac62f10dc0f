"""What a call costs in memory once it is over: nothing. The collector does not run during a load."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import weakref

import pytest

from lbctl.rpc.link import Link
from lbctl.rpc.subchannel import Subchannel
from tests.fakes import MemoryHost, turns
from tests.load.rig import Rig, instance, plan
from tests.wire import frames as h2


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


class Echo:
    """A server's end without books: tells how many requests came and can answer all of them."""

    def __init__(self, host: MemoryHost) -> None:
        self._end = host.end
        self._streams: list[int] = []
        self._end.transport._take = self._hear

    def _hear(self, data: bytes) -> None:
        position = 0
        while position + 9 <= len(data):
            if data[position + 3] == h2.HEADERS:
                self._streams.append(int.from_bytes(data[position + 5 : position + 9], "big"))
            position += 9 + int.from_bytes(data[position : position + 3], "big")

    def answer(self) -> None:
        streams, self._streams = [*self._end.waiting, *self._streams], []
        self._end.waiting.clear()
        credit = h2.window_update(0, 6 * len(streams))
        self._end.transport.deliver(credit + b"".join(h2.reply(stream) for stream in streams))


@pytest.mark.slow
async def test_memory_is_flat_over_80_000_calls() -> None:
    rig = Rig(plan(concurrency=1000), "smooth_wrr")
    await rig.apply(instance(1, 5), instance(2, 1))
    rig.loop.begin()
    echoes = [Echo(rig.host(number)) for number in (1, 2)]
    tracemalloc.start()
    try:
        sizes: list[int] = []
        while rig.engine.completed < 80_000:
            wanted = rig.engine.completed + 20_000
            while rig.engine.completed < wanted:
                rig.clock.advance(0.000_100)
                for echo in echoes:
                    echo.answer()
            sizes.append(allocated())
    finally:
        tracemalloc.stop()
    assert rig.tally.errors == 0
    assert max(sizes) - sizes[0] < 26 * 1024, sizes
    await rig.aclose()


async def test_a_connection_that_is_over_is_freed_without_the_collector() -> None:
    rig = Rig(plan(concurrency=4))
    await rig.begin(1)
    (lane,) = rig.backends.lanes.values()
    assert isinstance(lane.subchannel, Subchannel)
    (link,) = lane.subchannel._links
    ghost: weakref.ref[Link] = weakref.ref(link)
    session = weakref.ref(link.session.writer)
    del link
    gc.collect()
    gc.disable()
    try:
        await rig.do(lambda: rig.end(1).goaway(h2.LARGEST_WINDOW))
        rig.host(1).ends.pop(0).answer(4)
        await turns()
        assert (ghost(), session()) == (None, None)
    finally:
        gc.enable()
    await rig.aclose()


async def test_failed_attempts_to_connect_leave_nothing_for_the_collector() -> None:
    rig = Rig(plan(concurrency=1))
    rig.host(1).mode = "refuse"
    await rig.begin(1)
    await rig.do(rig.network.sleep.wake)
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(thing, Link) for thing in gc.get_objects())
        for _ in range(20):
            await rig.do(rig.network.sleep.wake)
        assert sum(isinstance(thing, Link) for thing in gc.get_objects()) <= before
    finally:
        gc.enable()
    await asyncio.sleep(0)
    await rig.aclose()
