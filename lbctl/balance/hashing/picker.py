"""What all pickers by hash key share: who owns a key, what law follows from the keys, and where retries go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Setup, Why

AFFORDABLE = 100_000  # keys whose owners a rebuild may look up, some 30 ms


class KeyPicker(ABC):
    """Picks the owner of a call's key. Peers are known by their number in the set.

    A retry that is to go elsewhere is counted, but no verdict is made of it: only first attempts obey the law.
    """

    affordable: int = AFFORDABLE

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self.peers = peers
        self._keys: Keys | None = setup.keys
        self._law: Law | None = None

    @abstractmethod
    def pick(self, call: Call) -> Peer: ...

    @abstractmethod
    def why(self, call: Call) -> tuple[Peer, Why]: ...

    @abstractmethod
    def owners(self, keys: Sequence[bytes]) -> list[int]:
        """Who owns each of these keys."""

    @abstractmethod
    def candidates(self, key: bytes) -> Iterator[int]:
        """The owner of the key, then who follows where those before were tried; each once."""

    @abstractmethod
    def arcs(self) -> Sequence[float]:
        """The part of all possible keys that each peer owns."""

    def law(self) -> Law:
        """What follows from the keys: a rebuild looks up the owners of as many as it can afford."""
        if self._law is None:
            self._law = self._follows()
        return self._law

    def retire(self) -> None:  # noqa: B027  # so it is for nearly all
        """Leave nothing behind: the owners of keys follow from the set."""

    def _follows(self) -> Law:
        arcs = self.arcs()
        if self._keys is None:
            return Law(arcs)
        population = self._keys.population()
        if not population.whole:
            return Law(arcs, drawn=population.drawn)
        known = population.keys[: self.affordable]
        shares = [0.0] * len(self.peers)
        for owner, part in zip(self.owners(known), population.parts, strict=False):
            shares[owner] += part
        if len(population.keys) == 1:
            return Law(shares, bound=0.0)
        if len(known) == len(population.keys):
            return Law(shares, drawn=population.drawn)
        rest = 1.0 - sum(shares)
        return Law([share + rest * arc for share, arc in zip(shares, arcs, strict=True)])

    def _again(self, call: Call) -> Peer:
        """Where a call goes that was sent elsewhere before."""
        peer = self._untried(call)
        peer.belated += 1
        peer.expected += 1.0
        return peer

    def _untried(self, call: Call) -> Peer:
        """The first candidate that the call was not sent to; where it was sent to all, the first."""
        peers, tried = self.peers, call.tried
        first = -1
        for node in self.candidates(call.key):
            if peers[node] not in tried:
                return peers[node]
            first = node if first < 0 else first
        return peers[first]
