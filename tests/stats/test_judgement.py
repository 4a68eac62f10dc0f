"""What is judged while a run goes on, what is too even, how large a difference is, and shares held against bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, isclose, log, sqrt
from random import Random
from typing import NamedTuple

import pytest

from lbctl.stats.bands import enough, judge_bands, too_few
from lbctl.stats.chi_square import p_value
from lbctl.stats.evenness import too_even
from lbctl.stats.fairness import judge
from lbctl.stats.report import Balance
from tests.stats.test_fairness import Case, Row, chance, turns

ALARM = log(1000.0)


class Band(NamedTuple):
    low: float
    middle: float
    high: float


def so_far(counts: Sequence[int], weights: Sequence[float], log_factor: float) -> Balance:
    return judge(replace(chance(counts, weights), log_factor=log_factor), over=False)


def test_while_a_run_goes_on_only_the_bayes_factor_raises_an_alarm() -> None:
    uneven = [6900, 1550, 1550]  # a chi-square of 32 with two degrees
    assert judge(chance(uneven, [5, 1, 1])).verdict == "skewed"
    quiet, loud = so_far(uneven, [5, 1, 1], ALARM - 0.01), so_far(uneven, [5, 1, 1], ALARM + 0.01)
    assert (quiet.verdict, loud.verdict) == ("balanced", "skewed")
    assert (quiet.chi2, quiet.dof, loud.chi2, loud.dof) == (None, None, None, None)
    assert "so far" in quiet.note
    assert "10.0.0.0:1 got 6,900 picks where 7,142.9 were expected" in loud.note


def test_the_p_value_of_a_look_in_between_is_the_reciprocal_of_the_factor() -> None:
    assert isclose(so_far([500, 500], [1, 1], log(4.0)).p_value or 0, 0.25)
    assert so_far([500, 500], [1, 1], -3.0).p_value == 1.0  # a probability
    assert isclose(so_far([900, 100], [1, 1], 40.0).p_value or 0, exp(-40.0))


def test_an_alarm_about_a_difference_of_no_consequence_is_none() -> None:
    found = so_far([100_030_000, 99_970_000], [1, 1], ALARM + 1)
    assert found.verdict == "balanced"
    assert found.note.startswith("practically equal")


def test_too_few_picks_are_too_few_in_between_too_unless_the_difference_is_gross() -> None:
    assert so_far([3, 1, 0], [1, 1, 1], 0.5).verdict == "too_few"
    assert so_far([12, 0, 0], [1, 1, 1], ALARM + 1).verdict == "skewed"


def test_bounds_hold_at_any_moment() -> None:
    for over in (False, True):
        assert judge(turns([71, 15, 14], [5, 1, 1], 1.0), over=over).verdict == "balanced"
        assert judge(turns([68, 18, 14], [5, 1, 1], 1.0), over=over).verdict == "skewed"


def test_the_effect_size_is_what_chance_leaves_of_cohens_w() -> None:
    found = judge(chance([5500, 4500], [1, 1]))
    assert isclose(found.effect or 0, sqrt((100.0 - 1) / 10_000))  # 500 off of 5,000, twice: chi-square 100
    assert judge(chance([5000, 5000], [1, 1])).effect == 0.0
    assert judge(turns([5000, 5000], [1, 1], 1.0)).effect is None
    assert "effect size 0.099" in found.note


def test_of_several_epochs_two_tests_are_made_so_the_lower_p_is_doubled() -> None:
    """Both epochs have 550 of 1,000: a chi-square of 10 each with one degree, and of 20 where they are added up."""
    one = chance([1100, 900], [1, 1])
    rows = [row._replace(chance_picks=row.picks, chance_expected=row.expected) for row in one.backends]
    several = replace(one, chi2=20.0, dof=2, chances=2, backends=rows)
    found = judge(several)
    assert (found.chi2, found.dof) == (20.0, 1)
    assert isclose(found.p_value or 0, 2.0 * p_value(20.0, 1))
    apart = replace(several, backends=[row._replace(chance_picks=1000) for row in rows])  # nothing leans
    assert isclose(judge(apart).p_value or 0, 2.0 * p_value(20.0, 2))
    assert judge(replace(apart, chi2=0.1)).p_value == 1.0  # a probability


def test_turns_where_draws_were_promised_are_more_even_than_chance_would_be() -> None:
    found = judge(chance([3334, 3333, 3333], [1, 1, 1]))
    assert found.verdict == "balanced"
    assert found.note.startswith("more even than chance would be: chi-square 0.0002, 2 degrees of freedom, p 1")
    assert found.p_value is not None
    assert found.p_value > 0.999


def test_an_even_outcome_that_chance_makes_often_enough_is_no_news() -> None:
    """500 of 1,000 to each of two backends happens in 2.5 % of all runs."""
    assert judge(chance([500, 500], [1, 1])).note.startswith("what chance would make")
    assert not too_even(0.0, 1, [500.0, 500.0])
    assert too_even(0.0, 1, [500_000.0, 500_000.0])  # in 0.08 % of all runs
    assert not too_even(0.0, 9, [0.9] * 10)  # more backends than picks
    assert not too_even(0.0, 1, [100.0])


@pytest.mark.parametrize(("dof", "most"), [(2, 0.002), (4, 0.091), (9, 1.152)])
def test_too_even_begins_at_the_lower_tail_of_the_chi_square(dof: int, most: float) -> None:
    expected = [1000.0] * (dof + 1)
    assert too_even(most * 0.99, dof, expected)
    assert not too_even(most * 1.02, dof, expected)


def test_fair_draws_are_called_too_even_once_in_a_thousand() -> None:
    rng = Random(40)
    called = 0
    for _ in range(1500):
        draws = rng.choices(range(4), k=600)
        called += "more even" in judge(chance([draws.count(n) for n in range(4)], [1] * 4)).note
    assert called <= 6  # 1.5 expected


def test_keys_that_are_drawn_are_judged_by_chance_and_keys_that_are_not_exactly() -> None:
    drawn = replace(chance([5050, 4950], [1, 1]), expectation="hash", keys="zipf(1.1,1000)")
    found = judge(drawn)
    assert (found.verdict, found.dof) == ("balanced", 1)
    assert found.note.startswith("what chance would make of the keys (zipf(1.1,1000)): chi-square 1, 1 degree")
    one_key = replace(turns([700, 0], [1, 0], 0.0), expectation="hash", keys="meta:user")
    assert judge(one_key).verdict == "balanced"
    assert judge(one_key).note == "every count is within 1 call of what the keys (meta:user) make of it"
    strayed = replace(turns([699, 1], [1, 0], 0.0), expectation="hash", keys="meta:user")
    assert judge(strayed).verdict == "skewed"


def test_a_correct_policy_is_hardly_ever_called_skewed_at_the_end() -> None:
    """2,000 runs, each judged once at its end: 2 alarms are the mean, 7 the most in 999 of 1,000 such tests."""
    rng = Random(50)
    weights = (5, 3, 1, 1)
    alarms = 0
    for _ in range(2000):
        draws = rng.choices(range(4), weights=weights, k=200)
        alarms += judge(chance([draws.count(n) for n in range(4)], weights)).verdict == "skewed"
    assert alarms <= 7


@pytest.mark.parametrize(("backends", "picks"), [(2, 2085), (3, 4234)])
def test_one_backend_a_tenth_off_is_found_in_nine_of_ten_runs_of_the_published_length(
    backends: int, picks: int
) -> None:
    """The published numbers are of one backend's share; a test of all shares at once needs half as many again."""
    rng = Random(51)
    off = 1.1 / backends
    weights = [off, *[(1 - off) / (backends - 1)] * (backends - 1)]
    length = picks if backends == 2 else picks * 3 // 2
    found = 0
    for _ in range(100):
        draws = rng.choices(range(backends), weights=weights, k=length)
        found += judge(chance([draws.count(n) for n in range(backends)], [1] * backends)).verdict == "skewed"
    assert found >= 82  # 90 expected


BANDS = (Band(0.50, 0.55, 0.60), Band(0.40, 0.45, 0.50))
FOLLOWS = judge(Case("feedback", unjudged=1000, backends=[Row("a", 550, 500.0), Row("b", 450, 500.0)]))


def test_shares_inside_their_bands_are_balanced_and_measured_from_the_middle() -> None:
    found = judge_bands(FOLLOWS, [590, 410], ["a", "b"], BANDS)
    assert (found.verdict, found.expectation, found.worst) == ("balanced", "feedback", "b")
    assert isclose(found.max_delta or 0, 0.04)
    assert isclose(found.max_over_expected or 0, 0.59 / 0.55)
    assert found.note == "every share is where the same run, simulated, puts it"


def test_a_share_outside_its_band_is_skewed_and_the_band_is_named() -> None:
    found = judge_bands(FOLLOWS, [610, 390], ["a", "b"], BANDS)
    assert found.verdict == "skewed"
    assert found.note in (
        "a got 61.0%, simulation gives 50.0-60.0%",
        "b got 39.0%, simulation gives 40.0-50.0%",
    )


def test_a_run_is_judged_by_bands_once_it_is_longer_than_its_beginning() -> None:
    assert enough(60, 3, 10) == 0
    assert enough(59, 3, 10) == 1
    assert enough(60, 3, 50) == 190
    found = too_few(FOLLOWS, 60, 190)
    assert (found.verdict, found.note) == ("too_few", "60 picks are too few to judge: 250 are needed")


def test_feedback_is_not_judged_while_a_run_goes_on() -> None:
    assert FOLLOWS.verdict == "not_applicable"
