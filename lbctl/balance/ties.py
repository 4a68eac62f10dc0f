"""How ties between equally loaded peers are broken, as kinds of levels: in order, in turn or by chance.

Listed      the first in key order
Rotating    who came to the level first; being chosen, or any change of load, puts a peer behind the others
Even        by chance, independently each time
Drawn       by chance and weight, independently each time
Smooth      smooth weighted round robin among those on the level, with credits that everybody keeps
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from math import log

from lbctl.balance.levels import Level, Spot


class Listed:
    """The first of all."""

    __slots__ = ("is_queued", "key", "members", "total")

    def __init__(self, key: float) -> None:
        self.key = key
        self.total = 0
        self.is_queued = False
        self.members: list[tuple[int, Spot]] = []

    def add(self, spot: Spot) -> None:
        insort(self.members, (spot.index, spot))
        self.total += 1

    def remove(self, spot: Spot) -> None:
        members = self.members
        del members[bisect_left(members, (spot.index, spot))]
        self.total -= 1

    def pop(self) -> Spot:
        self.total -= 1
        return self.members.pop(0)[1]

    def undo(self, spot: Spot) -> None:
        """Nothing has come of the choice."""


class Rotating:
    """The one that has waited longest."""

    __slots__ = ("_members", "is_queued", "key", "total")

    def __init__(self, key: float) -> None:
        self.key = key
        self.total = 0
        self.is_queued = False
        self._members: OrderedDict[Spot, None] = OrderedDict()

    def add(self, spot: Spot) -> None:
        self._members[spot] = None
        self.total += 1

    def remove(self, spot: Spot) -> None:
        del self._members[spot]
        self.total -= 1

    def pop(self) -> Spot:
        self.total -= 1
        return self._members.popitem(last=False)[0]

    def undo(self, spot: Spot) -> None:
        """Nothing has come of the choice."""


class Even:
    """One by chance, each as likely as any other."""

    __slots__ = ("_members", "_random", "is_queued", "key", "total")

    def __init__(self, key: float, random: Callable[[], float]) -> None:
        self.key = key
        self.total = 0
        self.is_queued = False
        self._random = random
        self._members: list[Spot] = []

    def add(self, spot: Spot) -> None:
        spot.place = self.total
        self._members.append(spot)
        self.total += 1

    def remove(self, spot: Spot) -> None:
        last = self._members.pop()
        if last is not spot:
            place = last.place = spot.place
            self._members[place] = last
        self.total -= 1

    def pop(self) -> Spot:
        spot = self._members[int(self._random() * self.total)]
        self.remove(spot)
        return spot

    def undo(self, spot: Spot) -> None:
        """Nothing has come of the choice."""


class Drawn:
    """One by chance and weight.

    Everybody waits for an exponential time with its weight as the rate, and who waits the least is chosen. What the
    others still have to wait is exponential again, so they need not draw anew, and who comes begins at the present.
    """

    __slots__ = ("_ends", "_present", "_random", "_waiting", "is_queued", "key", "total")

    def __init__(self, key: float, random: Callable[[], float]) -> None:
        self.key = key
        self.total = 0
        self.is_queued = False
        self._random = random
        self._present = 0.0
        self._waiting: dict[float, Spot] = {}
        self._ends: list[float] = []  # of their waits, a heap, and some of those who have gone

    def add(self, spot: Spot) -> None:
        waiting, ends = self._waiting, self._ends
        end = self._present - log(1.0 - self._random()) / spot.chance
        while end in waiting:  # hardly ever
            end = self._present - log(1.0 - self._random()) / spot.chance
        waiting[end] = spot
        spot.waits_until = end
        heappush(ends, end)
        self.total += 1
        if len(ends) > 64 + 3 * self.total:
            ends[:] = waiting
            heapify(ends)

    def remove(self, spot: Spot) -> None:
        del self._waiting[spot.waits_until]
        self.total -= 1

    def pop(self) -> Spot:
        ends, waiting = self._ends, self._waiting
        while True:
            end = heappop(ends)
            if end in waiting:
                self._present = end
                self.total -= 1
                return waiting.pop(end)

    def undo(self, spot: Spot) -> None:
        """Nothing has come of the choice."""


def drawn(chances: Sequence[int], random: Callable[[], float]) -> Callable[[float], Level]:
    """Return what makes levels that draw, for peers of these weights."""
    return partial(Even if len(set(chances)) == 1 else Drawn, random=random)
