from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.keys import Keys, parse_source
from lbctl.balance.moved import Moved, moved
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Picker
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import instance
from tests.balance.keyed import at, hosts, picker

MINIMAL = pytest.mark.parametrize("policy", ["consistent_hash", "jump", "rendezvous", "bounded_load"])


def keys(text: str = "uniform(5000)") -> Keys:
    return parse_source(text).keys(Random(1), b"alice")


def compared(policy: str, before: Sequence[Peer], after: Sequence[Peer], source: Keys | None = None) -> Moved:
    source = source or keys()
    found = moved(picker(policy, before, source), picker(policy, after, source), source)
    assert found is not None
    return found


@MINIMAL
def test_who_leaves_or_joins_moves_what_has_to_move_and_nothing_else(policy: str) -> None:
    peers = at(hosts(5))
    leaving = compared(policy, peers, [*peers[:2], *peers[3:]])
    assert leaving.moved == leaving.needed
    assert leaving.moved == pytest.approx(1 / 5, abs=0.1)
    joining = compared(policy, peers[:4], peers)
    assert joining.moved == joining.needed
    assert joining.moved == pytest.approx(1 / 5, abs=0.1)


def test_a_modulo_moves_most_keys_for_nothing() -> None:
    peers = at(hosts(10))
    found = compared("hash_mod", peers, peers[:9])
    assert found.moved == pytest.approx(0.9, abs=0.02)
    assert found.needed == pytest.approx(0.1, abs=0.02)
    assert str(found) == f"keys: {found.moved:.1%} moved, {found.needed:.1%} had to"


def test_grpcs_ring_moves_more_than_it_has_to_where_its_size_changes() -> None:
    peers = at(hosts(10))
    found = compared("ring_hash", peers, peers[:9])
    assert found.moved == pytest.approx(0.17, abs=0.03)
    assert found.needed == pytest.approx(0.10, abs=0.02)


def test_maglev_moves_a_little_more_than_it_has_to() -> None:
    peers = at(hosts(10))
    found = compared("maglev", peers, peers[:9])
    assert found.needed <= found.moved < 1.1 * found.needed


def test_keys_count_by_the_calls_that_carry_them() -> None:
    peers = at(hosts(3))
    source = keys("zipf(2,100)")
    made = picker("rendezvous", peers, source)
    first = made.peers[made.owners([b"key-1"])[0]]
    left = [peer for peer in peers if peer is not first]
    assert compared("rendezvous", peers, left, source).moved > source.population().parts[0]


def test_a_weight_change_has_to_move_what_somebody_gains() -> None:
    peers = at(dict.fromkeys(hosts(4), 2))
    before = picker("rendezvous", peers, keys())
    heavier = at(dict(zip(hosts(4), (6, 2, 2, 2), strict=True)))
    for peer, heavy in zip(peers, heavier, strict=True):
        peer.instance = heavy.instance
    found = moved(before, picker("rendezvous", peers, keys()), keys())
    assert found is not None
    assert found.moved == pytest.approx(found.needed)
    assert found.needed == pytest.approx(6 / 12 - 2 / 8, abs=0.02)


def test_nothing_is_said_where_nobody_owns_keys_or_all_stay_where_they_are() -> None:
    peers = at(hosts(3))
    ring = picker("consistent_hash", peers, keys())
    assert moved(ring, picker("consistent_hash", peers, keys()), keys()) is None
    assert moved(ring, picker("consistent_hash", peers[:2], keys()), None) is None
    balancer = Balancer(POLICIES["round_robin"], Random(1), keys())
    (change,) = [balancer.update([instance("A")])]
    balancer.mark(change.added[0], ready=True)
    assert balancer.picker is not None
    assert moved(balancer.picker, ring, keys()) is None


def test_a_key_that_never_changes_moves_whole_or_not_at_all() -> None:
    peers = at(hosts(3))
    source = keys("meta:user")
    made = picker("consistent_hash", peers, source)
    owner = made.peers[made.owners([b"alice"])[0]]
    assert compared("consistent_hash", peers, [peer for peer in peers if peer is not owner], source).moved == 1.0
    (other, *_) = [peer for peer in peers if peer is not owner]
    assert compared("consistent_hash", peers, [peer for peer in peers if peer is not other], source).moved == 0.0


class Watched:
    """A balancer, and what it said of pickers that took each other's place."""

    def __init__(self, policy: str) -> None:
        self.balancer = Balancer(POLICIES[policy], Random(1), keys())
        self.balancer.on_rebuilt = self._rebuilt
        self.told: list[tuple[int, int]] = []

    def set(self, weights: Mapping[str, int]) -> None:
        for peer in self.balancer.update(instance(key, weight) for key, weight in weights.items()).added:
            self.balancer.mark(peer, ready=True)
        assert self.balancer.picker is not None

    def _rebuilt(self, before: Picker, after: Picker) -> None:
        self.told.append((len(before.law().shares), len(after.law().shares)))


def test_a_balancer_tells_of_pickers_that_take_each_others_place_under_one_policy() -> None:
    watched = Watched("consistent_hash")
    watched.set({"A": 1, "B": 1, "C": 1})
    assert watched.told == []  # the first took nobody's place
    watched.set({"A": 1, "B": 1})
    assert watched.told == [(3, 2)]
    watched.set({"A": 1, "B": 1})
    assert watched.told == [(3, 2)]
    watched.balancer.switch(POLICIES["maglev"])
    assert watched.balancer.picker is not None
    assert watched.told == [(3, 2)]  # another policy owns other keys, which is no news
    watched.set({"A": 1, "B": 1, "D": 1})
    assert watched.told == [(3, 2), (2, 3)]
