"""Two draws out of n, without and with replacement, and how often each gets the call when the loads never change.

n = 5, the least loaded first       without replacement    with
share of rank r                     2 (n - r) / n (n - 1)  ((n - r + 1)^d - (n - r)^d) / n^d
two draws                           .40 .30 .20 .10  0     .36 .28 .20 .12 .04
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from random import Random
from typing import Final, Generic, TypeVar

NEVER_NS: Final = -(1 << 62)  # when a backend was last picked that never was
Item = TypeVar("Item")


def second_index(first: int, drawn: int) -> int:
    """Return the second of two different indices, from a draw among all but one."""
    return drawn + 1 if drawn >= first else drawn


class Pairs(Generic[Item]):
    """Draws two different ones of at least two, every ordered pair with the same chance."""

    __slots__ = ("_items", "_others", "_random", "_size")

    def __init__(self, items: Sequence[Item], rng: Random) -> None:
        self._items = items
        self._size = len(items)
        self._others = len(items) - 1
        self._random = rng.random

    def draw(self) -> tuple[Item, Item]:
        items, random = self._items, self._random
        first = floor(random() * self._size)
        second = floor(random() * self._others)
        return items[first], items[second + 1 if second >= first else second]


def distinct_shares(size: int) -> list[float]:
    """Return the shares by rank of the better of two different ones, the best first."""
    return [2 * (size - rank) / (size * (size - 1)) for rank in range(1, size + 1)] if size > 1 else [1.0]


def replaced_shares(size: int, draws: int) -> list[float]:
    """Return the shares by rank of the best of so many independent draws, the best first."""
    return [((size - rank + 1) ** draws - (size - rank) ** draws) / size**draws for rank in range(1, size + 1)]
