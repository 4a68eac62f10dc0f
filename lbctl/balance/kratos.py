"""What Kratos's p2c knows of a node, and the weight it makes of that."""

from __future__ import annotations

from math import sqrt
from typing import Final

from lbctl.balance.ewma import moved
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.two_choices import NEVER_NS

FULL: Final = 1000  # success of a backend whose calls never fail
_SLOTS: Final = 200
_ZONE_NS: Final = 5_000_000  # latencies that differ by less hardly count
_UNKNOWN_ROOT: Final = 100_000  # until the first reply


class Node:
    """What is known of one peer."""

    __slots__ = (
        "_begun",
        "_slots",
        "kept",
        "lag_ns",
        "last_ns",
        "number",
        "picked_ns",
        "success",
        "weighed_ns",
        "weight",
    )

    def __init__(self) -> None:
        self.lag_ns = 0
        self.success = FULL
        self.last_ns = 0  # when a call last ended
        self.picked_ns = NEVER_NS
        self.weight = 0.0
        self.weighed_ns = NEVER_NS
        self.kept = Kept()
        self.number = 0  # picks
        self._slots: dict[int, int] = {}  # when the call in each slot began, in that order
        self._begun: dict[int, list[int]] = {}  # the slots of calls that began at a time

    def weight_at(self, peer: Peer, now_ns: int, cache_ns: int) -> float:
        """Return the weight, which is computed anew when it is older than the cache allows."""
        if now_ns - self.weighed_ns > cache_ns:
            self.weight = self.success * 10_000 / self.load(peer, now_ns)
            self.weighed_ns = now_ns
        return self.weight

    def load(self, peer: Peer, now_ns: int) -> int:
        """Return root(latency + 5 ms) x (calls in flight + 1)."""
        in_flight = peer.in_flight + 1 + self.kept.at(now_ns)
        if not self.lag_ns:
            return _UNKNOWN_ROOT * in_flight
        return int(sqrt(max(self.lag_ns, self.predicted_ns(peer, now_ns)) + _ZONE_NS)) * in_flight

    def predicted_ns(self, peer: Peer, now_ns: int) -> int:
        """Return the mean age of the calls that are late, where they are the majority; else 0."""
        while len(self._slots) > peer.in_flight:  # the end of one that was given back is never told
            oldest = next(iter(self._slots.values()))
            self._vacate(oldest)
        lag_ns = self.lag_ns
        late = [age for begun_ns in self._slots.values() if (age := now_ns - begun_ns) > lag_ns]
        return sum(late) // len(late) if len(late) > len(self._slots) // 2 else 0

    def picked(self, now_ns: int) -> None:
        """A call begins, in a slot if its slot is free."""
        self.picked_ns = now_ns
        self.number += 1
        slot = self.number % _SLOTS
        if slot not in self._slots:
            self._slots[slot] = now_ns
            self._begun.setdefault(now_ns, []).append(slot)

    def ended(self, begun_ns: int, took_ns: int, success: int, now_ns: int, decay_ns: int) -> None:
        """A call ended."""
        self._vacate(begun_ns)
        self.lag_ns, old = moved(self.lag_ns, max(took_ns, 0), now_ns - self.last_ns, decay_ns)
        self.success = int(self.success * old + success * (1.0 - old))
        self.last_ns = now_ns

    def _vacate(self, begun_ns: int) -> None:
        slots = self._begun.get(begun_ns)
        if slots:
            del self._slots[slots.pop(0)]
            if not slots:
                del self._begun[begun_ns]
