from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from xxhash import xxh64_intdigest

from lbctl.balance.hashing.jump import jump
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.balance.policies.jump import Seat, seated
from tests.balance.fleet import VECTORS, Service
from tests.balance.keyed import KEYS, at, hosts, owners, picker


def test_buckets_are_those_of_the_reference() -> None:
    hundred = VECTORS["jump_golden_100"]
    assert [jump(key, hundred["given"]["buckets"]) for key in range(20)] == hundred["expect"]["buckets"]
    misc = VECTORS["jump_golden_misc"]
    found = [jump(int(key), buckets) for key, buckets in misc["given"]["key_buckets"]]
    assert found == misc["expect"]["buckets"]
    growth = VECTORS["jump_growth_1"]
    key = int(growth["given"]["key"], 16)
    assert [jump(key, buckets) for buckets in range(1, 20)] == growth["expect"]["buckets"]


def reference(key: int, buckets: int) -> int:
    """The loop of the paper."""
    bucket, following = -1, 0
    while following < buckets:
        bucket = following
        key = (key * 2862933555777941757 + 1) % 2**64
        following = int((bucket + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return bucket


def test_buckets_agree_with_the_loop_of_the_paper_on_10_000_cases() -> None:
    rng = Random(3)
    for _ in range(10_000):
        key, buckets = rng.getrandbits(64), rng.randrange(1, 2000)
        assert jump(key, buckets) == reference(key, buckets)


def test_one_bucket_more_takes_its_part_and_nothing_else_moves() -> None:
    rng = Random(4)
    keys = [rng.getrandbits(64) for _ in range(5000)]
    for buckets in (1, 2, 9, 50):
        moved = [(jump(key, buckets), jump(key, buckets + 1)) for key in keys]
        changed = [new for old, new in moved if old != new]
        assert set(changed) == {buckets}
        assert len(changed) / len(keys) == pytest.approx(1 / (buckets + 1), abs=0.03)


def test_fresh_backends_have_slots_in_key_order() -> None:
    peers = at(hosts(7))
    made = picker("jump", peers)
    for key in KEYS[:500]:
        assert made.pick(Call(1, key)) is peers[jump(xxh64_intdigest(key), 7)]


@pytest.mark.parametrize("gone", range(6))
def test_a_backend_that_leaves_moves_only_its_own_keys(gone: int) -> None:
    peers = at(hosts(6))
    many = owners(picker("jump", peers))
    few = owners(picker("jump", [peer for place, peer in enumerate(peers) if place != gone]))
    left = peers[gone].instance.address
    assert all(old == new for old, new in zip(many, few, strict=True) if old != left)
    counts = Counter(new for old, new in zip(many, few, strict=True) if old == left)
    assert set(counts) == {*hosts(6)} - {left}
    assert min(counts.values()) > sum(counts.values()) / 10  # spread over all of the others


def test_who_joins_takes_the_slot_that_is_free_and_the_keys_of_who_left() -> None:
    peers = at(hosts(5))
    before = owners(picker("jump", peers))
    gone, stay = peers[2], [*peers[:2], *peers[3:]]
    between = owners(picker("jump", stay))
    (late,) = at(["10.0.9.9:80"])
    after = owners(picker("jump", sorted([*stay, late], key=lambda peer: peer.instance.key)))
    expected = ["10.0.9.9:80" if address == gone.instance.address else address for address in before]
    assert after == expected
    assert between != before


def test_who_joins_a_full_table_takes_keys_of_everybody_and_moves_no_others() -> None:
    peers = at(hosts(5))
    before = owners(picker("jump", peers))
    (late,) = at(["10.0.0.0:80"])  # first in key order, and last in the table
    after = owners(picker("jump", [late, *peers]))
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(changed) == {"10.0.0.0:80"}
    assert len(changed) / len(before) == pytest.approx(1 / 6, abs=0.03)


def test_a_backend_that_was_away_for_a_while_has_its_keys_again() -> None:
    service = Service("jump", A=1, B=1, C=1, D=1)
    balancer = service.balancer
    first = owners(balancer.picker)  # type: ignore[arg-type]
    peer = service.peer("B")
    balancer.mark(peer, ready=False)
    assert owners(balancer.picker) != first  # type: ignore[arg-type]
    balancer.mark(peer, ready=True)
    assert owners(balancer.picker) == first  # type: ignore[arg-type]


def test_slots_are_dealt_anew_when_fewer_than_half_are_taken() -> None:
    peers = at(hosts(8))
    assert seated(peers) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert seated(peers[4:]) == [-1, -1, -1, -1, 0, 1, 2, 3]
    assert seated(peers[5:]) == [0, 1, 2]
    assert [peer.memory for peer in peers[5:]] == [Seat(slot, 3, 1) for slot in range(3)]
    # One that comes back with a seat at the old table is a newcomer.
    assert seated([peers[0], *peers[5:]]) == [1, 2, 3, 0]


def test_no_two_backends_ever_share_a_slot() -> None:
    rng, peers = Random(6), at(hosts(12))
    for _ in range(500):
        present = [peer for peer in peers if rng.random() < 0.7]
        if present:
            slots = seated(present)
            assert sorted(node for node in slots if node >= 0) == list(range(len(present)))
            assert len(slots) <= 2 * len(present) + 12


def test_without_stable_slots_keys_of_everybody_move() -> None:
    peers = at(hosts(6))
    many, few = (owners(picker("jump", each, stable="false")) for each in (peers, [*peers[:2], *peers[3:]]))
    others = [(old, new) for old, new in zip(many, few, strict=True) if old != peers[2].instance.address]
    assert sum(old != new for old, new in others) > len(others) / 4


def test_a_retry_meets_every_backend_before_one_again() -> None:
    peers = at(hosts(6))
    made = picker("jump", peers)
    for key in KEYS[:50]:
        tried: list[Peer] = []
        for _ in peers:
            tried.append(made.pick(Call(1, key, tuple(tried))))
        assert set(tried) == set(peers)


def test_shares_are_even_also_with_slots_that_are_free() -> None:
    peers = at(hosts(10))
    picker("jump", peers)
    left = peers[::2]
    counts = Counter(owners(picker("jump", left), [b"%d" % number for number in range(20_000)]))
    assert all(count == pytest.approx(4000, rel=0.06) for count in counts.values())
