"""What follows from keys that count up: which were handed out while a picker lived is known, and so is whose they are.

Every count is then exact, but for the calls whose key and pick fell into the lives of two pickers: those that waited
for a backend, were picked again because nothing was sent, or tried a backend out. They show in the picks, which are
more or fewer than the keys, and each of them may be missing at one backend and too many at another.

    numbers handed out   owned by a b c   picks of a b c   expected   allowed
    50..53               2 1 1            2 1 1            2 1 1      0
    50..53               2 1 1            2 2 1            5/4 x      2 x |5 - 4|
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from lbctl.balance.keys import Numbers
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Law

Owners = Callable[[Sequence[bytes]], Sequence[int]]


class Counted:
    """The keys of one picker, which are those from its beginning on."""

    def __init__(self, numbers: Numbers, peers: Sequence[Peer]) -> None:
        self._numbers = numbers
        self._peers = peers
        self._first = self._next = numbers.coming  # the next is the one to be looked up
        self._before = self._picks()
        self._owned = [0] * len(peers)

    def law(self, owners: Owners, most: int, arcs: Callable[[], Sequence[float]]) -> Law:
        """Look up who owns so many more of the keys; ``arcs`` are supposed of those that are left."""
        coming = self._numbers.coming
        until = min(self._next + most, coming)
        for owner, count in Counter(owners(self._numbers.between(self._next, until))).items():
            self._owned[owner] += count
        self._next = until
        keys, left = coming - self._first, coming - until
        if not keys:
            return Law(arcs(), bound=2.0 * self._picks_since())
        if left:
            return Law(
                [(owned + left * arc) / keys for owned, arc in zip(self._owned, arcs(), strict=True)], partial=True
            )
        return Law([owned / keys for owned in self._owned], bound=2.0 * abs(self._picks_since() - keys))

    def _picks(self) -> int:
        return sum(peer.judged for peer in self._peers)

    def _picks_since(self) -> int:
        return self._picks() - self._before
