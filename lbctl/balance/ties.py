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
from math import inf, log2
from operator import attrgetter
from typing import Final

from lbctl.balance.levels import Level, Spot

_SHORT: Final = 128  # a line in which everybody may stand
_FAR: Final = -64.0  # from 0, numbers are too coarse for the waits of the heaviest
_END: Final = attrgetter("waits_until")


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

    Where they are many, a quarter of them stand in line: those whose turn comes next. Times are negative, so that the
    first of the line is at its end.
    """

    __slots__ = ("_away", "_back", "_ends", "_line", "_longest", "_present", "_waits")

    def __init__(self, key: float, waits: Iterator[float]) -> None:
        super().__init__(key)
        self._waits = waits
        self._present = 0.0
        self.others = self._ends = list[float]()
        self._line: list[Spot] = []  # whose ends these are; empty only if nobody is away
        self._longest = _SHORT
        self._away: dict[Spot, None] = {}
        self._back = -inf  # whose end is before this is away

    def drop(self, spot: Spot) -> None:
        if spot in self._away:
            del self._away[spot]
            return
        ends, line = self._ends, self._line
        at = bisect_left(ends, spot.waits_until)
        while line[at] is not spot:
            at += 1
        del ends[at], line[at]
        if not ends and self._away:
            self._line_up()

    def pop(self) -> Spot:
        ends, line = self._ends, self._line
        if self.fresh:
            if self._present < _FAR:
                self._begin_anew()
            present, waits, back = self._present, self._waits, self._back
            for spot in self.fresh:
                end = spot.waits_until = present + next(waits) / spot.chance
                if end < back:
                    self._away[spot] = None
                    continue
                at = bisect_left(ends, end)
                ends.insert(at, end)
                line.insert(at, spot)
            self.fresh.clear()
            if not ends or len(ends) > self._longest:
                self._line_up()
        self._present = ends.pop()
        chosen = line.pop()
        if not ends and self._away:
            self._line_up()
        return chosen

    def _begin_anew(self) -> None:
        """Let the present be 0."""
        present, self._present = self._present, 0.0
        for spot in (*self._away, *self._line):
            spot.waits_until -= present
        self._ends[:] = map(_END, self._line)
        self._back -= present

    def _line_up(self) -> None:
        """Have a quarter of all in line, or some dozens."""
        everybody = sorted(self._away, key=_END) + self._line
        length = max(_SHORT // 2, len(everybody) // 4)
        self._away = dict.fromkeys(everybody[:-length])
        self._line[:] = everybody[-length:]
        self._ends[:] = map(_END, self._line)
        self._longest = 2 * length
        self._back = self._ends[0] if self._away else -inf


def drawn(chances: Sequence[int], random: Callable[[], float]) -> Callable[[float], Level]:
    """Return what makes levels that draw, for peers of these weights."""
    if len(set(chances)) == 1:
        return lambda key: Even(key, random)
    waits = map(log2, filter(None, starmap(random, repeat(()))))  # in units of their own, which is all the same
    return lambda key: Drawn(key, waits)
