"""The power of two choices by calls in flight, and the arithmetic of two draws."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random

import pytest

from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.two_choices import Pairs, distinct_shares, second_index
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import VECTORS, built, fleet
from tests.balance.traffic import Chosen, Traffic, busy


def test_the_second_of_two_is_drawn_among_the_others() -> None:
    """#p2c_second_index: a below n, b below n - 1, and one more from a on."""
    assert [second_index(first, drawn) for first in range(3) for drawn in range(2)] == [1, 2, 0, 2, 0, 1]
    assert Pairs("abc", Chosen((1, 3), (1, 2))).draw() == ("b", "c")


def test_every_ordered_pair_is_drawn_with_the_same_chance() -> None:
    pairs = Pairs("abcd", Random(4))
    counts = Counter(pairs.draw() for _ in range(12_000))
    expected = dict.fromkeys(permutations("abcd", 2), 1000)
    assert set(counts) == set(expected)
    assert p_value(sum((counts[pair] - e) ** 2 / e for pair, e in expected.items()), 11) > 1e-6


def test_frozen_loads_share_as_ranks_without_replacement_do_and_the_last_gets_nothing() -> None:
    vector = VECTORS["p2c_static_rank_without_replacement"]
    shares = vector["expect"]["shares"]
    assert distinct_shares(vector["given"]["n"]) == pytest.approx(shares)
    peers = busy(fleet([1] * 5), [4, 3, 2, 1, 0])
    picker = built("p2c", peers)
    counts = Counter(picker.pick(Call(1)) for _ in range(10_000))
    assert counts[peers[0]] == 0
    ranked = [*zip(peers[::-1], shares, strict=True)][:-1]
    assert p_value(sum((counts[peer] - 10_000 * e) ** 2 / (10_000 * e) for peer, e in ranked), 3) > 1e-6


def test_with_one_call_at_a_time_all_have_the_same_chance_whatever_their_weights() -> None:
    peers = fleet([9, 1, 1])
    picker = built("p2c", peers, seed=8)
    counts = Counter(picker.pick(Call(1)) for _ in range(9000))
    assert p_value(sum((counts[peer] - 3000) ** 2 / 3000 for peer in peers), 2) > 1e-6


@pytest.mark.parametrize("case", range(25))
def test_p2c_agrees_with_its_rule_over_10_000_picks_and_is_never_worse_than_the_other(case: int) -> None:
    rng = Random(case)
    peers = fleet([1] * rng.choice([2, 3, 5, 20]))
    policy = POLICIES["p2c"]
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    draws = Random(case)
    for _ in range(400):
        first = int(draws.random() * len(peers))
        others = [index for index in range(len(peers)) if index != first]
        second = others[int(draws.random() * len(others))]
        loads = [peer.in_flight for peer in peers]
        expected = second if loads[second] < loads[first] else first
        assert traffic.pick() is peers[expected]
        assert loads[expected] == min(loads[first], loads[second])
        traffic.thin_out(2 * len(peers))
