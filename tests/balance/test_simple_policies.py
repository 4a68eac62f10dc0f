from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.policies.base import Setup
from lbctl.balance.policies.weighted_random import WeightedRandom
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import VECTORS, Service, built, drawn, fleet, letters


def test_pick_first_gives_everything_to_the_first_peer_in_key_order() -> None:
    assert letters(drawn(built("pick_first", fleet([1, 9, 9])), 5)) == "AAAAA"


def test_pick_first_stays_where_it_is_when_peers_join_before_the_chosen_one() -> None:
    service = Service("pick_first", B=1, C=1)
    assert service.run(2) == "BB"
    service.set(A=9, B=1, C=1, D=1)
    assert service.run(2) == "BB"


def test_pick_first_moves_on_when_the_chosen_one_breaks_and_does_not_go_back() -> None:
    service = Service("pick_first", A=1, B=1, C=1)
    first = service.run(1)
    service.balancer.mark(service.peer("A"), ready=False)
    second = service.run(2)
    service.balancer.mark(service.peer("A"), ready=True)
    assert (first, second, service.run(2)) == ("A", "BB", "BB")


@pytest.mark.parametrize("away", ["drained", "deregistered", "disconnected"])
def test_pick_first_forgets_a_chosen_peer_however_it_went_away(away: str) -> None:
    service = Service("pick_first", A=1, B=1)
    service.run(1)
    gone = service.peer("A")
    match away:
        case "drained":
            service.balancer.drain(gone, drained=True)
            service.run(1)
            service.balancer.drain(gone, drained=False)
        case "deregistered":
            service.set(B=1)
            service.run(1)
            service.set(A=1, B=1)
        case _:
            service.balancer.mark(gone, ready=False)
            service.run(1)
            service.balancer.mark(gone, ready=True)
    assert service.run(1) == "B"


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


@pytest.mark.parametrize("slots", [1, 4, 7, 64])
def test_weighted_random_keeps_the_law_when_its_table_is_too_small_for_the_weights(slots: int) -> None:
    weights, total = [50, 13, 13, 1, 23], 20_000
    peers = fleet(weights)
    counts = Counter(drawn(WeightedRandom(peers, Setup(Random(9)), slots), total))
    expected = [total * weight / 100 for weight in weights]
    chi2 = sum((counts[peer] - e) ** 2 / e for peer, e in zip(peers, expected, strict=True))
    assert p_value(chi2, 4) > 1e-6


def test_weighted_random_takes_weights_far_beyond_its_table() -> None:
    heavy, light = fleet([999_999_999, 1])
    assert Counter(drawn(built("weighted_random", [heavy, light]), 5000))[heavy] >= 4999


def test_a_weight_of_zero_is_never_picked_while_another_is_positive() -> None:
    for policy in ("round_robin", "random", "smooth_wrr", "weighted_random", "pick_first"):
        service = Service(policy, A=0, B=3, C=1)
        assert "A" not in service.run(500), policy
