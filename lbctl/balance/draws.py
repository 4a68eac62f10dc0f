"""Ways to draw an index by weight: each turns a number from 0 up to ``size`` into an index, and all have one law.

``index`` says it for one number, ``batch`` draws many; numbers are drawn as floats, exact to 2 ** -53.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import floor, gcd
from random import Random
from typing import Final, Protocol

from lbctl.balance.alias import AliasTable

SLOTS: Final = 1 << 16
EXPANDED: Final = 1 << 20  # the longest list that is written out
_OPEN: Final = -1  # a slot that is drawn again
_WORD: Final = 8  # bytes of a list's entry
_LEAST_CAP, _MOST_CAP = 5, 100


class Draws(Protocol):
    """Draws indices by weight."""

    def batch(self, rng: Random, count: int) -> list[int]: ...


class Expanded:
    """A list with every index as often as its weight says, without their common divisor."""

    def __init__(self, weights: Sequence[int]) -> None:
        divisor = gcd(*weights)
        self._list = [index for index, weight in enumerate(weights) for _ in range(weight // divisor)]
        self.size = len(self._list)

    def index(self, number: int) -> int:
        return self._list[number]

    def batch(self, rng: Random, count: int) -> list[int]:
        return rng.choices(self._list, k=count)


class Cumulative:
    """Running sums of the weights: the first one above the number."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._sums = list(accumulate(weights))
        self._indices = range(len(weights))
        self.size = self._sums[-1]

    def index(self, number: int) -> int:
        return bisect_right(self._sums, number)

    def batch(self, rng: Random, count: int) -> list[int]:
        return rng.choices(self._indices, cum_weights=self._sums, k=count)


class Alias(AliasTable):
    """One slot for each index, shared with one other."""

    def batch(self, rng: Random, count: int) -> list[int]:
        own, other, total = self.own, self.other, self._total
        numbers = map(divmod, rng.choices(range(self.size), k=count), [total] * count)
        return [slot if rest < own[slot] else other[slot] for slot, rest in numbers]


class Hybrid:
    """A list of those of at most the threshold, running sums of the rest."""

    def __init__(self, weights: Sequence[int], threshold: int) -> None:
        self._small = [index for index, weight in enumerate(weights) if weight <= threshold for _ in range(weight)]
        self._large = [index for index, weight in enumerate(weights) if weight > threshold]
        self._sums = list(accumulate((weights[index] for index in self._large), initial=len(self._small)))[1:]
        self.size = sum(weights)

    def index(self, number: int) -> int:
        if number < len(self._small):
            return self._small[number]
        return self._large[bisect_right(self._sums, number)]

    def batch(self, rng: Random, count: int) -> list[int]:
        return [*map(self.index, rng.choices(range(self.size), k=count))]


class Table:
    """A list of bounded length: whole parts fill their slots, the slots left over are drawn again among remainders."""

    def __init__(self, weights: Sequence[int], slots: int = SLOTS) -> None:
        total = sum(weights)
        self.size = min(total // gcd(*weights), slots)
        filled = [divmod(weight * self.size, total) for weight in weights]
        self._list = [index for index, (whole, _) in enumerate(filled) for _ in range(whole)]
        self._list += [_OPEN] * (self.size - len(self._list))
        self._remainders = list(accumulate(rest for _, rest in filled))
        self._indices = range(len(weights))

    def batch(self, rng: Random, count: int) -> list[int]:
        drawn = rng.choices(self._list, k=count)
        left = drawn.count(_OPEN)
        if not left:
            return drawn
        again = iter(rng.choices(self._indices, cum_weights=self._remainders, k=left))
        return [next(again) if index == _OPEN else index for index in drawn]


def weight_cap(memory_limit: int, count: int) -> int:
    """The largest weight with which a list of this many indices stays within so many bytes; 5 to 100."""
    return min(max(memory_limit // _WORD // count, _LEAST_CAP), _MOST_CAP)


def capped(weights: Sequence[int], cap: int, mapping: str) -> list[int]:
    """The weights, none above the cap: "clamp" cuts those that are, "scale" lowers all in proportion, to 1 at least."""
    most = max(weights)
    if most <= cap:
        return list(weights)
    if mapping == "clamp":
        return [min(weight, cap) for weight in weights]
    return [max(1, floor(weight * cap / most + 0.5)) for weight in weights]
