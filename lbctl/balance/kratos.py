"""What Kratos's p2c knows of a node, and the weight it makes of that."""

from __future__ import annotations

from bisect import bisect_left
from math import floor, sqrt
from typing import Final

from lbctl.balance.averages import FULL, Averages
from lbctl.balance.peer import Peer
from lbctl.balance.two_choices import NEVER_NS

_SLOTS: Final = 200
_UNKNOWN_ROOT: Final = 100_000  # until the first reply


class Node(Averages):
    """What is known of one peer; a weight stands for ``cache_ns``."""

    __slots__ = ("_begun", "_numbers", "cache_ns", "number", "weighed_ns", "weight")

    zone_ns = 5_000_000

    def __init__(self, lag_ns: int = 0, success: int = FULL, picked_ns: int = NEVER_NS) -> None:
        super().__init__(lag_ns, success, picked_ns)
        self.weight = 0.0
        self.weighed_ns = NEVER_NS
        self.cache_ns = 0
        self.number = 0  # picks
        self._begun: list[int] = []  # when the calls began that have a slot, in that order
        self._numbers: list[int] = []  # theirs; the slot is the rest of it

    def cost(self, peer: Peer, now_ns: int) -> float:
        """Return the weight below 0, so that the higher costs less."""
        if now_ns - self.weighed_ns > self.cache_ns:
            self.weight, self.weighed_ns = self.success * 10_000 / self.load(peer, now_ns), now_ns
        return -self.weight

    def load(self, peer: Peer, now_ns: int) -> int:
        """Return root(latency + 5 ms) x (calls in flight + 1)."""
        begun, lag_ns, root = self._begun, self.lag_ns, self.root
        if begun and now_ns - begun[0] > lag_ns:
            late_ns = self.predicted_ns(peer, now_ns)
            if late_ns > lag_ns:
                root = floor(sqrt(late_ns + self.zone_ns))
        busy = peer.picks - peer.finished + 1 + (self.count and self.at(now_ns))
        return (root if lag_ns else _UNKNOWN_ROOT) * busy

    def predicted_ns(self, peer: Peer, now_ns: int) -> int:
        """Return the mean age of the calls that are late, where they are the majority; else 0."""
        begun, latest_ns = self._begun, now_ns - self.lag_ns
        untold = len(begun) - (peer.picks - peer.finished)
        if untold > 0:  # the end of one that was given back is never told
            del begun[:untold], self._numbers[:untold]
        if not begun or begun[len(begun) >> 1] >= latest_ns:
            return 0
        late = bisect_left(begun, latest_ns)
        return (late * now_ns - sum(begun[:late])) // late if late > 1 else now_ns - begun[0]

    def picked(self, now_ns: int) -> None:
        self.picked_ns = now_ns
        self.number = number = self.number + 1
        numbers = self._numbers
        if not numbers or number - numbers[0] < _SLOTS or self._has_free(number):
            self._begun.append(now_ns)
            numbers.append(number)

    def _has_free(self, number: int) -> bool:
        """Whether this one's slot is free."""
        return all((number - other) % _SLOTS for other in self._numbers)

    def ended(self, begun_ns: int, took_ns: int, success: int, now_ns: int, decay_ns: int) -> None:
        begun = self._begun
        if begun and begun[0] == begun_ns:  # mostly it is the oldest one
            del begun[0], self._numbers[0]
        else:
            place = bisect_left(begun, begun_ns)
            if begun[place : place + 1] == [begun_ns]:
                del begun[place], self._numbers[place]
        Averages.ended(self, begun_ns, took_ns, success, now_ns, decay_ns)

    def figures(self, peer: Peer, now_ns: int) -> tuple[str, ...]:
        return *super().figures(peer, now_ns)[:-1], f"{self.weight:.1f}"
