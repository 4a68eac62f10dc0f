"""What every policy promises, over the whole table; what each one promises alone is in its own file."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies import POLICIES
from lbctl.balance.policies.base import Expectation, Policy
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import ANY, built, drawn, fleet

ALL = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
WEIGHTS = [5, 1, 1, 3, 10]


def test_the_table_lists_the_policies_in_the_order_people_see_them() -> None:
    assert list(POLICIES) == ["pick_first", "round_robin", "random", "smooth_wrr", "weighted_random"]
    assert all(name == policy.name and policy.summary for name, policy in POLICIES.items())


@ALL
@SIZES
def test_a_picker_never_picks_outside_its_set(policy: Policy, size: int) -> None:
    peers = fleet(range(1, size + 1))
    assert set(drawn(built(policy.name, peers), 50 * size)) <= set(peers)


@ALL
@SIZES
def test_a_picker_reaches_every_peer_that_it_gives_a_share(policy: Policy, size: int) -> None:
    peers = fleet([3] * size)
    picker = built(policy.name, peers)
    owed = {peer for peer, share in zip(peers, picker.shares(), strict=True) if share}
    assert set(drawn(picker, 40 * size)) == owed
    assert owed == ({peers[0]} if policy.expectation is Expectation.SINGLE else set(peers))


@ALL
def test_one_peer_gets_everything(policy: Policy) -> None:
    (only,) = fleet([7])
    assert set(drawn(built(policy.name, [only]), 20)) == {only}


@ALL
@pytest.mark.parametrize("weights", [[1], [5, 1, 1], [0, 0], [100, 7, 7, 2, 1]])
def test_shares_are_a_distribution_over_the_peers(policy: Policy, weights: list[int]) -> None:
    shares = built(policy.name, fleet(weights)).shares()
    assert len(shares) == len(weights)
    assert math.isclose(sum(shares), 1.0, abs_tol=1e-12)
    assert min(shares) >= 0.0


@ALL
def test_the_same_seed_gives_the_same_picks(policy: Policy) -> None:
    peers = fleet(WEIGHTS)
    assert drawn(built(policy.name, peers, seed=7), 600) == drawn(built(policy.name, peers, seed=7), 600)


@ALL
def test_peers_that_are_all_of_weight_zero_count_as_one_each(policy: Policy) -> None:
    peers, ones = fleet([0, 0, 0]), fleet([1, 1, 1])
    assert built(policy.name, peers).shares() == built(policy.name, ones).shares()
    assert len(drawn(built(policy.name, peers), 300)) == 300


@ALL
def test_scaling_all_weights_changes_nothing(policy: Policy) -> None:
    small, large = fleet(WEIGHTS), fleet(weight * 1000 for weight in WEIGHTS)
    assert [peer.instance.key for peer in drawn(built(policy.name, small), 500)] == [
        peer.instance.key for peer in drawn(built(policy.name, large), 500)
    ]


@ALL
@pytest.mark.parametrize("every", [1, 2, 3, 50, 5000])
def test_shares_survive_a_rebuild_every_few_picks(policy: Policy, every: int) -> None:
    peers, rng = fleet(WEIGHTS), Random(11)
    counts: Counter[Peer] = Counter()
    total = 10_000
    for _ in range(total // every):
        picker = policy.build(peers, rng)
        counts.update(picker.pick(ANY) for _ in range(every))
        picker.retire()
    shares = policy.build(peers, rng).shares()
    if policy.expectation in (Expectation.SINGLE, Expectation.SEQUENCE):
        assert all(abs(counts[peer] - total * share) <= 1.3 for peer, share in zip(peers, shares, strict=True))
    else:  # random starts lean neither way: a chi-square of them is no larger than that of independent draws
        assert p_value(_chi2(counts, peers, shares, total), len(peers) - 1) > 1e-6


@ALL
@SIZES
def test_counts_are_as_close_to_the_shares_as_the_policy_says(policy: Policy, size: int) -> None:
    peers = fleet(Random(size).choices(range(1, 12), k=size))
    picker = built(policy.name, peers, seed=5)
    shares, bound = picker.shares(), picker.bound()
    total = 20_000
    if policy.expectation is Expectation.MULTINOMIAL:
        counts = Counter(drawn(picker, total))
        assert bound == math.inf
        assert size == 1 or p_value(_chi2(counts, peers, shares, total), size - 1) > 1e-6
        return
    running: Counter[Peer] = Counter()
    for picks in range(1, 1000):
        running[picker.pick(ANY)] += 1
        worst = max(abs(running[peer] - picks * share) for peer, share in zip(peers, shares, strict=True))
        assert worst <= bound + 1e-9


def _chi2(counts: Counter[Peer], peers: list[Peer], shares: object, total: int) -> float:
    assert isinstance(shares, list)
    return float(sum((counts[p] - total * s) ** 2 / (total * s) for p, s in zip(peers, shares, strict=True)))
