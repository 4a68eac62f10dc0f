"""How ties between equally loaded peers are broken, as kinds of levels: in order, in turn, by chance, by smooth WRR.

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
from typing import Final

from lbctl.balance.levels import Level, Spot
from lbctl.balance.smooth import settled

_LEAST: Final = -(1 << 200)  # below all current weights


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


class Turns:
    """What the levels of one picker share to take turns by smooth weighted round robin, nginx's rule.

    At every choice all that are on the level grow by their weight, and the chosen one pays the sum. Numbers are whole:
    current weights times the number of peers, less the index, so that the greatest is also the first of equals.
    """

    def __init__(self, spots: Sequence[Spot], owed: Sequence[float]) -> None:
        self.spots = spots
        self._sum = sum(spot.chance for spot in spots)
        opening = settled(owed, [spot.chance for spot in spots])
        for spot, credit in zip(spots, opening, strict=True):
            spot.growth = spot.chance * len(spots)
            spot.standing = round(credit * self._sum) * len(spots) - spot.index

    def level(self, key: float) -> Smooth:
        return Smooth(key, self.spots)

    def credits(self) -> list[float]:
        """The picks that everybody is owed, for who comes after."""
        scale = len(self.spots) * self._sum
        return [(_current(spot) + spot.index) / scale for spot in self.spots]


class Smooth:
    """The one with the greatest current weight.

    A level counts its choices, and ``standing`` is the current weight less what these made it grow: so only those who
    come, go or pay are touched. All of one weight grow alike and stand in one row, in order.
    """

    __slots__ = ("_rows", "_spots", "choices", "is_queued", "key", "total")

    def __init__(self, key: float, spots: Sequence[Spot]) -> None:
        self.key = key
        self.total = 0  # what all here grow by together
        self.is_queued = False
        self.choices = 0
        self._spots = spots
        self._rows: dict[int, list[int]] = {}

    def add(self, spot: Spot) -> None:
        growth, rows = spot.growth, self._rows
        standing = spot.standing = spot.standing - self.choices * growth
        if growth in rows:
            insort(rows[growth], standing)
        else:
            rows[growth] = [standing]
        self.total += growth

    def remove(self, spot: Spot) -> None:
        growth, standing = spot.growth, spot.standing
        row = self._rows[growth]
        if len(row) > 1:
            del row[bisect_left(row, standing)]
        else:
            del self._rows[growth]
        spot.standing = standing + self.choices * growth
        self.total -= growth

    def pop(self) -> Spot:
        choices = self.choices = self.choices + 1
        rows, greatest, best = self._rows, _LEAST, 0
        for growth, row in rows.items():
            grown = row[-1] + choices * growth
            if grown > greatest:
                greatest, best = grown, growth
        row = rows[best]
        if len(row) > 1:
            row.pop()
        else:
            del rows[best]
        spot = self._spots[-greatest % len(self._spots)]
        spot.standing = greatest - self.total
        self.total -= best
        return spot

    def undo(self, spot: Spot) -> None:
        self.choices -= 1
        spot.standing += self.total


def _current(spot: Spot) -> int:
    level = spot.level
    assert isinstance(level, Smooth), "turns are taken on levels of their own"
    return spot.standing + level.choices * spot.growth
