"""The closed loop: how many calls are in flight, and what is measured of each; the rig checks all books."""

from __future__ import annotations

import pytest

from lbctl.model import Code
from tests.load.rig import Rig, instance, plan
from tests.wire import frames as h2


async def test_as_many_calls_are_in_flight_as_the_concurrency_says() -> None:
    rig = Rig(plan(concurrency=7))
    await rig.begin(1, 2)
    for _ in range(5):
        assert rig.engine.in_flight == 7
        await rig.do(lambda: rig.end(1).answer(2))
        await rig.do(lambda: rig.end(2).answer(1))
    assert rig.engine.completed == 15
    await rig.aclose()


@pytest.mark.parametrize("requests", [0, 1, 9, 10, 11, 25])
async def test_exactly_the_wanted_number_of_calls_is_issued(requests: int) -> None:
    rig = Rig(plan(concurrency=10, requests=requests))
    await rig.begin(1)
    while rig.engine.in_flight:
        await rig.do(lambda: rig.end(1).answer(3))
    assert (rig.engine.issued, rig.tally.ok) == (requests, requests)
    assert rig.end(1).heads == requests
    assert rig.idle
    await rig.aclose()


async def test_a_read_of_many_replies_is_answered_by_one_write() -> None:
    rig = Rig(plan(concurrency=20))
    await rig.begin(1)
    before = rig.end(1).transport.writes
    await rig.do(lambda: rig.end(1).answer(20))
    assert rig.end(1).transport.writes == before + 1
    assert rig.end(1).heads == 40
    await rig.aclose()


async def test_nothing_is_issued_while_paused_and_the_gap_is_filled_afterwards() -> None:
    rig = Rig(plan(concurrency=4))
    await rig.begin(1)
    rig.loop.paused = True
    await rig.do(lambda: rig.end(1).answer(3))
    assert (rig.engine.issued, rig.engine.in_flight) == (4, 1)
    rig.loop.paused = False
    await rig.do(rig.loop.refill)
    assert (rig.engine.issued, rig.engine.in_flight) == (7, 4)
    assert not rig.idle
    await rig.aclose()


async def test_a_larger_concurrency_takes_effect_at_once_and_a_smaller_one_as_calls_end() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    rig.loop.concurrency = 5
    await rig.do(rig.loop.refill)
    assert rig.engine.in_flight == 5
    rig.loop.concurrency = 2
    await rig.do(rig.loop.refill)
    assert (rig.engine.issued, rig.engine.in_flight) == (5, 5)
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.engine.issued, rig.engine.in_flight) == (5, 3)
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.engine.issued, rig.engine.in_flight) == (6, 2)
    await rig.aclose()


async def test_a_closed_engine_issues_nothing_and_is_idle_once_its_calls_have_ended() -> None:
    rig = Rig(plan(concurrency=3))
    await rig.begin(1)
    await rig.do(rig.loop.close)
    assert not rig.idle
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.engine.in_flight, rig.idle) == (1, 0)
    await rig.do(lambda: rig.end(1).answer(1))
    assert (rig.engine.issued, rig.engine.in_flight) == (3, 0)
    assert rig.idle
    await rig.aclose()


async def test_what_is_cancelled_counts_as_cancelled_and_not_as_an_error() -> None:
    rig = Rig(plan(concurrency=6), "round_robin")
    await rig.begin(1, 2)
    await rig.do(lambda: rig.end(1).answer(1))
    await rig.do(rig.cancel)
    assert (rig.tally.ok, rig.tally.errors, rig.tally.cancelled) == (1, 0, 6)
    assert sum(lane.row.cancelled for lane in rig.backends.lanes.values()) == 6
    assert rig.engine.in_flight == 0
    assert rig.idle
    assert not rig.end(1).waiting  # reset, so the servers may stop working
    assert not rig.end(2).waiting
    await rig.aclose()


# ---- what is measured ------------------------------------------------------------------------------------------------


async def test_latency_is_from_queued_to_the_read_and_service_from_written() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    rig.clock.advance(0.010)
    await rig.do(lambda: rig.end(1).answer(1))
    rig.clock.advance(0.010)
    await rig.do(lambda: rig.end(1).answer(1))
    for histogram in (rig.tally.latency, rig.tally.service_time):
        assert (histogram.total, histogram.min_us, histogram.max_us, histogram.total_us) == (2, 10_000, 20_000, 30_000)
    assert (rig.tally.wait.total, rig.tally.wait.max_us) == (4, 0)
    await rig.aclose()


async def test_waiting_for_a_stream_slot_is_wait_and_not_service() -> None:
    rig = Rig(plan(concurrency=10, requests=10))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    for _ in range(10):
        assert rig.end(1).ledger.open_streams == 1
        rig.clock.advance(0.001)
        await rig.do(lambda: rig.end(1).answer(1))
    assert rig.tally.ok == 10
    assert (rig.tally.service_time.min_us, rig.tally.service_time.max_us) == (1_000, 1_000)
    assert (rig.tally.wait.min_us, rig.tally.wait.max_us, rig.tally.wait.total) == (0, 9_000, 10)
    assert (rig.tally.latency.min_us, rig.tally.latency.max_us) == (1_000, 10_000)
    await rig.aclose()


async def test_waiting_for_the_first_backend_is_wait_and_not_service() -> None:
    rig = Rig(plan(concurrency=3))
    rig.host(1).mode = "refuse"
    await rig.begin(1)
    assert rig.tally.wait.total == 0
    rig.clock.advance(0.500)
    rig.host(1).mode = "accept"
    await rig.do(rig.network.sleep.wake)
    assert (rig.tally.wait.total, rig.tally.wait.min_us, rig.tally.wait.max_us) == (3, 500_000, 500_000)
    rig.clock.advance(0.002)
    await rig.do(lambda: rig.end(1).answer(3))
    assert (rig.tally.service_time.max_us, rig.tally.latency.min_us) == (2_000, 502_000)
    await rig.aclose()


async def test_errors_are_counted_by_code_and_never_enter_the_latencies() -> None:
    rig = Rig(plan(concurrency=4), "round_robin")
    await rig.begin(1, 2)
    await rig.do(lambda: rig.end(1).answer(2, lambda stream: h2.trailers_only(stream, 5, ("grpc-message", "nope"))))
    await rig.do(lambda: rig.end(2).answer(1, lambda stream: h2.rst(stream, h2.INTERNAL_ERROR)))
    await rig.do(lambda: rig.end(2).answer(1))
    assert dict(rig.tally.codes) == {Code.OK: 1, Code.NOT_FOUND: 2, Code.INTERNAL: 1}
    assert rig.tally.latency.total == 1
    rows = {lane.instance.endpoint.port: dict(lane.row.codes) for lane in rig.backends.lanes.values()}
    assert rows == {1: {Code.NOT_FOUND: 2}, 2: {Code.OK: 1, Code.INTERNAL: 1}}
    groups = {group.message: dict(group.backends) for group in rig.tally.error_groups()}
    assert groups == {"nope": {"127.0.0.1:1": 2}, "stream reset by peer: INTERNAL_ERROR": {"127.0.0.1:2": 1}}
    await rig.aclose()


async def test_replies_of_different_batches_in_one_read_keep_their_own_times() -> None:
    rig = Rig(plan(concurrency=3))
    await rig.begin(1)
    rig.clock.advance(0.001)
    await rig.do(lambda: rig.end(1).answer(1))  # one call of a second batch
    rig.clock.advance(0.001)
    await rig.do(lambda: rig.end(1).answer(3))
    assert rig.tally.latency.total == 4
    assert rig.tally.latency.total_us == 1_000 + 2_000 + 2_000 + 1_000
    await rig.aclose()


async def test_every_policy_picks_only_what_it_was_given_and_every_pick_is_sent() -> None:
    for policy in ("pick_first", "round_robin", "random", "smooth_wrr", "weighted_random"):
        rig = Rig(plan(concurrency=7, requests=70), policy)
        await rig.apply(instance(1, 5), instance(2, 1), instance(3, 1))
        rig.loop.begin()
        await rig.finish()
        assert sum(lane.peer.picks for lane in rig.backends.lanes.values()) == 70
        assert sum(host.end.heads for host in rig.network.hosts.values()) == 70
        await rig.aclose()
