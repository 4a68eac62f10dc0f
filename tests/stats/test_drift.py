"""Whether the latency of a run was one: found where it changed, and not where it only varied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from lbctl.stats.drift import LEAST, TOO_FEW, drift_of
from lbctl.stats.samples import Sample, Times


def of(medians: Sequence[float | None]) -> list[Sample]:
    return [
        Sample(t_s, 1.0, 9, 9, 0, 0, 0, 0, 1, None if p50 is None else Times(p50, p50, p50, p50))
        for t_s, p50 in enumerate(medians, 1)
    ]


def noisy(of_second: Callable[[int], float], seconds: int, rng: Random, part: float = 0.1) -> list[Sample]:
    return of([of_second(second) * rng.uniform(1 - part, 1 + part) for second in range(seconds)])


def test_a_run_that_rose_tells_from_where_to_where() -> None:
    found = drift_of(of([2.0, 2.1, 2.0, 2.2, 2.1, 3.3, 3.4, 3.5, 3.4, 3.6]))
    assert (found.verdict, found.before_ms, found.after_ms) == ("rising", 2.1, 3.4)
    assert found.p_value is not None
    assert found.p_value < 0.01
    assert (found.warmup_s, found.warmup_ms) == (0.0, None)


def test_a_run_that_fell_all_the_time_fell_and_did_not_warm_up() -> None:
    found = drift_of(of([20.0 - second for second in range(15)]))
    assert (found.verdict, found.before_ms, found.after_ms) == ("falling", 17.0, 9.5)
    assert found.warmup_s == 0.0


def test_a_warm_up_is_told_as_one_and_the_rest_is_steady() -> None:
    found = drift_of(of([30.0, 12.0, 2.1, 2.0, 2.2, 2.1, 2.0, 2.2, 2.1, 2.0]))
    assert (found.verdict, found.warmup_s, found.warmup_ms) == ("steady", 2.0, 21.0)
    assert found.before_ms == pytest.approx(2.1)
    assert found.after_ms == pytest.approx(2.05)


def test_a_tenth_must_differ_however_sure_it_is() -> None:
    found = drift_of(of([2.0 + second / 1000 for second in range(100)]))
    assert found.verdict == "steady"
    assert found.p_value is not None
    assert found.p_value < 1e-9


def test_a_run_without_a_change_is_steady() -> None:
    found = drift_of(of([2.0] * 20))
    assert (found.verdict, found.p_value) == ("steady", 1.0)


def test_short_samples_and_those_without_a_call_are_left_out() -> None:
    short = Sample(11.0, 0.5, 1, 1, 0, 0, 0, 0, 0, Times(99.0, 99.0, 99.0, 99.0))
    found = drift_of([*of([2.0, None] * (LEAST - 1)), short])
    assert found is TOO_FEW
    assert drift_of([*of([2.0, None] * LEAST), short]).after_ms == 2.0
    assert drift_of([]) is TOO_FEW


def test_noise_is_hardly_ever_taken_for_a_change() -> None:
    rng = Random(1)
    found = [drift_of(noisy(lambda _: 2.0, seconds, rng, 0.3)) for seconds in (8, 10, 30, 100) for _ in range(250)]
    assert sum(each.verdict != "steady" for each in found) <= 10  # of 1000
    assert sum(each.warmup_s > 0 for each in found) <= 10


def test_a_slow_wave_is_no_trend() -> None:
    rng = Random(2)
    taken = 0
    for _ in range(200):
        level, medians = 0.0, []
        for _ in range(60):
            level = 0.7 * level + rng.gauss(0, 0.1)
            medians.append(2.0 + level)
        taken += drift_of(of(medians)).verdict != "steady"
    assert taken <= 8


def test_a_change_by_half_is_found_through_noise() -> None:
    rng = Random(3)
    steps = [drift_of(noisy(lambda second: 2.0 if second < 15 else 3.0, 30, rng)) for _ in range(100)]
    ramps = [drift_of(noisy(lambda second: 2.0 + second / 30, 30, rng)) for _ in range(100)]
    assert sum(each.verdict == "rising" for each in steps) >= 98
    assert sum(each.verdict == "rising" for each in ramps) >= 98


def test_hiccups_at_any_time_are_no_warm_up_though_the_first_sample_may_have_one() -> None:
    rng = Random(4)
    found = [drift_of(of([2.0 * rng.choice([1] * 9 + [5]) for _ in range(60)])) for _ in range(300)]
    assert sum(each.warmup_s > 0 for each in found) <= 6
