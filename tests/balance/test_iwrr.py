from __future__ import annotations

from collections import Counter, deque
from math import gcd
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.rounds import spread
from tests.balance.fleet import ANY, VECTORS, Service, built, drawn, fleet, letters

Weights = st.lists(st.integers(1, 30), min_size=1, max_size=8)


def brute_force(weights: list[int], picks: int) -> list[int]:
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


@pytest.mark.parametrize("vector", [VECTORS["kitex_iwrr_5_1_1"], VECTORS["kitex_iwrr_1_2_3"]], ids=["5 1 1", "1 2 3"])
def test_the_order_is_that_of_kitex(vector: dict[str, dict[str, str]]) -> None:
    order = vector["expect"]["sequence"]
    assert letters(drawn(built("iwrr", fleet(vector["given"]["weights"])), len(order))) == order  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_order_is_that_of_two_queues_in_ten_thousand_cases() -> None:
    rng = Random(3)
    for _ in range(10_000):
        factor = rng.choice([1, 1, 3])
        weights = [factor * rng.randint(1, 10) for _ in range(rng.randint(1, 6))]
        peers, count = fleet(weights), rng.randint(0, 60)
        assert drawn(built("iwrr", peers), count) == [peers[index] for index in brute_force(weights, count)]


@given(Weights, st.lists(st.integers(0, 40), max_size=8))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(weights: list[int], lives: list[int]) -> None:
    peers = fleet(weights)
    pieced = []
    for life in lives:
        picker = built("iwrr", peers)
        pieced += drawn(picker, life)
        picker.retire()
    assert pieced == [peers[index] for index in brute_force(weights, sum(lives))]


@given(Weights)
def test_cycles_are_exact(weights: list[int]) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    peers = fleet(weights)
    counts = Counter(drawn(built("iwrr", peers), 3 * sum(reduced)))
    assert [counts[peer] for peer in peers] == [3 * weight for weight in reduced]


@given(Weights, st.integers(0, 200))
def test_no_window_of_picks_strays_further_than_the_bound(weights: list[int], skip: int) -> None:
    divisor = gcd(*weights)
    reduced = [weight // divisor for weight in weights]
    bound, total = spread(reduced), sum(reduced)
    counts = [0] * len(weights)
    for picks, index in enumerate(brute_force(reduced, skip + min(total, 150))[skip:], start=1):
        counts[index] += 1
        assert max(abs(picks * w / total - c) for w, c in zip(reduced, counts, strict=True)) <= bound + 1e-9


def test_a_backend_that_joins_takes_part_in_the_rounds_that_are_left() -> None:
    service = Service("iwrr", A=3, B=1)
    assert service.run(3) == "ABA"  # round 2 of 3
    service.set(A=3, B=1, C=3)
    assert service.run(10) == "CACBACACAC"


@pytest.mark.parametrize("picks", [1, 4, 9])
def test_a_round_goes_on_when_the_one_whose_turn_it_was_has_gone(picks: int) -> None:
    service = Service("iwrr", A=3, B=3, C=3)
    last = service.run(picks)[-1]
    rest = {key: 3 for key in "ABC" if key != last}
    service.set(**rest)
    following = "ABCABC"["ABC".index(last) + 1 :][:2]
    assert service.run(6) == following * 3


def test_one_that_had_its_turn_has_no_other_in_the_round_because_its_weight_grew() -> None:
    service = Service("iwrr", A=2, B=5)
    assert service.run(8) == "ABABBBBA"  # the first turn of the second cycle
    service.set(A=3, B=5)
    assert service.run(7) == "BABABBB"


def test_why_names_the_round() -> None:
    picker = built("iwrr", fleet([2, 1]))
    told = [picker.why(ANY)[1].text for _ in range(4)]
    assert [text.split(",")[0] for text in told] == [f"its turn in round {number} of 2" for number in (1, 1, 2, 1)]
