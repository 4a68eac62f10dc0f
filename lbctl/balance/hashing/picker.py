"""What all pickers by hash key share: who owns a key, what law follows from the keys, and where retries go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from lbctl.balance.hashing.counted import Counted
from lbctl.balance.keys import Keys, Numbers, Population
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Setup, Why

AFFORDABLE = 100_000  # keys whose owners may be looked up at a time, some 30 ms


class KeyPicker(ABC):
    """Picks the owner of a call's key. Peers are known by their number in the set.

    A retry that is to go elsewhere is counted, but no verdict is made of it: only first attempts obey the law.
    """

    affordable: int = AFFORDABLE

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self.peers = peers
        self._keys: Keys | None = setup.keys
        self._numbered = Counted(setup.keys, peers) if isinstance(setup.keys, Numbers) else None
        self._law: Law | None = None
        self._owned = [0.0] * len(peers)  # the parts of the keys that were looked up
        self._next = 0  # the key to be looked up next, 0 when all are

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
        """What follows from the keys; of very many each call looks up some more, and until then it is a guide."""
        if self._numbered is not None:
            return self._numbered.law(self.owners, self.affordable // 4, self.arcs)
        if self._law is None or self._next:
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
        self._look_up(population)
        if len(population.keys) == 1:
            return Law(self._owned, bound=0.0)
        if not self._next:
            return Law(self._owned, drawn=population.drawn)
        rest = max(0.0, 1.0 - sum(self._owned))
        return Law([owned + rest * arc for owned, arc in zip(self._owned, arcs, strict=True)], partial=True)

    def _look_up(self, population: Population) -> None:
        """Add the keys that come next to what their owners own."""
        start, end = self._next, self._next + self.affordable
        for owner, part in zip(self.owners(population.keys[start:end]), population.parts[start:end], strict=True):
            self._owned[owner] += part
        self._next = end if end < len(population.keys) else 0

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
