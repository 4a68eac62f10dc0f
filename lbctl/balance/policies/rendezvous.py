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

A pick hashes the key once for every backend, so it costs O(n), but takes the
logarithm only where the hash is high enough to win, of ln n + 1 or so; the
owners of the first 65536 keys are remembered.

dialect=xorshift is go-rendezvous with FNV-1a: the hashes of key and address,
xor, and mixed by shifts and one multiplication; weights are ignored, and of
equal scores the first counts.

A retry goes to the next score: where the key would go without those tried.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, log1p
from typing import Final

from lbctl.balance.hashing.functions import WORD, fnv1a, xxh64
from lbctl.balance.hashing.known import Remembering
from lbctl.balance.hashing.picker import AFFORDABLE
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option

_MULTIPLIER: Final = 2685821657736338717
_HALF: Final = WORD >> 1
_WHOLE: Final = float(WORD)
_SLACK: Final = 1e-9  # far more than floats err


@dataclass(frozen=True, slots=True)
class Options:
    """Whose score it is."""

    dialect: str = option("xxh64", "whose score", choices=("xxh64", "xorshift"))


class Rendezvous(Remembering):
    """Scores every peer for the key; what a score is, the dialects say."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self.affordable = max(100, AFFORDABLE // len(peers))  # a key costs a hash for every peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self.pick(call)
        scores = self.scores(call.key)
        rows = [(self.peers[node], (f"{scores[node]:g}",)) for node in self.candidates(call.key)]
        of = "of those not tried" if call.tried else "for its key"
        return peer, Why(f"the greatest score {of}", ("score",), tuple(rows))

    def candidates(self, key: bytes) -> Iterator[int]:
        scores = self.scores(key)
        yield from sorted(range(len(scores)), key=lambda node: (-scores[node], node))

    @abstractmethod
    def scores(self, key: bytes) -> Sequence[float]:
        """The score of every peer for the key."""


class Weighted(Rendezvous):
    """Scores by weight.

    The greatest score is nearly always above W / (ln n + 1), where W is the sum of all weights; only the 1 / en of the
    keys for which it is not have all their scores computed. Who has more than that has a hash above a figure of its
    own, so that few hashes need a logarithm.
    """

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._weights = weights = strengths(peers)
        self._labels = labels = [peer.instance.address.encode() + b"\0" for peer in peers]
        self._enough = sum(weights) / (log(len(peers)) + 1)
        above = [hash_of(weight, self._enough) for weight in weights]
        self._rows = [*zip(labels, above, weights, range(len(peers)), strict=True)]

    def scores(self, key: bytes) -> Sequence[float]:
        return [score(weight, xxh64(label + key)) for weight, label in zip(self._weights, self._labels, strict=True)]

    def arcs(self) -> Sequence[float]:
        total = sum(self._weights)
        return [weight / total for weight in self._weights]

    def owner(self, key: bytes) -> int:
        best, owner = self._enough, -1
        for label, above, weight, node in self._rows:
            hash_ = xxh64(label + key)
            if hash_ > above:
                scored = score(weight, hash_)
                if scored > best:
                    best, owner = scored, node
        return owner if owner >= 0 else first_of(self.scores(key))


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

    def owner(self, key: bytes) -> int:
        return first_of(self.scores(key))


def first_of(scores: Sequence[float]) -> int:
    """Who has the greatest score; of equals the first."""
    return scores.index(max(scores))


def score(weight: float, hash_: int) -> float:
    """How much a peer of this weight wants the key with this hash of 64 bits."""
    if hash_ < _HALF:
        return -weight / log((hash_ + 0.5) / _WHOLE)
    return -weight / log1p((hash_ - WORD + 0.5) / _WHOLE)  # near 1 a float cannot tell them apart


def hash_of(weight: float, scored: float) -> int:
    """A hash that a peer of this weight has at most where its score is below; a little less, so that none is missed."""
    return int(_WHOLE * exp(-weight / scored) * (1 - _SLACK)) - 1


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
