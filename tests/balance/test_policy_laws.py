"""What names, order and units of weight do to every policy: nothing, but what its rule says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Policy
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Endpoint, Instance
from tests.balance.fleet import Service, built, drawn, fleet, letters

ALL = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
WEIGHTS = [5, 1, 1, 3, 10]
# Addresses say whose a key is, or slots that backends keep.
BY_NAME = {"rendezvous", "ring_hash", "consistent_hash", "maglev", "bounded_load", "jump"}
NAMED = BY_NAME | {"aperture"}  # an order of backends that follows from theirs
ABSOLUTE = {"bounded_load", "done_weight"}  # points for each unit of weight; weights of 100 at most
TURNS = (Expectation.SEQUENCE, Expectation.COUNTS)


def places(policy: Policy, peers: list[Peer], picks: int = 400) -> list[int]:
    return [peers.index(peer) for peer in drawn(built(policy.name, peers), picks)]


def renamed(weights: Sequence[int]) -> list[Peer]:
    """A fleet of the same weights in the same order, with other keys and addresses."""
    return [
        Peer(Instance(f"other-{n}", "echo", "seed", Endpoint(f"10.9.{n * 7 % 5}.1", 4000 - n), weight), ready=True)
        for n, weight in enumerate(weights)
    ]


@ALL
def test_names_do_not_matter_but_to_policies_that_hash_them(policy: Policy) -> None:
    if policy.name not in NAMED:
        assert places(policy, fleet(WEIGHTS)) == places(policy, renamed(WEIGHTS))


@ALL
def test_another_order_of_backends_gives_each_what_it_had(policy: Policy) -> None:
    if policy.expectation is Expectation.SINGLE:
        return  # the order is what it goes by
    peers = fleet(WEIGHTS)
    mixed = Random(3).sample(peers, len(peers))
    before, after = built(policy.name, peers), built(policy.name, mixed)
    if policy.name != "hash_mod":  # its owners have numbers, not names
        shares = dict(zip(mixed, after.law().shares, strict=True))
        assert [shares[peer] for peer in peers] == pytest.approx(before.law().shares)
    if policy.name in BY_NAME:
        assert letters(drawn(before, 400)) == letters(drawn(after, 400))
    elif policy.expectation is Expectation.HASH:
        equals = fleet([2] * len(WEIGHTS))
        assert places(policy, equals) == places(policy, Random(3).sample(equals, len(equals)))


@ALL
@pytest.mark.parametrize("factor", [2, 7, 1000])
def test_weights_count_in_proportion(policy: Policy, factor: int) -> None:
    if policy.name in ABSOLUTE:
        return
    plain, scaled = (built(policy.name, fleet([weight * by for weight in WEIGHTS])) for by in (1, factor))
    assert scaled.law().shares == pytest.approx(plain.law().shares)
    assert letters(drawn(scaled, 400)) == letters(drawn(plain, 400))


@ALL
def test_a_weight_is_as_good_as_so_many_backends_of_weight_one(policy: Policy) -> None:
    law = built(policy.name, fleet([4, 2, 1])).law()
    if policy.expectation is Expectation.HASH or law.shares != pytest.approx([4 / 7, 2 / 7, 1 / 7], abs=1e-4):
        return  # keys are many or few, and some policies ignore weights
    ones = built(policy.name, fleet([1] * 7)).law().shares
    assert [sum(ones[:4]), sum(ones[4:6]), ones[6]] == pytest.approx(law.shares, abs=1e-4)
    if policy.expectation in TURNS:
        heavy = Counter(letters(drawn(built(policy.name, fleet([4, 2, 1])), 7000)))
        light = Counter(letters(drawn(built(policy.name, fleet([1] * 7)), 7000)))
        together = [sum(light[letter] for letter in group) for group in ("ABCD", "EF", "G")]
        assert [heavy[letter] for letter in "ABC"] == pytest.approx(together, abs=4)


def harmonic(count: int) -> float:
    return sum(1 / k for k in range(1, count + 1))


GAPS: dict[str, Callable[[int, int, int], float]] = {  # by weight, sum of weights and number of backends
    "round_robin": lambda weight, total, size: size,
    "smooth_wrr": lambda weight, total, size: math.ceil(harmonic(size) * total / weight),
    "edf": lambda weight, total, size: size + total / weight,
    "static_stride": lambda weight, total, size: size * 65535 / (65535 * weight / 100),
    "wrr_plain": lambda weight, total, size: total - weight + 1,
    "wrr_lvs": lambda weight, total, size: 2 * total,
    "iwrr": lambda weight, total, size: 2 * total,
}


@ALL
def test_nobody_waits_longer_for_its_next_pick_than_its_weight_says(policy: Policy) -> None:
    weights, picks = [100, 1, 7, 30], 20_000
    peers = fleet(weights)
    picker = built(policy.name, peers)
    law = picker.law()
    if law.drawn:
        waits = {peer: math.log(1e-6) / math.log1p(-share) for peer, share in zip(peers, law.shares, strict=True)}
    elif policy.expectation in TURNS:
        waits = {peer: GAPS[policy.name](peer.weight, sum(weights), len(weights)) for peer in peers}
    else:
        return
    last = dict.fromkeys(peers, 0)
    for number, peer in enumerate(drawn(picker, picks), start=1):
        assert number - last[peer] <= waits[peer], (peer.instance.key, number)
        last[peer] = number
    assert all(picks - last[peer] <= waits[peer] for peer in peers)


@ALL
def test_the_same_list_again_changes_nothing(policy: Policy) -> None:
    weights = dict(zip("ABCDE", WEIGHTS, strict=True))
    once, again = Service(policy.name, **weights), Service(policy.name, **weights)
    order = ""
    for _ in range(60):
        again.set(**dict(reversed(weights.items())))
        order += again.run(5)
    assert order == once.run(300)
    assert again.balancer.epochs == 0
