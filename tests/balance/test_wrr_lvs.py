from __future__ import annotations

from collections import Counter
from math import gcd
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.rounds import spread
from tests.balance.fleet import ANY, Service, built, drawn, fleet, letters

Weights = st.lists(st.integers(1, 30), min_size=1, max_size=8)


def brute_force(weights: list[int], picks: int) -> list[int]:
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


def test_the_order_of_4_3_2_is_the_documented_one() -> None:
    assert letters(drawn(built("wrr_lvs", fleet([4, 3, 2])), 18)) == "AABABCABC" * 2


@pytest.mark.slow
def test_the_order_is_that_of_the_kernels_loop_in_ten_thousand_cases() -> None:
    rng = Random(2)
    for _ in range(10_000):
        factor = rng.choice([1, 1, 3])
        weights = [factor * rng.randint(1, 12) for _ in range(rng.randint(1, 6))]
        peers, count = fleet(weights), rng.randint(0, 40)
        assert drawn(built("wrr_lvs", peers), count) == [peers[index] for index in brute_force(weights, count)]


@given(Weights, st.lists(st.integers(0, 25), max_size=8))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(weights: list[int], lives: list[int]) -> None:
    peers = fleet(weights)
    pieced = []
    for life in lives:
        picker = built("wrr_lvs", peers)
        pieced += drawn(picker, life)
        picker.retire()
    assert pieced == [peers[index] for index in brute_force(weights, sum(lives))]


@given(Weights)
def test_cycles_are_exact(weights: list[int]) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    peers = fleet(weights)
    counts = Counter(drawn(built("wrr_lvs", peers), 2 * sum(reduced)))
    assert [counts[peer] for peer in peers] == [2 * weight for weight in reduced]


@given(Weights, st.integers(0, 200))
def test_no_window_of_picks_strays_further_than_the_bound(weights: list[int], skip: int) -> None:
    divisor = gcd(*weights)
    reduced = [weight // divisor for weight in weights]
    bound, total = spread(reduced), sum(reduced)
    counts = [0] * len(weights)
    for picks, index in enumerate(brute_force(reduced, skip + min(total, 150))[skip:], start=1):
        counts[index] += 1
        assert max(abs(picks * w / total - c) for w, c in zip(reduced, counts, strict=True)) <= bound + 1e-9


def test_the_bound_is_not_far_above_what_happens() -> None:
    weights = [50, 10, 5, 1]
    counts, worst = [0] * 4, 0.0
    for picks, index in enumerate(brute_force(weights, 66), start=1):
        counts[index] += 1
        worst = max(worst, *(abs(picks * w / 66 - c) for w, c in zip(weights, counts, strict=True)))
    assert worst <= spread(weights) <= worst + 2
    assert spread([3, 3, 3]) == 1.0


def test_a_backend_that_joins_takes_part_once_the_threshold_has_come_to_it() -> None:
    service = Service("wrr_lvs", A=4, C=3)
    assert service.run(2) == "AA"  # at the thresholds 4 and 3
    service.set(A=4, B=1, C=3)
    assert service.run(7) == "CACABCA"


def test_the_round_goes_on_when_the_one_whose_turn_it_was_has_gone() -> None:
    service = Service("wrr_lvs", A=3, B=3, C=3)
    assert service.run(2) == "AB"
    service.set(A=3, C=3)
    assert service.run(3) == "CAC"


def test_why_names_the_threshold_in_weights_as_they_are() -> None:
    picker = built("wrr_lvs", fleet([40, 20]))
    told = [picker.why(ANY)[1].text for _ in range(2)]
    assert told == ["its turn among those of weight 40 and more", "its turn among those of weight 20 and more"]
