"""Ties broken by smooth weighted round robin, nginx's rule, as a kind of level: everybody keeps what it is owed.

At every choice all that are on the level grow by their weight, and the one with the greatest current weight takes the
call and pays the sum. A level counts its choices, and ``standing`` is the current weight less what these made it grow:
so only those who come, go or pay are touched. All of one weight grow alike and stand in one row, in order. A few who
have come to an empty level have no rows: they grow one by one.

Where rows are many, they are ranked by what they had at some choice. Nobody grows by more than the greatest weight, so
it is enough to look at the first few, until the next could not have caught up with the best of these. With every choice
these are more, so after as many looks as there are rows they are ranked anew.

Numbers are whole: current weights times the number of peers, plus how many come later, so that the greatest is also the
first of equals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

from lbctl.balance.levels import Level, Spot
from lbctl.balance.smooth import settled

_SOME: Final = 5  # who have come: rows do not pay
_FEW: Final = 24  # rows, at which ranking them does not pay
_LOWEST: Final = -(1 << 200)  # below all current weights


class Turns:
    """What the levels of one picker share."""

    def __init__(self, spots: Sequence[Spot], owed: Sequence[float]) -> None:
        self.spots = spots
        self._from_last = spots[::-1]
        self._sum = sum(spot.chance for spot in spots)
        self._most = max(spot.chance for spot in spots) * len(spots)
        opening = settled(owed, [spot.chance for spot in spots])
        for spot, credit in zip(spots, opening, strict=True):
            spot.growth = spot.chance * len(spots)
            spot.standing = round(credit * self._sum) * len(spots) + len(spots) - 1 - spot.index

    def level(self, key: float) -> Smooth:
        return Smooth(key, self._from_last, self._most)

    def credits(self) -> list[float]:
        """The picks that everybody is owed, for who comes after."""
        size = len(self.spots)
        return [_current(spot) // size / self._sum for spot in self.spots]


class Smooth(Level):
    """The one with the greatest current weight; rows are by what a choice makes them grow."""

    __slots__ = (
        "_from_last",
        "_looks",
        "_many",
        "_most",
        "_one",
        "_ranked",
        "_rows",
        "_since",
        "_size",
        "_sum",
        "choices",
    )

    def __init__(self, key: float, from_last: Sequence[Spot], most: int) -> None:
        super().__init__(key)
        self.choices = 0  # since nobody was here
        self._from_last = from_last
        self._size = len(from_last)
        self._most = most  # what a choice makes anybody grow
        self._sum = 0  # what all who are not fresh grow by together
        self.others = self._rows = dict[int, list[int]]()
        self._one = 0  # the growth of the only row, when somebody came last
        self._many = False  # rows, then
        self._ranked: list[tuple[int, int]] = []  # of every row what it was not above then, and its growth
        self._since = 0  # the choice at which they were ranked
        self._looks = 0  # at rows since then

    def drop(self, spot: Spot) -> None:
        growth, standing = spot.growth, spot.standing
        row = self._rows[growth]
        del row[bisect_left(row, standing)]
        if not row:
            del self._rows[growth]
        spot.standing = standing + self.choices * growth
        self._sum -= growth

    def pop(self) -> Spot:
        fresh, rows = self.fresh, self._rows
        if fresh:
            if not rows and len(fresh) <= _SOME:
                return self._pop_fresh()
            self._place()
        choices = self.choices = self.choices + 1
        best = self._one
        if best:
            row = rows[best]
            greatest = row[-1] + choices * best
        else:
            greatest, best = self._highest_ranked() if self._many else self._highest()
            row = rows[best]
        row.pop()
        if not row:
            del rows[best]
            if not rows:
                self.choices, self._many = 0, False  # small numbers are quicker
        spot, total = self._from_last[greatest % self._size], self._sum
        spot.standing = greatest - total
        self._sum = total - best
        return spot

    def undo(self, spot: Spot) -> None:
        self.choices -= 1
        spot.standing += self._sum
        for other in self.fresh:  # they are if it was of them
            spot.standing += other.growth
            other.standing -= other.growth

    def _pop_fresh(self) -> Spot:
        """Choose one of some who are all fresh, and stay so."""
        fresh, total, greatest = self.fresh, 0, _LOWEST
        for spot in fresh:
            growth = spot.growth
            total += growth
            grown = spot.standing = spot.standing + growth
            if grown > greatest:
                greatest, chosen = grown, spot
        chosen.standing = greatest - total
        del fresh[chosen]
        return chosen

    def _place(self) -> None:
        """Put who is fresh into the rows."""
        rows, choices, total = self._rows, self.choices, self._sum
        if not self._many:
            self._ranked.clear()
        for spot in self.fresh:
            growth = spot.growth
            standing = spot.standing = spot.standing - choices * growth
            total += growth
            if growth in rows:
                insort(rows[growth], standing)
            else:
                rows[growth] = [standing]
            if self._ranked:
                insort(self._ranked, (standing + self._since * growth, growth))
        self._sum = total
        self._one = growth if len(rows) == 1 else 0
        self._many = len(rows) > _FEW
        self.fresh.clear()

    def _highest(self) -> tuple[int, int]:
        """Return the greatest current weight, and its row."""
        choices, greatest, best = self.choices, _LOWEST, 0
        for growth, row in self._rows.items():
            grown = row[-1] + choices * growth
            if grown > greatest:
                greatest, best = grown, growth
        return greatest, best

    def _highest_ranked(self) -> tuple[int, int]:
        """The same of many rows."""
        rows, choices = self._rows, self.choices
        if not self._ranked or self._looks > len(rows):
            self._rank()
        ranked, since = self._ranked, self._since
        slack = (choices - since) * self._most
        greatest, best = _LOWEST, 0
        at = place = len(ranked)
        for known, growth in reversed(ranked):
            if known + slack < greatest:
                break
            at -= 1
            if growth in rows:
                grown = rows[growth][-1] + choices * growth
                if grown > greatest:
                    greatest, best, place = grown, growth, at
        self._looks += len(ranked) - at
        del ranked[place]
        row = rows[best]
        if len(row) > 1:
            insort(ranked, (row[-2] + since * best, best))
        return greatest, best

    def _rank(self) -> None:
        since = self._since = self.choices
        self._ranked = sorted([(row[-1] + since * growth, growth) for growth, row in self._rows.items()])
        self._looks = 0


def _current(spot: Spot) -> int:
    level = spot.level
    assert isinstance(level, Smooth), "turns are taken on levels of their own"
    return spot.standing if spot in level.fresh else spot.standing + level.choices * spot.growth
