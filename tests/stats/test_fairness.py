from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, isclose
from random import Random
from typing import NamedTuple

import pytest

from lbctl.stats.fairness import judge


class Row(NamedTuple):
    address: str
    picks: int
    expected: float
    bounded_picks: int = 0
    bounded_expected: float = 0.0
    below: float = 0.0
    below_squares: float = 0.0
    above: float = 0.0
    above_squares: float = 0.0
    chance_picks: int = 0
    chance_expected: float = 0.0
    pooled_picks: int = 0
    pooled_expected: float = 0.0


@dataclass(frozen=True)
class Case:
    expectation: str = "multinomial"
    bounded: int = 0
    overrun: float = -inf
    drawn: int = 0
    chi2: float = 0.0
    dof: int = 0
    pooled: int = 0
    chances: int = 1
    log_factor: float = 0.0
    unjudged: int = 0
    unfinished: int = 0
    strays: int = 0
    backends: Sequence[Row] = field(default_factory=tuple)
    keys: str = ""


def chance(counts: Sequence[int], weights: Sequence[float]) -> Case:
    """One epoch of draws, long or short."""
    total = sum(counts)
    expected = [total * weight / sum(weights) for weight in weights]
    pairs = list(zip(counts, expected, strict=True))
    rows = [Row(f"10.0.0.{n}:1", count, owed) for n, (count, owed) in enumerate(pairs)]
    if min(expected) >= 5:
        chi2 = sum((count - owed) ** 2 / owed for count, owed in pairs)
        return Case(drawn=total, chi2=chi2, dof=len(rows) - 1, backends=rows)
    pooled = [row._replace(pooled_picks=row.picks, pooled_expected=row.expected) for row in rows]
    return Case(pooled=total, backends=pooled)


def turns(counts: Sequence[int], weights: Sequence[float], bound: float) -> Case:
    """One epoch of a policy with a bound."""
    total = sum(counts)
    rows = []
    for number, (count, weight) in enumerate(zip(counts, weights, strict=True)):
        expected = total * weight / sum(weights)
        below, above = min(bound, expected), min(bound, total - expected)
        rows.append(Row(f"10.0.0.{number}:1", count, expected, count, expected, below, below**2, above, above**2))
    overrun = max(abs(row.picks - row.expected) for row in rows) - bound
    return Case("sequence", bounded=total, overrun=overrun, backends=rows)


def test_exact_shares_are_balanced_and_need_no_chi_square() -> None:
    found = judge(turns([7143, 1429, 1428], [5, 1, 1], 1.0))
    assert (found.verdict, found.chi2, found.dof, found.p_value) == ("balanced", None, None, None)
    assert found.max_delta is not None
    assert found.max_delta < 1e-4
    assert found.note == "every count is within 1 call of its expectation"


def test_a_deterministic_policy_that_is_off_by_more_than_its_bound_is_skewed() -> None:
    found = judge(turns([7140, 1432, 1428], [5, 1, 1], 1.0))
    assert (found.verdict, found.worst) == ("skewed", "10.0.0.1:1")
    assert found.note == "10.0.0.1:1 got 1,432 picks where 1,428.6 were expected"


def test_picks_that_could_not_break_the_bound_are_too_few() -> None:
    assert judge(turns([1, 0, 0], [1, 1, 1], 1.0)).verdict == "too_few"
    assert judge(turns([1, 1, 0], [1, 1, 1], 1.0)).verdict == "balanced"


def test_many_short_epochs_that_all_lean_the_same_way_are_skewed() -> None:
    slack = (1000.0, 1000.0) * 2
    leaning = [Row("a", 1140, 1000.0, 1140, 1000.0, *slack), Row("b", 860, 1000.0, 860, 1000.0, *slack)]
    case = Case("counts", bounded=2000, overrun=-0.1, backends=leaning)
    assert judge(case).verdict == "skewed"
    fair = [row._replace(picks=1000 + n, bounded_picks=1000 + n) for n, row in zip((60, -60), leaning, strict=True)]
    assert judge(replace(case, backends=fair)).verdict == "balanced"


def test_one_peer_that_gets_everything_as_promised_is_balanced() -> None:
    rows = [Row("a", 50, 50.0, 50, 50.0), Row("b", 0, 0.0)]
    found = judge(Case("single", bounded=50, overrun=0.0, backends=rows))
    assert (found.verdict, found.max_over_expected) == ("balanced", 1.0)


def test_the_largest_ratio_is_not_said_while_the_largest_may_be_a_backend_that_expects_less_than_one_pick() -> None:
    found = judge(turns([1, 1, 1, 0, 0], [5, 3, 2, 1, 1], 1.0))  # 1 of 1.25, 1 of 0.75, 1 of 0.5
    assert found.max_over_expected is None


def test_draws_are_judged_by_a_chi_square_that_readers_can_recompute() -> None:
    found = judge(chance([7100, 1460, 1440], [5, 1, 1]))
    chi2 = (7100 - 7142.857) ** 2 / 7142.857 + (1460 - 1428.571) ** 2 / 1428.571 + (1440 - 1428.571) ** 2 / 1428.571
    assert found.verdict == "balanced"
    assert isclose(found.chi2 or 0, chi2, rel_tol=1e-4)
    assert found.dof == 2
    assert isclose(found.p_value or 0, exp(-chi2 / 2), rel_tol=1e-4)
    assert isclose(found.max_over_expected or 0, 1460 / 1428.571, rel_tol=1e-4)
    assert (found.worst, round(found.max_delta or 0, 5)) == ("10.0.0.0:1", 0.00429)


def test_draws_that_chance_does_not_explain_are_skewed() -> None:
    found = judge(chance([6900, 1550, 1550], [5, 1, 1]))
    assert found.verdict == "skewed"
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.note.startswith("10.0.0.0:1 got 6,900 picks where 7,142.9 were expected")


def test_a_certain_difference_of_no_consequence_is_practically_equal() -> None:
    found = judge(chance([10_007_000, 9_993_000], [1, 1]))
    assert found.p_value is not None
    assert found.p_value < 0.01
    found = judge(chance([100_030_000, 99_970_000], [1, 1]))
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.verdict == "balanced"
    assert found.note.startswith("practically equal: effect size 0.0003")


@pytest.mark.parametrize(("total", "verdict"), [(34, "too_few"), (35, "balanced")])
def test_five_expected_picks_of_every_backend_are_needed(total: int, verdict: str) -> None:
    light = total // 7
    found = judge(chance([total - 2 * light, light, light], [5, 1, 1]))
    assert found.verdict == verdict
    if verdict == "too_few":
        assert found.note == "34 picks are too few to judge: 35 are needed"


def test_a_gross_difference_is_seen_before_every_backend_can_be_judged_alone() -> None:
    assert judge(chance([30] + [0] * 9, [1] * 10)).verdict == "skewed"


def test_a_few_light_backends_among_many_do_not_hold_back_the_verdict() -> None:
    rng = Random(8)
    weights = [100] * 18 + [1, 1]
    drawn = rng.choices(range(20), weights=weights, k=1000)
    found = judge(chance([drawn.count(n) for n in range(20)], weights))
    assert (found.verdict, found.dof) == ("balanced", 17)  # the two light ones are judged with the next


def test_a_pick_where_none_was_due_is_skewed_without_a_test() -> None:
    found = judge(replace(chance([5000, 1000, 1000], [5, 1, 1]), strays=1))
    assert found.verdict == "skewed"
    assert found.note == "1 pick went to backends that should have had none"
    assert found.chi2 is not None


def test_nothing_picked_is_too_few() -> None:
    found = judge(Case(backends=[Row("a", 0, 0.0)]))
    assert (found.verdict, found.max_delta, found.worst) == ("too_few", None, None)
    assert judge(Case()).verdict == "too_few"


@pytest.mark.parametrize("kind", ["hash", "feedback"])
def test_shares_that_nobody_can_state_are_not_judged(kind: str) -> None:
    rows = [Row("a", 900, 500.0), Row("b", 100, 500.0)]
    found = judge(Case(kind, unjudged=1000, backends=rows))
    assert (found.verdict, found.p_value) == ("not_applicable", None)


def test_one_backend_has_nobody_to_be_compared_with() -> None:
    assert judge(Case(unjudged=10, backends=[Row("a", 10, 10.0)])).verdict == "balanced"


def test_fair_draws_raise_no_more_alarms_than_promised() -> None:
    rng = Random(20)
    alarms = sum(
        judge(chance([draws.count(n) for n in range(4)], [1, 2, 3, 4])).verdict == "skewed"
        for draws in (rng.choices(range(4), weights=[1, 2, 3, 4], k=150) for _ in range(1500))
    )
    assert alarms <= 6  # 1.5 expected


def test_one_backend_a_tenth_too_heavy_is_found_in_the_published_number_of_draws() -> None:
    rng = Random(21)
    found = 0
    for _ in range(50):
        draws = rng.choices(range(3), weights=[1.1 / 3, (1 - 1.1 / 3) / 2, (1 - 1.1 / 3) / 2], k=2 * 4234)
        found += judge(chance([draws.count(n) for n in range(3)], [1, 1, 1])).verdict == "skewed"
    assert found >= 45
