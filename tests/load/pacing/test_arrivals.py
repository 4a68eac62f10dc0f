"""How calls are spread: the same rate in the mean, gaps that are even, by chance, or none within a burst."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from itertools import pairwise
from random import Random

from lbctl.load.pacing.arrivals import Bursts, Even, Poisson
from lbctl.load.pacing.base import NEVER_NS
from lbctl.load.pacing.constant import Constant
from lbctl.load.pacing.curve import Curve, Stage
from lbctl.load.pacing.recorded import Recorded
from lbctl.load.pacing.schedule import Schedule, steady

S = 10**9
FOR_EVER = math.inf


def test_even_calls_of_one_rate_are_those_of_a_constant_one() -> None:
    even, constant = Even(Curve([Stage(FOR_EVER, 333.0, 333.0)])), Constant(333.0)
    assert [even.due_ns(number) for number in range(1000)] == [constant.due_ns(number) for number in range(1000)]


def test_calls_by_chance_come_at_the_rate_and_their_gaps_are_exponential() -> None:
    pacer = Poisson(Curve([Stage(FOR_EVER, 1000.0, 1000.0)]), Random(7))
    due = [0, *(pacer.due_ns(number) for number in range(100_000))]
    gaps = sorted((after - before) / 1e6 for before, after in pairwise(due))
    assert abs(due[-1] / S - 100) < 4 * math.sqrt(100_000) / 1000  # four standard deviations
    # Kolmogorov-Smirnov against 1 - exp(-gap): 1.95 / sqrt(n) is passed once in a thousand times.
    worst = max(abs((rank + 0.5) / len(gaps) - (1 - math.exp(-gap))) for rank, gap in enumerate(gaps))
    assert worst < 1.95 / math.sqrt(len(gaps))


def test_counts_by_chance_vary_as_those_of_a_poisson_process() -> None:
    pacer = Poisson(Curve([Stage(FOR_EVER, 50.0, 50.0)]), Random(3))
    counts = Counter(pacer.due_ns(number) // S for number in range(50_000))
    of_seconds = [counts[second] for second in range(900)]
    mean = sum(of_seconds) / len(of_seconds)
    variance = sum((count - mean) ** 2 for count in of_seconds) / (len(of_seconds) - 1)
    assert abs(mean - 50) < 4 * math.sqrt(50 / 900)
    assert abs(variance / mean - 1) < 4 * math.sqrt(2 / 900)


def test_the_same_seed_makes_the_same_calls() -> None:
    first, second = (Poisson(Curve([Stage(FOR_EVER, 9.0, 9.0)]), Random(5)) for _ in range(2))
    assert [first.due_ns(number) for number in range(99)] == [second.due_ns(number) for number in range(99)]


def test_a_call_by_chance_has_one_time_however_often_it_is_asked_for() -> None:
    pacer = Poisson(Curve([Stage(FOR_EVER, 9.0, 9.0)]), Random(5))
    assert pacer.due_ns(3) == pacer.due_ns(3) <= pacer.due_ns(4)


def test_a_burst_comes_at_once_and_the_rate_is_kept() -> None:
    pacer = Bursts(Curve([Stage(FOR_EVER, 100.0, 100.0)]), 50)
    due = [pacer.due_ns(number) for number in range(151)]
    assert Counter(due) == {0: 50, S // 2: 50, S: 50, 3 * S // 2: 1}


def test_a_burst_that_has_begun_ends_before_another_rate_holds() -> None:
    pacer = Bursts(Curve([Stage(FOR_EVER, 100.0, 100.0)]), 50).scaled(2.0, 50, S // 4)
    assert [pacer.due_ns(number) for number in (50, 99, 100)] == [3 * S // 8, 3 * S // 8, 5 * S // 8]
    assert pacer.words(S) == ("rate", "200/s")


def test_the_count_is_that_of_the_calls_before_the_end() -> None:
    for pacer in (
        Even(Curve([Stage(2, 10, 30)])),
        Bursts(Curve([Stage(2, 20, 20)]), 7),
        Poisson(Curve([Stage(2, 20, 20)]), Random(1)),
        Recorded(array("q", range(0, 2 * S, S // 20))),
    ):
        due = [number for number in range(100) if pacer.due_ns(number) < S]
        assert due == list(range(len(due)))
    assert Even(Curve([Stage(2, 10, 30)])).count(3, S) == 12
    assert Recorded(array("q", range(0, 2 * S, S // 20))).count(5, S) == 15
    assert Even(Curve([Stage(2, 10, 10)])).count(0, 3 * S) == 20


def test_recorded_calls_are_due_as_they_were_or_faster() -> None:
    times = array("q", [0, S, S, 5 * S])
    assert [Recorded(times).due_ns(number) for number in range(5)] == [0, S, S, 5 * S, NEVER_NS]
    assert [Recorded(times, 2.0).due_ns(number) for number in range(4)] == [0, S // 2, S // 2, 5 * S // 2]
    assert Recorded(times).rate(0) is None


def test_another_speed_holds_from_now_on() -> None:
    pacer = Recorded(array("q", [0, S, 5 * S]), 1.0).scaled(2.0, 2, 3 * S)
    assert pacer.due_ns(2) == 4 * S
    assert pacer.words(0) == ("speed", "2")


def test_a_schedule_knows_its_rate_its_length_and_its_pacer() -> None:
    one = steady(500.0)
    assert (one.rps, one.seconds, one.is_even, one.spelled) == (500, FOR_EVER, True, "constant")
    assert one.pacer(Random(1)) == Constant(500.0)
    bursts = Schedule((Stage(3, 5, 5), Stage(4, 5, 5)), "bursts", 9)
    assert (bursts.rps, bursts.seconds, bursts.is_even, bursts.spelled) == (5, 7, False, "bursts:9")
    assert isinstance(bursts.pacer(Random(1)), Bursts)
    recorded = Schedule(times_ns=array("q", [0, 8 * S]), arrival="recorded", speed=4.0)
    assert (recorded.rps, recorded.seconds, recorded.is_even, recorded.spelled) == (None, 2, False, "recorded")
    assert isinstance(Schedule((Stage(3, 5, 6),), "poisson").pacer(Random(1)), Poisson)
    assert Schedule((Stage(3, 5, 6),)).rps is None
