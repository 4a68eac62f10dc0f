"""Every reported number is right: whole loads before servers whose every delay, error and stall is known.

Time is the test's own, so what is reported is compared with what was due to the microsecond, or to the width of a
bucket. How exact real clocks and sockets leave it: benchmarks/accuracy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from lbctl.load.batch import Batch
from lbctl.load.loops import OpenLoop
from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from tests.fakes import FakeAlarm, FakeClock
from tests.load.rig import Rig, paced, plan
from tests.load.virtual import Script, expected, nearest_rank, play
from tests.wire import frames as h2

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
PARTS = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)


def like_a_sorted_list(found: Histogram, times_ns: Sequence[int]) -> None:
    """The histogram has the count, the ends and the mean of these times, and their percentiles within 1 %."""
    assert found.total == len(times_ns)
    assert (found.min_us, found.max_us) == (min(times_ns) // 1000, max(times_ns) // 1000)
    assert abs(found.mean_us - sum(times_ns) / len(times_ns) / 1000) <= 1
    for part in PARTS:
        right = nearest_rank(times_ns, part) / 1000
        assert abs(found.quantile(part) - right) <= 0.01 * right + 1, part


@pytest.mark.parametrize("delay_ms", [1, 5, 20])
async def test_a_server_that_takes_exactly_so_long_is_reported_to_take_exactly_so_long(delay_ms: int) -> None:
    rig = Rig(paced(5000, 300))
    await rig.begin(1)
    await play(rig, Script(lambda number: delay_ms * MS_NS))
    for times in (rig.tally.latency, rig.tally.service_time):
        like_a_sorted_list(times, [delay_ms * MS_NS] * 300)
        assert times.quantile(0.5) == delay_ms * 1000
    assert (rig.tally.wait.max_us, rig.loop.dropped) == (0, 0)
    rig.check()
    await rig.aclose()


async def test_a_loop_that_comes_round_late_shows_in_the_response_and_not_in_the_service_time() -> None:
    rig = Rig(paced(5000, 300))
    await rig.begin(1)
    await play(rig, Script(lambda number: 5 * MS_NS), late_ns=150_000)
    like_a_sorted_list(rig.tally.latency, [5 * MS_NS, *[5_150_000] * 299])  # the first is due at once
    assert (rig.tally.service_time.max_us, rig.tally.wait.total, rig.tally.wait.quantile(0.5)) == (5_000, 300, 150)
    await rig.aclose()


async def test_a_stall_of_300_ms_is_in_the_response_time_of_the_right_share_and_hardly_in_the_service_time() -> None:
    rate, calls, slots, stall_ns = 2000, 1000, 8, 300 * MS_NS
    script = Script(lambda number: MS_NS // 10, stall_ns=(stall_ns // 3, stall_ns // 3 + stall_ns))
    rig = Rig(paced(rate, calls))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: slots}
    await rig.begin(1)
    await play(rig, script)
    right = expected(script, [number * SECOND_NS // rate for number in range(calls)], slots)
    response, service = rig.tally.latency, rig.tally.service_time
    like_a_sorted_list(response, [times.response for times in right])
    like_a_sorted_list(service, [times.service for times in right])
    # 600 calls came due while it stood still: half of them, and what was behind them, waited for more than half of it.
    slow = sum(times.response > 150 * MS_NS for times in right)
    assert 300 <= slow <= 310
    assert abs(sum(response.rebinned([150_000])[1:]) - slow) <= 3
    assert sum(service.rebinned([1_000])[1:]) == slots
    assert rig.tally.waits["slot"].calls >= 590
    assert (rig.tally.ok, rig.tally.errors, rig.loop.dropped) == (calls, 0, 0)
    await rig.aclose()


async def test_percentiles_of_delays_by_chance_are_those_of_a_sorted_list_and_errors_are_in_none() -> None:
    random = Random(6)
    delays = [round(random.lognormvariate(1, 1) * MS_NS) for _ in range(1200)]
    codes = [random.choice((None,) * 9 + (14,)) for _ in delays]
    script = Script(delays.__getitem__, codes.__getitem__)
    rig = Rig(paced(1000, len(delays)))
    await rig.begin(1)
    await play(rig, script)
    right = expected(script, [number * MS_NS for number in range(len(delays))])
    like_a_sorted_list(rig.tally.latency, [times.response for times in right])
    like_a_sorted_list(rig.tally.service_time, [times.service for times in right])
    failed = sum(code is not None for code in codes)
    assert dict(rig.tally.codes) == {Code.OK: 1200 - failed, Code.UNAVAILABLE: failed}
    assert (rig.tally.ok, rig.tally.errors) == (1200 - failed, failed)
    await rig.aclose()


async def test_of_two_million_fast_calls_and_two_million_slow_ones_p99_is_that_of_the_slow() -> None:
    rig = Rig(plan(concurrency=1))
    await rig.begin(1)
    (lane,) = rig.backends.lanes.values()
    begun = rig.clock.now_ns()
    for took_ms in (1, 100):
        now = begun + took_ms * MS_NS
        for _ in range(200):  # 10,000 replies in a read
            batch = Batch(begun, now + SECOND_NS, begun)
            batch.written_ns = begun
            rig.accounts.done(lane, [batch] * 10_000, now)
    latency = rig.tally.latency
    assert (latency.total, latency.max_us, latency.mean_us) == (4_000_000, 100_000, 50_500)
    assert abs(latency.quantile(0.5) - 1_000) <= 10
    assert (latency.quantile(0.500001), latency.quantile(0.99)) == (100_000, 100_000)
    assert rig.tally.ok == lane.row.ok == 4_000_000
    await rig.aclose()


class Counted:
    """What an open loop needs of an engine; knows when each call was started."""

    def __init__(self, clock: FakeClock) -> None:
        self.issued = self.in_flight = 0
        self.ran_out = False
        self.started: list[int] = []
        self._clock = clock

    def supplied(self, count: int) -> int:
        return count

    def launch(self, planned: Sequence[int], most: int, now_ns: int) -> int:
        self.issued += len(planned)
        self.started += [now_ns] * len(planned)
        return now_ns


def started(rate: float, seconds: float, late_ns: int = 0) -> list[int]:
    """When an open loop starts its calls whose alarm is up to so much late, by chance; from 0."""
    clock, random = FakeClock(), Random(1)
    engine, alarm = Counted(clock), FakeAlarm(clock)
    wanted = paced(rate, round(rate * seconds))
    assert wanted.schedule is not None
    loop = OpenLoop(wanted, wanted.schedule.pacer(random), engine, clock, alarm.made)  # type: ignore[arg-type]
    began = clock.now_ns()
    loop.begin()
    while alarm.due_ns is not None:
        clock.advance((alarm.due_ns - clock.now_ns() + random.randint(0, late_ns)) / 1e9)
        alarm.ring()
    return [at - began for at in engine.started]


def most_within_a_second(times: Sequence[int]) -> int:
    most = first = 0
    for last, at in enumerate(times):
        while times[first] <= at - SECOND_NS:
            first += 1
        most = max(most, last - first + 1)
    return most


@pytest.mark.parametrize("rate", [*range(70, 81), 100, 1000, 10_000, 50_000])
def test_any_second_has_as_many_calls_as_the_rate_says(rate: int) -> None:
    times = started(rate, 2.2, late_ns=200_000)
    assert len(times) == round(rate * 2.2)
    assert times == sorted(times)
    allowed = max(1, rate // 100)
    assert rate - allowed <= most_within_a_second(times) <= rate + allowed
    for begin in (0, SECOND_NS // 3, SECOND_NS):  # none has too few
        assert abs(sum(begin <= at < begin + SECOND_NS for at in times) - rate) <= allowed


def test_after_a_pause_of_ours_the_rate_of_the_whole_is_kept() -> None:
    assert abs(started(1000, 3.0, late_ns=30 * MS_NS)[-1] - 2_999 * MS_NS) <= 30 * MS_NS
