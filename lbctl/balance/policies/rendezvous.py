"""Rendezvous, or highest random weight: by key, exact shares by weight.

Every backend has a score for the key, and the greatest takes it:

    score = -w / ln(u)     u in 0..1 from XXH64 of address, a zero byte and key

    backend   w    u of a key   score    of another   score
    a         5    0.60         9.79     0.10         2.17
    b         1    0.93         13.8     0.30         0.83
    c         1    0.20         0.62     0.88         7.82
                                b takes it            c takes it

A backend owns a key with probability w over the sum of all weights. One that
leaves moves only its own keys, to the others in proportion to their weights; a
weight change moves keys only to or from its own backend.

A pick scores all backends, so it costs O(n); the owners of the first 65536
keys are remembered.

dialect=xorshift is go-rendezvous with FNV-1a: the hashes of key and address,
xor, and mixed by shifts and one multiplication; weights are ignored, and of
equal scores the first counts.

A retry goes to the next score: where the key would go without those tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.hashing.functions import WORD, fnv1a, xxh64
from lbctl.balance.hashing.known import Known
from lbctl.balance.hashing.picker import AFFORDABLE, KeyPicker
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option

_MULTIPLIER: Final = 2685821657736338717


@dataclass(frozen=True, slots=True)
class Options:
    """Whose score it is."""

    dialect: str = option("xxh64", "whose score", choices=("xxh64", "xorshift"))


class Rendezvous(KeyPicker):
    """Scores every peer for the key; what a score is, the dialects say."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._known = Known(self._owner)
        self.affordable = max(100, AFFORDABLE // len(peers))  # a key costs a hash for every peer

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        return self.peers[self._known[call.key]]

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self.pick(call)
        scores = self.scores(call.key)
        rows = [(self.peers[node], (f"{scores[node]:g}",)) for node in self.candidates(call.key)]
        of = "of those not tried" if call.tried else "for its key"
        return peer, Why(f"the greatest score {of}", ("score",), tuple(rows))

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        known = self._known
        return [known[key] for key in keys]

    def candidates(self, key: bytes) -> Iterator[int]:
        scores = self.scores(key)
        yield from sorted(range(len(scores)), key=lambda node: (-scores[node], node))

    def scores(self, key: bytes) -> Sequence[float]:
        raise NotImplementedError

    def _owner(self, key: bytes) -> int:
        raise NotImplementedError


class Weighted(Rendezvous):
    """Scores by weight. Among equal weights the greatest hash has the greatest score, so only one needs a logarithm."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._weights = strengths(peers)
        self._labels = [peer.instance.address.encode() + b"\0" for peer in peers]
        alike: dict[float, list[int]] = {}
        for node, weight in enumerate(self._weights):
            alike.setdefault(weight, []).append(node)
        self._alike = [(weight, nodes, [self._labels[node] for node in nodes]) for weight, nodes in alike.items()]

    def scores(self, key: bytes) -> Sequence[float]:
        return [score(weight, xxh64(label + key)) for weight, label in zip(self._weights, self._labels, strict=True)]

    def arcs(self) -> Sequence[float]:
        total = sum(self._weights)
        return [weight / total for weight in self._weights]

    def _owner(self, key: bytes) -> int:
        best, owner = -1.0, 0
        for weight, nodes, labels in self._alike:
            hashes = [xxh64(label + key) for label in labels]
            greatest = max(hashes)
            scored = score(weight, greatest)
            if scored > best:
                best, owner = scored, nodes[hashes.index(greatest)]
        return owner


class Xorshift(Rendezvous):
    """Scores as go-rendezvous has them."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._hashes = [fnv1a(peer.instance.address.encode()) for peer in peers]

    def scores(self, key: bytes) -> Sequence[float]:
        hash_ = fnv1a(key)
        return [mixed(hash_ ^ own) for own in self._hashes]

    def arcs(self) -> Sequence[float]:
        return equal(self.peers)

    def _owner(self, key: bytes) -> int:
        scores = self.scores(key)
        return scores.index(max(scores))


def score(weight: float, hash_: int) -> float:
    """How much a peer of this weight wants the key with this hash of 64 bits."""
    if hash_ < WORD >> 1:
        return -weight / math.log((hash_ + 0.5) / WORD)
    return -weight / math.log1p(-(WORD - hash_ - 0.5) / WORD)  # near 1 a float cannot tell them apart


def mixed(word: int) -> int:
    """Spread a word of 64 bits over all of them."""
    word ^= word >> 12
    word ^= word << 25 & WORD - 1
    word ^= word >> 27
    return word * _MULTIPLIER % WORD


def build(peers: Sequence[Peer], setup: Setup) -> Rendezvous:
    """The picker of the dialect."""
    return Xorshift(peers, setup) if setup.options.dialect == "xorshift" else Weighted(peers, setup)


POLICY = Policy(
    "rendezvous",
    "by the call's key, to the highest score; exact shares by weight",
    Expectation.HASH,
    build,
    options=Options(),
    cost="O(n)",
    keyed=True,
)
