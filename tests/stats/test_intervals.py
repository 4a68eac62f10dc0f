"""Intervals against tables that others computed, and against what they promise: to be right 95 times of 100."""

from __future__ import annotations

from math import comb
from random import Random

import pytest

from lbctl.stats.histogram import Histogram
from lbctl.stats.intervals import (
    Estimate,
    apart,
    of_mean,
    of_part,
    of_quantile,
    of_rate,
    quantile_ranks,
    student,
)


def times(*us: int) -> Histogram:
    found = Histogram()
    for each in us:
        found.record(each)
    return found


@pytest.mark.parametrize(
    ("total", "q", "ranks"),
    [
        (100, 0.5, (40, 61)),  # as in tables of the sign test
        (10_000, 0.99, (9880, 9920)),
        (100, 0.99, (97, 101)),  # the upper end is beyond the slowest call
        (2, 0.5, (0, 3)),
    ],
)
def test_the_ranks_between_which_a_percentile_lies(total: int, q: float, ranks: tuple[int, int]) -> None:
    assert quantile_ranks(total, q) == ranks


@pytest.mark.parametrize("q", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_the_ranks_of_few_calls_are_95_percent_sure_and_no_wider_than_they_must_be(q: float) -> None:
    for total in range(1, 200, 7):
        low, high = quantile_ranks(total, q)
        chances = [comb(total, k) * q**k * (1 - q) ** (total - k) for k in range(total + 1)]
        below, above = sum(chances[:low]), sum(chances[high:])
        assert below <= 0.025 + 1e-9
        assert above <= 0.025 + 1e-9
        assert below + chances[low] >= 0.025 - 1e-9
        assert above + chances[high - 1] >= 0.025 - 1e-9


def test_many_calls_have_the_ranks_that_counting_would_give() -> None:
    low, high = quantile_ranks(30_000, 0.99)  # 300 cases on the rarer side: normal
    chance, below, case = 0.99**30_000, 0.0, 0
    slower = []  # how likely it is that so few calls are slower
    while below < 0.99:
        below += chance
        slower.append(below)
        chance *= (30_000 - case) / (case + 1) * 0.01 / 0.99
        case += 1
    least = next(count for count, reached in enumerate(slower) if reached >= 0.025)
    most = next(count for count, reached in enumerate(slower) if reached >= 0.975)
    assert abs(30_000 - most - low) <= 1
    assert abs(30_001 - least - high) <= 1


def test_a_percentile_is_right_as_often_as_it_says() -> None:
    rng = Random(5)
    true = 10_000 * 2.7182818284590452 ** (0.5 * 1.2815515655446004)  # the p90 of what is drawn below
    right = 0
    for _ in range(200):
        found = of_quantile(times(*(int(10_000 * rng.lognormvariate(0, 0.5)) for _ in range(400))), 0.9)
        assert found.low is not None
        assert found.high is not None
        right += found.low <= true <= found.high
    assert 182 <= right <= 200


def test_an_end_beyond_the_slowest_call_cannot_be_told() -> None:
    found = of_quantile(times(*range(1000, 1100)), 0.99)
    assert found.value == pytest.approx(1098, rel=0.01)
    assert found.low is not None
    assert found.high is None
    assert of_quantile(Histogram(), 0.5) == Estimate(None)


def test_a_part_has_wilsons_interval() -> None:
    assert of_part(10, 100) == pytest.approx((0.1, 0.05523, 0.17437), abs=1e-5)
    assert of_part(0, 100) == pytest.approx((0.0, 0.0, 0.03699), abs=1e-5)
    assert of_part(100, 100) == pytest.approx((1.0, 0.96301, 1.0), abs=1e-5)
    assert of_part(0, 0) == Estimate(None)


def test_the_difference_of_two_parts_has_newcombes_interval() -> None:
    found = apart(of_part(48, 80), of_part(56, 70))
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_a_mean_has_the_normal_interval() -> None:
    found = of_mean(times(100, 102, 98, 101, 99))
    assert found.value == 100
    assert found.low == pytest.approx(100 - 1.95996 * (2.5 / 5) ** 0.5, abs=1e-3)
    assert of_mean(times(7)) == Estimate(7.0)


def test_a_rate_is_as_sure_as_its_count_or_its_samples_whichever_is_less() -> None:
    steady = of_rate(10_000, 10.0, [(1000.0, 1.0)] * 10)
    assert steady.value == 1000
    assert steady.high == pytest.approx(1000 + 1.95996 * 10, abs=0.01)
    restless = of_rate(10_000, 10.0, [(500.0, 1.0), (1500.0, 1.0)] * 5)
    assert restless.high == pytest.approx(1000 + 2.262 * 527.05 / 10**0.5, rel=1e-3)
    short = of_rate(10_000, 10.0, [(1000.0, 1.0)] * 10 + [(5.0, 0.1)])
    assert short == steady
    assert of_rate(0, 0.0) == Estimate(None)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (29, 2.0452), (1000, 1.9623)],
)
def test_students_quantile(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile, abs=0.00006)
    assert student(freedom + 0.5) < student(freedom)


def test_a_difference_has_no_end_where_one_of_its_parts_has_none() -> None:
    assert apart(Estimate(1.0, 0.5, None), Estimate(3.0, 2.0, 5.0)).low is None
    assert apart(Estimate(1.0, 0.5, None), Estimate(3.0, 2.0, 5.0)).high == pytest.approx(2 + (0.25 + 4) ** 0.5)
    assert apart(Estimate(None), Estimate(1.0)) == Estimate(None)
