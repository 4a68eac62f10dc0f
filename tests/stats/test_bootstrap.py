"""Intervals of a mean over few rounds: against every resample there is, and against what they promise."""

from __future__ import annotations

from itertools import product
from random import Random
from statistics import fmean

import pytest

from lbctl.stats.bootstrap import between, of_mean, over_runs, resamples, tails
from lbctl.stats.intervals import NOTHING, Estimate, apart


@pytest.mark.parametrize("values", [(1.0, 4.0), (1.0, 2.0, 10.0), (3.0, 3.0, 7.0, 1.0), (0.0, 1.0, 4.0, 9.0, 16.0)])
def test_listed_resamples_are_all_there_are_each_with_its_chance(values: tuple[float, ...]) -> None:
    every = sorted(fmean(each) for each in product(values, repeat=len(values)))
    found = resamples(values, Random(1))
    assert sum(each.chance for each in found) == pytest.approx(1.0)
    for tail in (0.0, 0.01, 0.025, 0.1, 0.3):
        # The smallest mean that more than this part of all resamples is not above.
        place = int(tail * len(every) + 1e-9)
        low, high = tails(found, tail)
        assert low == pytest.approx(every[place])
        assert high == pytest.approx(every[len(every) - 1 - place])


def test_drawn_resamples_are_near_the_listed_ones_and_the_same_for_a_seed() -> None:
    values = [float(each) for each in range(10)]
    found = resamples(values, Random(7))
    assert found == resamples(values, Random(7))
    assert fmean(each.mean for each in found) == pytest.approx(4.5, abs=0.1)
    low, high = tails(found, 0.025)
    # The spread of the mean of ten such values is sqrt(8.25 / 10).
    assert low == pytest.approx(4.5 - 1.96 * 0.908, abs=0.15)
    assert high == pytest.approx(4.5 + 1.96 * 0.908, abs=0.15)


@pytest.mark.parametrize(("rounds", "trials"), [(2, 600), (3, 600), (5, 400)])
def test_nineteen_of_twenty_intervals_hold_the_mean_they_are_of(rounds: int, trials: int) -> None:
    rng = Random(rounds)
    held = plain = 0
    for _ in range(trials):
        values = [rng.gauss(10.0, 2.0) for _ in range(rounds)]
        found = of_mean(values, rng)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 10.0 <= found.high
        low, high = tails(resamples(values, rng), 0.025)
        plain += low <= 10.0 <= high
    assert 0.92 <= held / trials <= 0.98
    assert plain / trials < 0.9  # which is why percentiles alone are not enough


def test_one_round_has_a_figure_and_no_interval() -> None:
    assert of_mean([3.0], Random(1)) == Estimate(3.0)
    assert over_runs([Estimate(3.0, 2.0, 4.0)], Random(1)) == Estimate(3.0)
    assert of_mean([], Random(1)) == NOTHING


def test_rounds_that_agree_are_no_surer_than_their_calls() -> None:
    found = over_runs([Estimate(0.0, 0.0, 0.03)] * 3, Random(1))
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.03 / 3**0.5)


def test_a_round_without_a_figure_leaves_nothing_to_say() -> None:
    assert over_runs([Estimate(1.0, 0.5, 1.5), NOTHING], Random(1)) == NOTHING


def figures(*values: float) -> list[Estimate]:
    return [Estimate(value) for value in values]


def test_a_difference_of_repeated_runs_is_at_least_as_wide_as_welch_has_it() -> None:
    found = between(figures(10.0, 12.0, 11.0), figures(21.0, 20.0, 25.0), Random(1))
    # Means 11 and 22, variances 1 and 7: error sqrt(8/3), degrees of freedom (8/3)^2 / ((1/3)^2/2 + (7/3)^2/2) = 2.56
    assert found.value == 11.0
    assert found.low == pytest.approx(11 - 3.511 * (8 / 3) ** 0.5, abs=0.01)
    assert found.high == pytest.approx(11 + 3.511 * (8 / 3) ** 0.5, abs=0.01)
    skewed = between(figures(*[1.0] * 9, 40.0), figures(*[1.0] * 10), Random(1))
    assert skewed.value == pytest.approx(-3.9)
    assert skewed.low is not None
    assert skewed.low < -3.9 - 2.26 * 3.9  # its tail is longer than Student's
    assert skewed == between(figures(*[1.0] * 9, 40.0), figures(*[1.0] * 10), Random(1))


def test_one_run_against_several_is_taken_to_differ_as_those_do() -> None:
    found = between(figures(10.0), figures(12.0, 13.0, 14.0), Random(1))
    assert found.value == 3.0
    assert found.low == pytest.approx(3 - 4.3027 * (1 + 1 / 3) ** 0.5, abs=0.001)
    back = between(figures(12.0, 13.0, 14.0), figures(10.0), Random(1))
    assert back.low == pytest.approx(-3 - 4.3027 * (1 + 1 / 3) ** 0.5, abs=0.001)


def test_one_run_against_one_is_what_their_calls_leave_open() -> None:
    one, other = Estimate(1.0, 0.5, None), Estimate(3.0, 2.0, 5.0)
    assert between([one], [other], Random(1)) == apart(one, other)


def test_repeated_runs_that_agree_differ_by_no_less_than_their_calls_leave_open() -> None:
    none, some = Estimate(0.0, 0.0, 0.03), Estimate(0.1, 0.08, 0.12)
    found = between([none] * 3, [some] * 3, Random(1))
    assert found.value == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1 - (0.02**2 + 0.03**2) ** 0.5 / 3**0.5)
    assert found.high == pytest.approx(0.1 + 0.02 / 3**0.5)
    assert between([none, NOTHING], [some], Random(1)) == NOTHING


@pytest.mark.parametrize(("runs", "spread"), [((2, 2), 1.0), ((3, 3), 4.0), ((1, 4), 1.0)])
def test_nineteen_of_twenty_differences_of_repeated_runs_are_in_their_interval(
    runs: tuple[int, int], spread: float
) -> None:
    rng, held = Random(4), 0
    for _ in range(400):
        base = figures(*(rng.gauss(5.0, 1.0) for _ in range(runs[0])))
        found = between(base, figures(*(rng.gauss(8.0, spread) for _ in range(runs[1]))), rng)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 3.0 <= found.high
    assert 0.92 <= held / 400 <= 0.99
