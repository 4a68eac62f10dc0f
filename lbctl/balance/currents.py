"""Smooth weighted round robin among takers that come and go, and keep their current weights, without a look at each.

A selection makes everybody grow by its weight, so selections are counted, and ``standing`` is a taker's current weight
without what they made it grow: only who comes, goes or pays is touched. All of one weight grow alike and stand in one
row, in order. Where rows are many, only those at or above a bar are compared: after how many selections a row will have
grown up to the bar is known, and it sleeps until then. The bar is laid anew when no row is above it, or too many are.

Numbers are whole: weights and current weights times the number of takers, the latter less the taker's index, so that
the greatest is also the first of equals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

_FEW: Final = 32  # rows: they are all compared
_ABOVE: Final = 2  # rows that a new bar leaves above it
_MANY: Final = 10  # rows above the bar
_LOWEST: Final = -(1 << 200)  # below all current weights


class Taker:
    """Who takes turns; outside of any round ``standing`` is its current weight."""

    __slots__ = ("growth", "index", "standing")

    def __init__(self, index: int, growth: int, standing: int) -> None:
        self.index = index
        self.growth = growth
        self.standing = standing


class Currents:
    """Those who take part in the same selections; ``total`` is what they all grow by."""

    __slots__ = ("_asleep", "_awake", "_bar", "_best", "_rows", "_takers", "selections", "total")

    def __init__(self, takers: Sequence[Taker]) -> None:
        self.total = 0
        self.selections = 0
        self._takers = takers  # all there are, by index
        self._rows: dict[int, list[int]] = {}
        self._best = 0
        self._bar = _LOWEST
        self._awake: set[int] = set()  # rows that may be above the bar; some may be gone
        self._asleep: list[tuple[int, int]] = []  # a heap: the selection at which a row wakes up

    def add(self, taker: Taker) -> None:
        """This one takes part from now on."""
        growth = taker.growth
        standing = taker.standing = taker.standing - self.selections * growth
        row = self._rows.get(growth)
        if row is None:
            self._rows[growth] = [standing]
        else:
            insort(row, standing)
        self._awake.add(growth)
        self.total += growth

    def remove(self, taker: Taker) -> None:
        """This one takes part no longer."""
        growth, row = taker.growth, self._rows[taker.growth]
        del row[bisect_left(row, taker.standing)]
        if not row:
            del self._rows[growth]
        taker.standing += self.selections * growth
        self.total -= growth

    def grow(self) -> int:
        """Begin a selection: everybody grows. Returns the greatest current weight, times the number of takers."""
        count = self.selections = self.selections + 1
        greatest = _LOWEST
        for growth, row in self._rows.items() if len(self._rows) <= _FEW else self._highest():
            current = row[-1] + count * growth
            if current > greatest:
                greatest, self._best = current, growth
        return greatest

    def turn(self) -> Taker:
        """Make a selection: the one with the greatest current weight pays what all grew by."""
        self.grow()
        row = self._rows[self._best]
        standing = row.pop()
        insort(row, standing - self.total)
        taker = self._takers[-standing % len(self._takers)]
        taker.standing = standing - self.total
        return taker

    def best(self) -> Taker:
        """Return the one with the greatest current weight, as it just has grown."""
        return self._takers[-self._rows[self._best][-1] % len(self._takers)]

    def pay(self, price: int) -> None:
        """Let it pay."""
        row = self._rows[self._best]
        standing = row.pop()
        insort(row, standing - price)
        self._takers[-standing % len(self._takers)].standing = standing - price

    def undo(self) -> None:
        """Nothing has come of the selection, for which nobody has paid."""
        self.selections -= 1

    def current(self, taker: Taker) -> int:
        """Return the current weight of one who takes part."""
        return taker.standing + self.selections * taker.growth

    def _highest(self) -> Iterable[tuple[int, list[int]]]:
        """Return the rows above the bar, the highest of all among them."""
        rows, awake, asleep, count, bar = self._rows, self._awake, self._asleep, self.selections, self._bar
        while asleep and asleep[0][0] <= count:
            awake.add(heappop(asleep)[1])
        above = []
        for growth in [*awake]:
            row = rows.get(growth)
            if row and row[-1] + count * growth >= bar:
                above.append((growth, row))
                continue
            awake.remove(growth)
            if row:
                heappush(asleep, (_reaching(bar, row, growth), growth))
        return above if 0 < len(above) <= _MANY else self._lay_bar()

    def _lay_bar(self) -> Iterable[tuple[int, list[int]]]:
        """Have a few rows above the bar, and return them."""
        count = self.selections
        ranked = sorted(self._rows.items(), key=lambda each: each[1][-1] + count * each[0], reverse=True)
        above, below = ranked[:_ABOVE], ranked[_ABOVE:]
        growth, row = above[-1]
        bar = self._bar = row[-1] + count * growth
        self._awake = {growth for growth, _ in above}
        self._asleep = [(_reaching(bar, row, growth), growth) for growth, row in below]
        heapify(self._asleep)
        return above


def _reaching(bar: int, row: Sequence[int], growth: int) -> int:
    """The first selection at which a row is not below the bar."""
    return -((row[-1] - bar) // growth)
