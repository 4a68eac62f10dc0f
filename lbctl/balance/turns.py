"""Ties broken by smooth weighted round robin, nginx's rule, as a kind of level: everybody keeps what it is owed.

At every choice all that are on the level grow by their weight, and the one with the greatest current weight takes the
call and pays the sum. A level counts its choices, and ``standing`` is the current weight less what these made it grow:
so only those who come, go or pay are touched. All of one weight grow alike and stand in one row, in order.

Where rows are many, only those at or above a bar are compared. It is known after how many choices a row will have grown
up to the bar, so the others sleep until then. The bar is laid anew when nobody is above it, or too many are.

Numbers are whole: current weights times the number of peers, less the index, so that the greatest is also the first of
equals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from lbctl.balance.levels import Spot
from lbctl.balance.smooth import settled

_FEW: Final = 8  # rows: they are all compared
_ABOVE: Final = 4  # rows that a new bar leaves above it
_MANY: Final = 16  # rows above the bar
_LOWEST: Final = -(1 << 200)  # below all current weights


class Turns:
    """What the levels of one picker share."""

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
    """The one with the greatest current weight; rows are by what a choice makes them grow."""

    __slots__ = ("_asleep", "_awake", "_bar", "_rows", "_spots", "choices", "is_queued", "key", "total")

    def __init__(self, key: float, spots: Sequence[Spot]) -> None:
        self.key = key
        self.total = 0  # what all here grow by together
        self.is_queued = False
        self.choices = 0
        self._spots = spots
        self._rows: dict[int, list[int]] = {}
        self._bar = _LOWEST
        self._awake: set[int] = set()  # rows that may be above the bar; some may be gone
        self._asleep: list[tuple[int, int]] = []  # a heap: the choice at which a row wakes up

    def add(self, spot: Spot) -> None:
        growth, rows = spot.growth, self._rows
        standing = spot.standing = spot.standing - self.choices * growth
        if growth in rows:
            insort(rows[growth], standing)
        else:
            rows[growth] = [standing]
        self._awake.add(growth)
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
        rows, greatest, best = self._rows, _LOWEST, 0
        for growth, row in rows.items() if len(rows) <= _FEW else self._highest():
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

    def _highest(self) -> Sequence[tuple[int, list[int]]]:
        """Return the rows above the bar, the highest of all among them."""
        rows, awake, asleep, choices, bar = self._rows, self._awake, self._asleep, self.choices, self._bar
        while asleep and asleep[0][0] <= choices:
            awake.add(heappop(asleep)[1])
        above = []
        for growth in [*awake]:
            row = rows.get(growth)
            if row and row[-1] + choices * growth >= bar:
                above.append((growth, row))
                continue
            awake.remove(growth)
            if row:
                heappush(asleep, (_reaching(bar, row, growth), growth))
        return above if 0 < len(above) <= _MANY else self._lay_bar()

    def _lay_bar(self) -> Sequence[tuple[int, list[int]]]:
        """Have a few rows above the bar, and return them."""
        choices = self.choices
        ranked = sorted(self._rows.items(), key=lambda each: each[1][-1] + choices * each[0], reverse=True)
        above, below = ranked[:_ABOVE], ranked[_ABOVE:]
        growth, row = above[-1]
        bar = self._bar = row[-1] + choices * growth
        self._awake = {growth for growth, _ in above}
        self._asleep = [(_reaching(bar, row, growth), growth) for growth, row in below]
        heapify(self._asleep)
        return above


def _reaching(bar: int, row: Sequence[int], growth: int) -> int:
    """The first choice at which a row is not below the bar."""
    return -((row[-1] - bar) // growth)


def _current(spot: Spot) -> int:
    level = spot.level
    assert isinstance(level, Smooth), "turns are taken on levels of their own"
    return spot.standing + level.choices * spot.growth
