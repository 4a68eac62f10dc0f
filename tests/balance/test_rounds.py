"""What weighted rounds promise however they are made: iwrr by two queues, wrr_lvs by a threshold."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from math import gcd
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.rounds import spread
from tests.balance.fleet import built, drawn, fleet, pieced

Weights = st.lists(st.integers(1, 30), min_size=1, max_size=8)


def two_queues(weights: list[int], picks: int) -> list[int]:
    """Two queues of indices, as the rule is written."""
    divisor = gcd(*weights)
    left = [weight // divisor for weight in weights]
    current, following = deque(range(len(weights))), deque[int]()
    taken = []
    for _ in range(picks):
        if not current:
            current, following = following, current
        index = current.popleft()
        taken.append(index)
        left[index] -= 1
        if left[index]:
            current.append(index)
        else:
            left[index] = weights[index] // divisor
            following.append(index)
    return taken


def kernels_loop(weights: list[int], picks: int) -> list[int]:
    """The kernel's loop: step to the next server, lower the threshold with every pass, take who reaches it."""
    index, threshold, divisor, most = -1, 0, gcd(*weights), max(weights)
    taken: list[int] = []
    while len(taken) < picks:
        index = (index + 1) % len(weights)
        if index == 0:
            threshold -= divisor
            if threshold <= 0:
                threshold = most
        if weights[index] >= threshold:
            taken.append(index)
    return taken


RULES: Final[dict[str, Callable[[list[int], int], list[int]]]] = {"iwrr": two_queues, "wrr_lvs": kernels_loop}
EACH = pytest.mark.parametrize("policy", RULES)


@EACH
@pytest.mark.slow
def test_the_order_is_that_of_the_rule_in_three_thousand_cases(policy: str) -> None:
    rng = Random(3)
    for _ in range(3_000):
        factor = rng.choice([1, 1, 3])
        weights = [factor * rng.randint(1, 12) for _ in range(rng.randint(1, 6))]
        peers, count = fleet(weights), rng.randint(0, 60)
        assert drawn(built(policy, peers), count) == [peers[index] for index in RULES[policy](weights, count)]


@EACH
@given(Weights, st.lists(st.integers(0, 40), max_size=8))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(
    policy: str, weights: list[int], lives: list[int]
) -> None:
    peers = fleet(weights)
    picked = pieced(lambda: built(policy, peers), lives)
    assert picked == [peers[index] for index in RULES[policy](weights, sum(lives))]


@EACH
@given(Weights)
def test_cycles_are_exact(policy: str, weights: list[int]) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    peers = fleet(weights)
    counts = Counter(drawn(built(policy, peers), 3 * sum(reduced)))
    assert [counts[peer] for peer in peers] == [3 * weight for weight in reduced]


@EACH
@given(Weights, st.integers(0, 200))
def test_no_window_of_picks_strays_further_than_the_bound(policy: str, weights: list[int], skip: int) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    bound, total = spread(reduced), sum(reduced)
    counts = [0] * len(weights)
    for picks, index in enumerate(RULES[policy](reduced, skip + min(total, 150))[skip:], start=1):
        counts[index] += 1
        assert max(abs(picks * w / total - c) for w, c in zip(reduced, counts, strict=True)) <= bound + 1e-9


def test_the_bound_is_not_far_above_what_happens() -> None:
    weights = [50, 10, 5, 1]
    counts, worst = [0] * 4, 0.0
    for picks, index in enumerate(kernels_loop(weights, 66), start=1):
        counts[index] += 1
        worst = max(worst, *(abs(picks * w / 66 - c) for w, c in zip(weights, counts, strict=True)))
    assert worst <= spread(weights) <= worst + 2
    assert spread([3, 3, 3]) == 1.0
