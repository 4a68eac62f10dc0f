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
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat, starmap
from math import log2

from lbctl.balance.levels import Level, Spot


class Listed(Level):
    """The first of all."""

    __slots__ = ("members",)

    def __init__(self, key: float) -> None:
        super().__init__(key)
        self.others = self.members = list[tuple[int, Spot]]()

    def drop(self, spot: Spot) -> None:
        del self.members[bisect_left(self.members, (spot.index, spot))]

    def pop(self) -> Spot:
        return self.ordered().pop(0)[1]

    def ordered(self) -> list[tuple[int, Spot]]:
        """Return the members, whom all have joined now."""
        for spot in self.fresh:
            insort(self.members, (spot.index, spot))
        self.fresh.clear()
        return self.members


class Rotating(Level):
    """The one that has waited longest."""

    __slots__ = ("_line",)

    def __init__(self, key: float) -> None:
        super().__init__(key)
        self.fresh = self._line = OrderedDict[Spot, None]()

    def pop(self) -> Spot:
        return self._line.popitem(last=False)[0]


class Even(Level):
    """One by chance, each as likely as any other."""

    __slots__ = ("_members", "_random")

    def __init__(self, key: float, random: Callable[[], float]) -> None:
        super().__init__(key)
        self._random = random
        self.others = self._members = list[Spot]()

    def drop(self, spot: Spot) -> None:
        last = self._members.pop()
        if last is not spot:
            place = last.place = spot.place
            self._members[place] = last

    def pop(self) -> Spot:
        members = self._members
        total = len(members)
        if self.fresh:
            for spot in self.fresh:
                spot.place = total
                total += 1
            members += self.fresh
            self.fresh.clear()
        place = int(self._random() * total)
        chosen, last = members[place], members.pop()
        if last is not chosen:
            last.place = place
            members[place] = last
        return chosen


class Drawn(Level):
    """One by chance and weight.

    Everybody waits for an exponential time with its weight as the rate, and who waits the least is chosen. What the
    others still have to wait is exponential again, so they need not draw anew, and who comes begins at the present.
    """

    __slots__ = ("_ends", "_line", "_present", "_waits")

    def __init__(self, key: float, waits: Iterator[float]) -> None:
        super().__init__(key)
        self._waits = waits  # all times are negative, so that the next to be chosen is the last of the line
        self._present = 0.0
        self.others = self._ends = list[float]()
        self._line: list[Spot] = []

    def drop(self, spot: Spot) -> None:
        at = bisect_left(self._ends, spot.waits_until)
        while self._line[at] is not spot:
            at += 1
        del self._ends[at], self._line[at]

    def pop(self) -> Spot:
        ends, line = self._ends, self._line
        if self.fresh:
            present, waits = self._present, self._waits
            for spot in self.fresh:
                end = spot.waits_until = present + next(waits) / spot.chance
                at = bisect_left(ends, end)
                ends.insert(at, end)
                line.insert(at, spot)
            self.fresh.clear()
        self._present = ends.pop()
        return line.pop()


def drawn(chances: Sequence[int], random: Callable[[], float]) -> Callable[[float], Level]:
    """Return what makes levels that draw, for peers of these weights."""
    if len(set(chances)) == 1:
        return lambda key: Even(key, random)
    waits = map(log2, filter(None, starmap(random, repeat(()))))  # in units of their own, which is all the same
    return lambda key: Drawn(key, waits)
