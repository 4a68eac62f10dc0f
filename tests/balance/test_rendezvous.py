from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from xxhash import xxh64_intdigest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup, equal
from lbctl.balance.policies.rendezvous import Rendezvous, Weighted, hash_of, score
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import VECTORS
from tests.balance.keyed import KEYS, at, hosts, owner, owners, picker

MOST = 65_536  # keys whose owners are remembered, as the policy's page says
DIALECTS = pytest.mark.parametrize("dialect", ["xxh64", "xorshift"])


def test_weighted_scores_decide_as_defined() -> None:
    vector = VECTORS["rendezvous_weighted"]
    made = picker("rendezvous", at(vector["given"]["nodes"]))
    assert [owner(made, key) for key in vector["given"]["keys"]] == vector["expect"]["node"]


def test_xorshift_decides_as_go_rendezvous() -> None:
    vector = VECTORS["rendezvous_fnv_xorshift"]
    made = picker("rendezvous", at(vector["given"]["nodes"]), dialect="xorshift")
    assert [owner(made, key) for key in vector["given"]["keys"]] == vector["expect"]["node"]


def test_owners_agree_with_all_scores_on_10_000_cases() -> None:
    rng, cases = Random(7), 0
    while cases < 10_000:
        weights = {address: rng.randrange(1, 5) for address in hosts(rng.randrange(1, 7))}
        made = picker("rendezvous", at(weights))
        for number in range(100):
            key = f"{cases}-{number}"
            scores = {
                address: -weight / math.log((xxh64_intdigest(f"{address}\0{key}".encode()) + 0.5) / 2**64)
                for address, weight in weights.items()
            }
            assert owner(made, key) == max(scores, key=lambda address: scores[address])
            cases += 1


def test_scores_are_finite_and_grow_with_the_hash_to_its_very_end() -> None:
    hashes = [0, 1, 2**62, 2**63 - 1, 2**63, 2**64 - 2**12, 2**64 - 2, 2**64 - 1]
    scores = [score(3.0, hash_) for hash_ in hashes]
    assert all(math.isfinite(each) and each > 0 for each in scores)
    assert scores == sorted(scores)
    assert len(set(scores[-3:])) == 3
    exact = 3 / float(Fraction(1, 2**65))  # -ln(1 - x) is x, for so small an x
    assert scores[-1] == pytest.approx(exact)


@DIALECTS
def test_who_leaves_moves_only_its_own_keys_to_all_others(dialect: str) -> None:
    addresses = hosts(6)
    many = owners(picker("rendezvous", at(addresses), dialect=dialect))
    for gone in addresses:
        few = owners(picker("rendezvous", at([each for each in addresses if each != gone]), dialect=dialect))
        assert all(old == new for old, new in zip(many, few, strict=True) if old != gone)
        assert {new for old, new in zip(many, few, strict=True) if old == gone} == {*addresses} - {gone}


def test_a_weight_change_moves_keys_only_to_or_from_that_backend() -> None:
    weights = dict.fromkeys(hosts(5), 2)
    chosen = hosts(5)[3]
    before, heavier, lighter = (owners(picker("rendezvous", at(weights | {chosen: weight}))) for weight in (2, 5, 1))
    assert {new for old, new in zip(before, heavier, strict=True) if old != new} == {chosen}
    assert {old for old, new in zip(before, lighter, strict=True) if old != new} == {chosen}


def test_shares_are_those_of_the_weights() -> None:
    weights = dict(zip(hosts(4), (1, 2, 3, 10), strict=True))
    made = picker("rendezvous", at(weights))
    counts = Counter(owners(made, [b"%d" % number for number in range(20_000)]))
    expected = [20_000 * weight / 16 for weight in weights.values()]
    chi2 = sum((counts[address] - each) ** 2 / each for address, each in zip(weights, expected, strict=True))
    assert p_value(chi2, 3) > 1e-6
    assert made.arcs() == [weight / 16 for weight in weights.values()]


@DIALECTS
def test_owners_do_not_depend_on_the_order_of_backends(dialect: str) -> None:
    weights = {address: place % 3 + 1 for place, address in enumerate(hosts(12))}
    shuffled = {address: weights[address] for address in Random(2).sample([*weights], k=12)}
    one, other = (picker("rendezvous", at(each), dialect=dialect) for each in (weights, shuffled))
    assert owners(one) == owners(other)


@DIALECTS
def test_a_retry_goes_where_the_key_would_go_without_those_that_were_tried(dialect: str) -> None:
    addresses = hosts(5)
    made = picker("rendezvous", at(addresses), dialect=dialect)
    for key in KEYS[:50]:
        first = made.pick(Call(1, key))
        left = [address for address in addresses if address != first.instance.address]
        assert owner(made, key, first) == owner(picker("rendezvous", at(left), dialect=dialect), key)


class Asked(Rendezvous):
    """Owners by the length of the key, and which keys were looked up."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self.asked: list[bytes] = []

    def owner(self, key: bytes) -> int:
        self.asked.append(key)
        return len(key)

    def scores(self, key: bytes) -> Sequence[float]:
        return [float(len(key) == node) for node, _ in enumerate(self.peers)]

    def arcs(self) -> Sequence[float]:
        return equal(self.peers)


def test_owners_of_the_first_keys_are_remembered_and_the_others_looked_up() -> None:
    peers = at(hosts(6))
    made = Asked(peers, Setup(Random(1)))
    keys = [b"%d" % number for number in range(MOST + 10)]
    for _ in range(2):
        assert [made.pick(Call(1, key)) for key in keys] == [peers[len(key)] for key in keys]
    assert made.owners(keys[:20]) == [len(key) for key in keys[:20]]
    assert made.asked == [*keys, *keys[MOST:]]


def test_who_wins_by_a_low_score_is_found_as_well() -> None:
    # With two backends no score is above what nearly always suffices for about one key in six.
    made = picker("rendezvous", at(hosts(2)))
    assert isinstance(made, Weighted)
    low = [key for key in KEYS if max(made.scores(key)) < 2 / (math.log(2) + 1)]
    assert len(low) / len(KEYS) == pytest.approx(math.exp(-math.log(2) - 1), abs=0.03)
    assert made.owners(low) == [next(made.candidates(key)) for key in low]


def test_no_hash_of_a_greater_score_is_left_out() -> None:
    rng = Random(8)
    for _ in range(2000):
        weight, scored = rng.randrange(1, 101), 10 ** rng.uniform(-2, 6)
        above = hash_of(weight, scored)
        assert above < 0 or score(weight, above) <= scored
        assert score(weight, min(above + (above >> 25) + 2**20, 2**64 - 1)) > scored
