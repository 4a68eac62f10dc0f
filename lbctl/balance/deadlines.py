"""Earliest deadline first, in whole numbers: an index is due at every multiple of 1 / weight, the first one goes.

The order of equal deadlines is the rule's: by index, or whoever has waited longer, which is the lighter one. Deadlines
(k - earned) / weight are compared exactly: two different ones lie at least 1 / (Q w w') apart, with Q the common
denominator of what was earned, so their whole parts in steps of that size for the largest weight tell them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Final

_GRID: Final = 1 << 20  # earned parts with larger denominators, left over from other weights, are rounded to this


class Deadlines:
    """Who is due next, from any opening: the part of its interval, 0..1, that each index has waited already."""

    def __init__(self, weights: Sequence[int], earned: Sequence[Fraction], *, fifo: bool = False) -> None:
        size = len(weights)
        self._weights = weights
        self._sum = sum(weights)
        self._common, self._parts = _in_parts(earned)
        order = sorted(range(size), key=weights.__getitem__) if fifo else range(size)
        self._ranks = {index: rank for rank, index in enumerate(order)}
        self._by_rank = list(order)
        self._passed = [0] * size  # deadlines computed of each index
        self._horizon = 0  # computed up to this time, in 1 / sum
        self._computed: list[int] = []
        self._taken: Counter[int] = Counter()

    def take(self, count: int) -> list[int]:
        """Return the indices of the next picks."""
        while len(self._computed) < count:
            self._computed += self._until(self._horizon + count)
        taken, self._computed = self._computed[:count], self._computed[count:]
        self._taken.update(taken)
        return taken

    def earned(self, last: int | None, unused: Counter[int]) -> list[Fraction]:
        """Return what each index has waited, when the picks taken are gone but for some, and ``last`` was the last."""
        if last is None:
            return [Fraction(part, self._common) for part in self._parts]
        counts = [self._taken[index] - unused[index] for index in range(len(self._weights))]
        now = self._wait(last, counts[last]) / self._weights[last]
        return [
            weight * now - self._wait(index, count)
            for index, (weight, count) in enumerate(zip(self._weights, counts, strict=True))
        ]

    def bound(self) -> float:
        """How far, in picks, a count can get from its share.

        At any time index i has been picked w t + e - f times, where e was earned before and f, 0..1, is not used yet.
        """
        size, total, common = len(self._parts), sum(self._parts), self._common
        worst = 0.0
        for weight, part in zip(self._weights, self._parts, strict=True):
            share = weight / self._sum
            lead = (share * total - part) / common
            worst = max(worst, lead + 1.0 - share, share * (size - 1) - lead)
        return worst

    def _wait(self, index: int, count: int) -> Fraction:
        """How many of its intervals lie between the opening and the index's deadline number ``count``."""
        return count - Fraction(self._parts[index], self._common)

    def _until(self, horizon: int) -> list[int]:
        """The indices due after what was computed and up to this time, in order."""
        size, whole, common = len(self._weights), self._sum, self._common
        step = max(self._weights) ** 2
        due: list[int] = []
        for index, weight in enumerate(self._weights):
            part, rank = self._parts[index], self._ranks[index]
            first = self._passed[index]
            last = (weight * horizon * common + part * whole) // (whole * common)
            due += [(k * common - part) * step // weight * size + rank for k in range(first + 1, last + 1)]
            self._passed[index] = max(first, last)
        due.sort()
        self._horizon = horizon
        by_rank = self._by_rank
        return [by_rank[key % size] for key in due]


def _in_parts(earned: Sequence[Fraction]) -> tuple[int, list[int]]:
    """Return a common denominator and the numerators over it."""
    common = lcm(*(part.denominator for part in earned))
    if common > _GRID:
        return _GRID, [round(part * _GRID) for part in earned]
    return common, [part.numerator * (common // part.denominator) for part in earned]
