from __future__ import annotations

import math
from collections import Counter, deque
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest
from xxhash import xxh64_intdigest

from lbctl.balance.hashing.shuffle import shuffled, twister
from lbctl.balance.keys import parse_source
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning
from lbctl.balance.policies.bounded_load import slots
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.virtual import Modelled, Pace, Virtual
from lbctl.load.admission import trial
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, VECTORS
from tests.balance.keyed import KEYS, at, hosts, owners, picker

if TYPE_CHECKING:
    from lbctl.balance.hashing.picker import KeyPicker

SECOND = 1_000_000_000
FAILED = Reply(Code.UNAVAILABLE)


def send(made: KeyPicker, key: bytes, *tried: Peer, now_ns: int = 1) -> Peer:
    peer = made.pick(Call(now_ns, key, tried))
    peer.picks += 1
    return peer


def end(made: KeyPicker, peer: Peer, reply: Reply = OK, now_ns: int = 2) -> None:
    peer.finished += 1
    assert isinstance(made, Learning)
    made.ended(peer, 1, now_ns, reply)


@pytest.mark.parametrize("case", VECTORS["bounded_load_slots"]["expect"]["cases"])
def test_slots_are_those_of_envoy(case: dict[str, float]) -> None:
    active, factor, part = int(case["overall_active"]), int(case["factor"]), case["norm_weight"]
    assert slots(active + 1, factor, part) == case["slots"]


def test_hosts_are_probed_in_envoys_order() -> None:
    vector = VECTORS["bounded_load_probe_order"]
    for name, order in vector["expect"].items():
        assert shuffled(int(name.removeprefix("seed")), vector["given"]["hosts"]) == order


def test_words_are_those_of_mt19937() -> None:
    """The C++ standard states the 10,000th word of a generator seeded with 5489."""
    rng = twister(5489)
    for _ in range(9999):
        rng.getrandbits(32)
    assert rng.getrandbits(32) == 4123659995


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["1", "1.1", "1.25", "2"])
@pytest.mark.parametrize("weights", [[1] * 5, [3, 1, 1, 7]])
def test_no_pick_leaves_a_backend_above_its_bound(factor: str, weights: list[int]) -> None:
    rng = Random(2)
    peers = at(dict(zip(hosts(len(weights)), weights, strict=True)))
    made = picker("bounded_load", peers, factor=factor)
    flying: deque[Peer] = deque()
    for number in range(4000):
        peer = send(made, b"%d" % rng.randrange(20))
        flying.append(peer)
        m = len(flying)
        bound = math.ceil(Fraction(factor) * m * peer.weight / sum(weights))
        assert peer.in_flight <= bound, number
        while flying and rng.random() < (0.3 if number % 1000 < 500 else 0.6):
            flying.rotate(rng.randrange(len(flying)))
            end(made, flying.popleft())


@pytest.mark.parametrize("factor", ["1", "1.25"])
def test_calls_that_only_begin_leave_everybody_within_the_bound(factor: str) -> None:
    peers = at(hosts(5))
    made = picker("bounded_load", peers, factor=factor)
    for m in range(1, 500):
        send(made, b"one key")
        assert max(peer.in_flight for peer in peers) <= math.ceil(Fraction(factor) * m / 5)


def test_picks_agree_with_the_rule_on_10_000_cases() -> None:
    rng, cases = Random(8), 0
    while cases < 10_000:
        weights = [rng.randrange(1, 4) for _ in range(rng.randrange(1, 7))]
        peers = at(dict(zip(hosts(len(weights)), weights, strict=True)))
        factor = rng.choice(["1", "1.01", "1.3", "2.5", "inf"])
        made = picker("bounded_load", peers, factor=factor, replicas="20")
        plain = picker("consistent_hash", peers, weighted="true", replicas="20")
        flying: list[Peer] = []
        for _ in range(100):
            key = b"%d" % rng.randrange(8)
            m = len(flying) + 1
            way = [peers[node] for node in plain.candidates(key)]
            bounds = {
                peer: m if factor == "inf" else math.ceil(Fraction(factor) * m * peer.weight / sum(weights))
                for peer in peers
            }
            expected = next(peer for peer in way if peer.in_flight < bounds[peer])
            peer = send(made, key)
            assert peer is expected
            flying.append(peer)
            if rng.random() < 0.5:
                end(made, flying.pop(rng.randrange(len(flying))))
            cases += 1


def test_without_a_bound_it_is_the_plain_ring() -> None:
    weights = dict(zip(hosts(4), (1, 2, 3, 1), strict=True))
    made = picker("bounded_load", at(weights), factor="inf")
    keys = [b"%d" % (number % 3) for number in range(300)]
    found = [send(made, key).instance.address for key in keys]
    assert found == owners(picker("consistent_hash", at(weights), weighted="true"), keys)


def test_idle_backends_get_the_keys_that_they_own() -> None:
    made = picker("bounded_load", at(hosts(4)))
    plain = owners(picker("consistent_hash", at(hosts(4)), weighted="true"))
    found = []
    for key in KEYS:
        peer = send(made, key)
        end(made, peer)
        found.append(peer.instance.address)
    assert found == plain


def test_calls_that_were_never_sent_count_no_more_at_the_next_pick() -> None:
    peers = at(hosts(3))
    made = picker("bounded_load", peers)
    for _ in range(60):
        send(made, b"hot").give_back()
    loads = []
    for _ in range(3):
        send(made, b"hot")
        loads.append(sorted(peer.in_flight for peer in peers))
    assert loads == [[0, 0, 1], [0, 1, 1], [0, 1, 2]]  # at most ceil(1.25 m / 3), which is 1, 1 and 2


@pytest.mark.parametrize("probe", ["ring", "envoy"])
def test_calls_in_flight_are_known_whatever_becomes_of_calls(probe: str) -> None:
    """They end, are given back unsent, or go to a backend to try it out."""
    rng, peers = Random(4), at(hosts(5))
    made = picker("bounded_load", peers, probe=probe)
    flying: list[Peer] = []
    for number in range(10_000):
        match rng.choice("ssstbbeee"):
            case "t":
                tried = trial(deque([rng.choice(peers)]))
                assert tried is not None
                flying.append(tried)
            case "b" if flying:
                flying.pop(rng.randrange(len(flying))).give_back()
            case "e" if flying:
                end(made, flying.pop(rng.randrange(len(flying))))
            case _:
                flying.append(send(made, b"%d" % rng.randrange(6)))
                _, why = made.why(Call(1, b"key"))
                assert f"; {len(flying) + 1} in flight with this call" in why.text, number
                peers[0].unannounced()  # why picked, and nothing was sent


def test_a_retry_goes_on_around_the_ring_to_somebody_with_room() -> None:
    peers = at(hosts(4))
    made = picker("bounded_load", peers)
    way = [peers[node] for node in made.candidates(b"key")]
    assert send(made, b"key", way[0]) is way[1]
    assert send(made, b"key", way[0]) is way[2]  # the second is full now
    assert send(made, b"key", *peers) is way[0]


def envoy(key: bytes, owner: Peer, peers: list[Peer], percent: int, weights: list[int]) -> Peer:
    """Envoy's choice: the owner, else the first of a shuffle that is not overloaded, else the least overloaded."""
    m = sum(peer.in_flight for peer in peers) + 1

    def overload(peer: Peer) -> float:
        part = weights[peers.index(peer)] / sum(weights)
        return peer.in_flight / max(1, math.ceil((m * percent + 99) // 100 * part))

    way = [owner, *(peers[node] for node in shuffled(xxh64_intdigest(key), len(peers)) if peers[node] is not owner)]
    return next((peer for peer in way if overload(peer) <= 1), min(way, key=overload))


def test_envoys_way_agrees_with_its_rule_on_10_000_cases() -> None:
    rng, cases = Random(9), 0
    while cases < 10_000:
        weights = [rng.randrange(1, 4) for _ in range(rng.randrange(1, 6))]
        peers = at(dict(zip(hosts(len(weights)), weights, strict=True)))
        percent = rng.choice([100, 125, 150, 200])
        made = picker("bounded_load", peers, factor=str(percent / 100), probe="envoy")
        plain = picker("ring_hash", peers, dialect="envoy", max_ring_size="8388608")
        flying: list[Peer] = []
        for _ in range(200):
            key = b"%d" % rng.randrange(4)
            expected = envoy(key, plain.peers[plain.owners([key])[0]], peers, percent, weights)
            peer = send(made, key)
            assert peer is expected
            flying.append(peer)
            if rng.random() < 0.5:
                end(made, flying.pop(rng.randrange(len(flying))))
            cases += 1


def test_a_hot_key_is_spread_over_as_many_backends_as_its_load_needs() -> None:
    peers = at(hosts(10))
    made = picker("bounded_load", peers, factor="1.25")
    for _ in range(100):
        send(made, b"hot")
    loads = Counter(peer.in_flight for peer in peers)
    assert max(loads) == 13  # ceil(1.25 x 100 / 10)
    assert sum(load * count for load, count in loads.items()) == 100


def test_the_shares_of_its_ring_are_only_a_guide() -> None:
    law = picker("bounded_load", at(hosts(4))).law()
    assert law.shares == picker("consistent_hash", at(hosts(4)), weighted="true").law().shares
    assert (law.drawn, law.bound) == (False, math.inf)


class Slots:
    """Who has how many slots taken, by calls and by failures of the last second."""

    def __init__(self, peers: list[Peer]) -> None:
        self.peers = peers
        self.failures: list[tuple[int, Peer]] = []  # when their slots become free, and whose they are

    def loads(self, now_ns: int) -> dict[Peer, int]:
        kept = Counter(peer for free_ns, peer in self.failures if free_ns > now_ns)
        return {peer: peer.in_flight + kept[peer] for peer in self.peers}

    def failed(self, peer: Peer, now_ns: int) -> None:
        self.failures.append((now_ns + SECOND, peer))


def test_picks_agree_with_the_rule_where_calls_fail_on_10_000_cases() -> None:
    rng, cases = Random(12), 0
    while cases < 10_000:
        weights = [rng.randrange(1, 4) for _ in range(rng.randrange(1, 7))]
        peers = at(dict(zip(hosts(len(weights)), weights, strict=True)))
        factor = rng.choice(["1", "1.25", "2.5"])
        made = picker("bounded_load", peers, factor=factor, replicas="20")
        plain = picker("consistent_hash", peers, weighted="true", replicas="20")
        flying, slots, now_ns = list[Peer](), Slots(peers), 0
        for _ in range(200):
            now_ns += rng.randrange(1, 10) * SECOND // 60  # further apart than failures that share an entry
            key, loads = b"%d" % rng.randrange(8), slots.loads(now_ns)
            m = sum(loads.values()) + 1
            bounds = {peer: math.ceil(Fraction(factor) * m * peer.weight / sum(weights)) for peer in peers}
            way = [peers[node] for node in plain.candidates(key)]
            expected = next(peer for peer in way if loads[peer] < bounds[peer])
            peer = send(made, key, now_ns=now_ns)
            assert peer is expected
            assert loads[peer] + 1 <= bounds[peer]
            flying.append(peer)
            for _ in range(min(rng.randrange(3), len(flying))):
                ended, reply = flying.pop(rng.randrange(len(flying))), rng.choice([OK, FAILED])
                end(made, ended, reply, now_ns)
                if reply is FAILED:
                    slots.failed(ended, now_ns)
            cases += 1


def test_a_backend_that_fails_is_full_with_as_many_kept_slots_as_may_be_in_flight() -> None:
    peers = at(hosts(5))
    made = picker("bounded_load", peers)
    other = next(b"%d" % number for number in range(99) if made.owners([b"%d" % number]) != made.owners([b"key"]))
    owner = peers[made.owners([b"key"])[0]]
    for _ in range(19):
        flown = send(made, other, owner)
        assert flown is not owner
    found = []
    for _ in range(10):
        peer = send(made, b"key", now_ns=SECOND)
        found.append(peer is owner)
        end(made, peer, FAILED if peer is owner else OK, now_ns=SECOND)
    assert found == [True] * 7 + [False] * 3  # ceil(1.25 x 27 / 5) is 7
    assert send(made, b"key", now_ns=2 * SECOND - 1) is not owner
    assert send(made, b"key", now_ns=2 * SECOND) is owner  # a second after it failed


def test_why_counts_kept_slots() -> None:
    peers = at(hosts(2))
    made = picker("bounded_load", peers)
    owner = peers[made.owners([b"key"])[0]]
    for _ in range(2):
        end(made, send(made, b"key"), FAILED)
    peer, why = made.why(Call(3, b"key"))
    assert peer is not owner
    assert why.text == "1 before it full or tried; 3 in flight with this call"
    assert why.rows == ((owner, ("2", "2")), (peer, ("0", "2")))  # ceil(1.25 x 3 / 2)


def test_without_the_penalty_and_for_the_callers_faults_no_slot_is_kept() -> None:
    for options, reply in [({"failure_penalty": "0s"}, FAILED), ({}, Reply(Code.NOT_FOUND))]:
        peers = at(hosts(3))
        made = picker("bounded_load", peers, **options)
        first = send(made, b"key")
        for _ in range(50):
            end(made, first, reply)
            assert send(made, b"key") is first


def test_kept_slots_outlive_the_picker() -> None:
    peers = at(hosts(3))
    made = picker("bounded_load", peers)
    owner = send(made, b"key")
    end(made, owner, FAILED, now_ns=5)
    made.retire()
    after = picker("bounded_load", peers)
    assert send(after, b"key", now_ns=6) is not owner  # it has 1 of ceil(1.25 x 2 / 3)
    assert send(after, b"key", now_ns=6) is owner  # 1 of ceil(1.25 x 3 / 3)


BROKEN = 2  # which of five fails, in a tenth of a millisecond; the others take 20 ms
PACES = pytest.mark.parametrize("pace", [Pace(20), Pace(100), Pace(gap_ns=SECOND // 1000)], ids=str)


def share_of_broken(pace: Pace, **options: str) -> tuple[float, float]:
    """The part of 10,000 calls that it got, and its part of the ring."""
    peers = at(hosts(5))
    backends = [
        Modelled(peer.instance, [20_000_000], [1], float(node == BROKEN), 100_000) for node, peer in enumerate(peers)
    ]
    keys = parse_source("uniform(100000)").keys(Random(5))
    virtual = Virtual(POLICIES["bounded_load"].with_options(options), backends, pace, Random(6), keys)
    picks = Counter(peer.instance.address for peer in virtual.run(10_000))
    return picks[peers[BROKEN].instance.address] / 10_000, picker("bounded_load", peers, **options).arcs()[BROKEN]


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["ring", "envoy"])
@PACES
def test_a_backend_that_fails_at_once_gets_less_than_its_part_of_the_ring(pace: Pace, probe: str) -> None:
    share, part = share_of_broken(pace, probe=probe)
    assert share < part / 8  # 7 or 8 calls a second of 1000 or 5000; the first thousand begin with all it may have


@PACES
def test_without_the_penalty_it_attracts_the_keys_of_others(pace: Pace) -> None:
    share, part = share_of_broken(pace, failure_penalty="0s")
    assert share > 1.5 * part
