from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.stats.chi_square import p_value
from tests.balance.fleet import VECTORS, Service, built, drawn, fleet, letters

TURNS = ("round_robin", "smooth_wrr", "wrr_plain", "wrr_lvs", "iwrr", "edf", "static_stride")


def test_round_robin_counts_as_published_from_every_start() -> None:
    vector = VECTORS["rr_counts"]
    seen = {}
    for seed in range(20):
        order = letters(drawn(built("round_robin", fleet([1] * vector["given"]["n"]), seed), vector["given"]["picks"]))
        seen["ABC".index(order[0])] = order
    counts = [[seen[start].count(letter) for letter in "ABC"] for start in vector["given"]["start_index"]]
    assert counts == vector["expect"]["counts"]
    assert seen[1] == vector["expect"]["sequence_start_1"]


def test_round_robin_ignores_weights() -> None:
    assert Counter(letters(drawn(built("round_robin", fleet([5, 1, 1])), 30))) == {"A": 10, "B": 10, "C": 10}


def test_round_robin_starts_anywhere_with_equal_chance() -> None:
    peers, rng = fleet([1] * 4), Random(3)
    starts = Counter(letters(drawn(built("round_robin", peers, rng.randrange(1 << 30)), 1)) for _ in range(2000))
    assert p_value(sum((starts[letter] - 500) ** 2 / 500 for letter in "ABCD"), 3) > 1e-6


@given(st.integers(1, 12), st.integers(0, 60))
def test_round_robin_counts_differ_by_at_most_one_at_any_time(size: int, picks: int) -> None:
    counts = Counter(letters(drawn(built("round_robin", fleet([1] * size)), picks)))
    numbers = [counts[peer.instance.key] for peer in fleet([1] * size)]
    assert max(numbers) - min(numbers) <= 1


def test_random_ignores_weights_and_repeats_itself_as_often_as_chance_does() -> None:
    order = letters(drawn(built("random", fleet([100, 1, 1, 1])), 8000))
    counts = Counter(order)
    assert p_value(sum((counts[letter] - 2000) ** 2 / 2000 for letter in "ABCD"), 3) > 1e-6
    repeats = sum(a == b for a, b in pairwise(order)) / (len(order) - 1)
    assert abs(repeats - 0.25) < 0.03  # six standard deviations; turns would repeat never


def test_a_weight_of_zero_is_never_picked_while_another_is_positive() -> None:
    for policy in (*TURNS, "random", "weighted_random", "pick_first"):
        service = Service(policy, A=0, B=3, C=1)
        assert "A" not in service.run(500), policy


@pytest.mark.parametrize("policy", TURNS[1:])
@pytest.mark.parametrize("factor", [2, 7, 1000])
def test_turns_by_weight_depend_on_the_ratio_of_weights_alone(policy: str, factor: int) -> None:
    weights = [7, 3, 3, 1, 12]
    multiplied = fleet(factor * weight for weight in weights)
    assert letters(drawn(built(policy, multiplied), 300)) == letters(drawn(built(policy, fleet(weights)), 300))


@pytest.mark.parametrize("policy", TURNS)
def test_turns_go_on_where_they_were_when_the_same_list_comes_again(policy: str) -> None:
    whole, pieced = (Service(policy, seed=4, A=5, B=1, C=2) for _ in range(2))
    order = ""
    for _ in range(20):
        pieced.set(C=2, B=1, A=5)
        order += pieced.run(3)
    assert order == whole.run(60)


@pytest.mark.parametrize(
    ("policy", "loss"),
    [
        ("round_robin", 0.01),
        ("smooth_wrr", 0.01),
        ("edf", 0.01),
        ("iwrr", 0.05),
        ("wrr_lvs", 0.2),
        ("static_stride", 0.2),
        ("wrr_plain", 0.3),
    ],
)
def test_a_backend_that_flaps_gets_about_its_share_and_favours_none_of_the_others(policy: str, loss: float) -> None:
    service, rng = Service(policy, A=5, B=1, C=1, D=3), Random(8)
    for turn in range(3000):
        service.balancer.mark(service.peer("D"), ready=turn % 2 == 0)
        service.run(rng.randint(1, 5))
    expected = service.balancer.expectations()
    a, b, c, d = service.balancer.peers.values()
    assert abs(d.picks / expected[d] - 1) <= loss
    weight = 1 if policy == "round_robin" else 5
    if policy != "static_stride":  # whose only state is a number that means something else in every set
        assert abs(a.picks - weight * b.picks) <= 0.02 * a.picks
        assert abs(a.picks - weight * c.picks) <= 0.02 * a.picks
