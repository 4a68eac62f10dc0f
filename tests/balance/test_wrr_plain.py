from __future__ import annotations

from collections import Counter
from itertools import groupby
from math import gcd
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.balance.fleet import VECTORS, Service, built, drawn, fleet, letters

Weights = st.lists(st.integers(1, 30), min_size=1, max_size=8)


def expanded(weights: list[int]) -> str:
    """One cycle, written out."""
    divisor = gcd(*weights)
    return "".join(chr(ord("A") + index) * (weight // divisor) for index, weight in enumerate(weights))


def test_the_order_is_as_published() -> None:
    vector = VECTORS["wrr_plain_1_2_3"]
    order = letters(drawn(built("wrr_plain", fleet(vector["given"]["weights"])), vector["given"]["picks"]))
    assert order == vector["expect"]["sequence"]
    assert vector["expect"]["max_run"] == "weight of the node"
    assert [len([*run]) for _, run in groupby(order)] == vector["given"]["weights"]


@pytest.mark.slow
def test_the_order_is_that_of_the_expanded_list_in_ten_thousand_cases() -> None:
    rng = Random(1)
    for _ in range(10_000):
        weights = [rng.randint(1, 12) for _ in range(rng.randint(1, 6))]
        count = rng.randint(0, 40)
        cycle = expanded(weights)
        assert letters(drawn(built("wrr_plain", fleet(weights)), count)) == (cycle * 41)[:count]


@given(Weights)
def test_cycles_are_exact_and_the_longest_run_is_the_largest_weight(weights: list[int]) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    order = letters(drawn(built("wrr_plain", fleet(weights)), 3 * sum(reduced)))
    assert Counter(order) == {chr(ord("A") + index): 3 * weight for index, weight in enumerate(reduced)}
    if len(weights) > 1:
        assert max(len([*run]) for _, run in groupby(order)) == max(reduced)


@given(Weights, st.data())
def test_counts_stay_within_w_times_one_minus_p_from_any_start(weights: list[int], data: st.DataObject) -> None:
    peers = fleet(weights)
    for _ in range(2):
        picker = built("wrr_plain", peers)
        law = picker.law()
        counts = dict.fromkeys(peers, 0)
        for picks in range(1, data.draw(st.integers(1, 80)) + 1):
            counts[drawn(picker, 1)[0]] += 1
            for peer, share in zip(peers, law.shares, strict=True):
                assert abs(picks * share - counts[peer]) <= law.bound + 1e-9
        picker.retire()


def test_a_run_goes_on_where_it_was_when_others_join_or_leave() -> None:
    service = Service("wrr_plain", B=5, D=2)
    assert service.run(2) == "BB"
    service.set(A=2, B=5, C=1, D=2)
    assert service.run(10) == "BBBCDDAABB"
    service.set(A=2, B=5, C=1)
    assert service.run(7) == "BBBCAAB"


def test_the_next_one_follows_when_the_one_whose_run_it_was_has_gone() -> None:
    service = Service("wrr_plain", A=1, B=4, C=2)
    assert service.run(3) == "ABB"
    service.set(A=1, C=2)
    assert service.run(4) == "CCAC"
    service.set(A=1)
    assert service.run(2) == "AA"


def test_a_run_goes_on_at_the_same_part_of_a_weight_that_changed() -> None:
    service = Service("wrr_plain", A=4, B=1)
    assert service.run(2) == "AA"
    service.set(A=8, B=1)
    assert service.run(6) == "AAAABA"


def test_huge_weights_cost_no_memory() -> None:
    heavy, light = fleet([1_000_000_000, 7])
    assert Counter(drawn(built("wrr_plain", [heavy, light]), 5000)) == {heavy: 5000}


def test_why_counts_the_run() -> None:
    picker = built("wrr_plain", fleet([1, 3]))
    told = [picker.why(None)[1].text for _ in range(4)]  # type: ignore[arg-type]  # turns look at no call
    assert told[0] == "its run: pick 1 of 1 in a row"
    assert told[3] == "its run: pick 3 of 3 in a row"
