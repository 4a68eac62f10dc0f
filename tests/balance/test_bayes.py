"""The test that may be looked at again and again: its mean, its promise, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import exp, isclose, log, prod
from random import Random

import pytest

from lbctl.balance.bayes import NEARNESS, log_factor, log_mean

ALARM = log(1000.0)


def by_hand(counts: Sequence[int], shares: Sequence[float], nearness: float) -> float:
    """The factor as the page defines it, one pick after the other."""

    def rising(start: float, steps: int) -> float:
        return prod(start + step for step in range(steps))

    over = prod(rising(nearness * share, count) / share**count for count, share in zip(counts, shares, strict=True))
    return over / rising(nearness, sum(counts))


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (7, 1, 2), (12, 9, 11), (0, 0, 12)])
def test_the_factor_is_the_mean_of_those_worked_out_by_hand(counts: tuple[int, ...]) -> None:
    shares = (0.5, 0.3, 0.2)
    expected = sum(by_hand(counts, shares, nearness) for nearness in NEARNESS) / len(NEARNESS)
    assert isclose(exp(log_factor(counts, shares)), expected, rel_tol=1e-9)


def test_the_worked_example_of_the_page_holds() -> None:
    assert isclose(by_hand((2, 0), (0.5, 0.5), 2.0), 4 / 3)
    assert isclose(by_hand((1, 1), (0.5, 0.5), 2.0), 2 / 3)


def test_where_the_shares_are_right_the_factor_is_1_on_average() -> None:
    shares = (0.5, 0.3, 0.2)
    mean = 0.0
    for order in product(range(3), repeat=6):
        counts = [order.count(peer) for peer in range(3)]
        mean += prod(shares[peer] for peer in order) * exp(log_factor(counts, shares))
    assert isclose(mean, 1.0, rel_tol=1e-9)


def test_one_backend_and_backends_that_are_due_nothing_say_nothing() -> None:
    assert log_factor([50], [1.0]) == 0.0
    assert log_factor([50, 0], [1.0, 0.0]) == 0.0
    assert log_factor([], []) == 0.0
    assert isclose(log_mean([0.0, 0.0]), 0.0)
    assert isclose(log_mean([1000.0, -1000.0]), 1000.0 - log(2.0))  # no overflow


@pytest.mark.slow
def test_fair_draws_hardly_ever_raise_an_alarm_however_often_somebody_looks() -> None:
    """2,000 runs, looked at after every 20 of 400 draws: 2 alarms would be the most to expect, and 4.4 are 1 in 100."""
    rng = Random(30)
    weights = (5, 1, 1)
    shares = [weight / 7 for weight in weights]
    alarms = 0
    for _ in range(2000):
        drawn = rng.choices(range(3), weights=weights, k=400)
        counts = [0, 0, 0]
        for look in range(0, 400, 20):
            for peer in drawn[look : look + 20]:
                counts[peer] += 1
            if log_factor(counts, shares) > ALARM:
                alarms += 1
                break
    assert alarms <= 5


def test_a_backend_a_tenth_too_heavy_raises_one_long_before_a_run_is_large() -> None:
    rng = Random(31)
    heavy = 1.1 / 3
    found = 0
    for _ in range(20):
        drawn = rng.choices(range(3), weights=[heavy, (1 - heavy) / 2, (1 - heavy) / 2], k=3 * 4234)
        found += log_factor([drawn.count(peer) for peer in range(3)], [1 / 3] * 3) > ALARM
    assert found >= 18
