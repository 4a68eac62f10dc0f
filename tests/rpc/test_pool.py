"""Several connections to one backend behind one transport, on a network in memory."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random

import pytest

from lbctl.model import Code, Reply
from lbctl.rpc.pool import Pool, pooled
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Transport
from tests.fakes import quiet_loop, turns
from tests.rpc.bench import CONNECTING, FAILURE, IDLE, READY, REQUEST, SHUTDOWN, Bench, OneCall, ends
from tests.wire import frames as h2

__all__ = ["quiet_loop"]


class Many(Bench):
    """A pool to memory host 1."""

    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.pool = self.make(count)

    def make(self, count: int) -> Transport:
        one = partial(
            Subchannel,
            self.host.endpoint,
            REQUEST,
            flusher=self.flusher,
            clock=self.clock,
            rng=Random(1),
            network=self.network.as_network(),
        )
        return pooled(count, one, self)

    async def open(self) -> None:
        self.pool.connect()
        await turns()

    async def issue(self, count: int) -> list[OneCall]:
        calls = [OneCall() for _ in range(count)]
        for call in calls:
            self.pool.send(call)
        self.flusher.flush()
        await turns()
        return calls

    @property
    def heads(self) -> list[int]:
        return [end.heads for end in self.host.ends]

    async def end(self) -> None:
        await asyncio.wait_for(self.pool.aclose(), 3)
        assert self.pool.is_over


def test_a_single_connection_has_no_pool_around_it() -> None:
    async def make() -> Transport:
        return Many(1).pool

    assert isinstance(asyncio.run(make()), Subchannel)


async def test_calls_go_to_all_connections_in_turn() -> None:
    bench = Many()
    assert bench.pool.state is IDLE
    await bench.open()
    assert (bench.host.dialled, bench.told) == (3, [(CONNECTING, ""), (READY, "")])
    calls = await bench.issue(12)
    assert bench.heads == [4, 4, 4]
    for end in bench.host.ends:
        end.answer(4)
    assert ends(calls) == ["OK"] * 12
    await bench.end()


async def test_a_connection_without_a_free_slot_is_passed_over() -> None:
    bench = Many()
    bench.host.settings = {h2.MAX_CONCURRENT_STREAMS: 2}
    await bench.open()
    await bench.issue(3)
    bench.host.ends[0].answer()
    bench.host.ends[2].answer()
    await bench.issue(4)
    assert bench.heads == [3, 2, 2]
    bench.host.ends[1].answer(2)
    await bench.issue(2)
    assert (bench.heads, bench.pool.gauges().waiting) == ([3, 3, 3], 0)
    await bench.issue(2)
    assert (bench.heads, bench.pool.gauges().waiting) == ([3, 4, 3], 1)
    await bench.end()


async def test_a_connection_whose_peer_does_not_read_is_passed_over() -> None:
    bench = Many(2)
    await bench.open()
    bench.host.ends[0].transport.stalled = True
    await bench.issue(1)
    await bench.issue(1)
    await bench.issue(10)
    assert sorted(bench.heads) == [1, 11]
    bench.host.ends[0].transport.read_on()
    await bench.end()


async def test_it_is_ready_while_one_is_and_says_so_once() -> None:
    bench = Many(2)
    await bench.open()
    first, second = bench.host.ends
    bench.host.mode = "refuse"
    first.drop()
    await turns()
    calls = await bench.issue(3)
    assert (bench.told, second.heads) == ([(CONNECTING, ""), (READY, "")], 3)
    second.drop(ConnectionResetError())
    await turns()
    assert ends(calls) == ["UNAVAILABLE connection reset by peer"] * 3
    assert bench.told[2:] == [(FAILURE, "connection reset by peer")]
    bench.host.mode = "accept"
    await bench.wake()
    assert bench.told[-1] == (READY, "")
    await bench.end()


async def test_calls_without_a_connection_wait_for_one() -> None:
    bench = Many(2)
    bench.pool.connect()
    calls = await bench.issue(4)
    assert sum(bench.heads) == 4
    for end in bench.host.ends:
        end.answer(4)
    assert ends(calls) == ["OK"] * 4
    await bench.end()


async def test_counters_and_gauges_are_sums() -> None:
    bench = Many()
    await bench.open()
    await bench.issue(3)
    for end in bench.host.ends:
        end.answer(1, lambda stream: h2.rst(stream, h2.INTERNAL_ERROR))
    counters = bench.pool.total_counters()
    assert (counters["connections"], counters["opened"], counters["rst_received: INTERNAL_ERROR"]) == (3, 3, 3)
    assert bench.pool.gauges()[:4] == (3, 0, 0, 0)
    await bench.end()
    assert bench.pool.total_counters()["closed: by lbctl"] == 3
    assert bench.pool.gauges()[:4] == (0, 0, 0, 0)


async def test_the_stream_limit_is_the_smallest_of_one_connection() -> None:
    bench = Many()
    await bench.open()
    for end, limit in zip(bench.host.ends, (9, 7, 8), strict=True):
        end.say(h2.settings({h2.MAX_CONCURRENT_STREAMS: limit}))
    assert bench.pool.gauges().limit == 7
    await bench.end()


async def test_deadlines_and_cancels_reach_every_connection() -> None:
    bench = Many(2)
    await bench.open()
    late = [OneCall(deadline_ns=bench.clock.now_ns()) for _ in range(2)]
    for call in late:
        bench.pool.enqueue(call)
    bench.pool.settle()
    bench.pool.expire(bench.clock.now_ns())
    assert ends(late) == ["DEADLINE_EXCEEDED deadline exceeded"] * 2
    calls = await bench.issue(4)
    bench.pool.cancel(Reply(Code.CANCELLED, reason="enough"))
    assert ends(calls) == ["CANCELLED enough"] * 4
    await bench.end()


@pytest.mark.parametrize("count", [2, 5])
async def test_a_retired_one_is_over_when_the_last_call_has_ended(count: int) -> None:
    bench = Many(count)
    await bench.open()
    calls = await bench.issue(1)
    bench.pool.retire()
    await turns()
    assert (bench.pool.state, bench.pool.is_over, len(bench.host.open)) == (SHUTDOWN, False, 1)
    bench.host.open[0].answer()
    await turns()
    assert (ends(calls), bench.pool.is_over) == (["OK"], True)
    assert isinstance(bench.pool, Pool)
    await bench.end()
