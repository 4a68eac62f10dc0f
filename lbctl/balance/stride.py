"""The static stride scheduler of gRPC: weighted turns out of nothing but a sequence number.

A generation is one pass over all indices. With weights scaled so that the largest is K = 65535, index b has its turn in
generation g when ``s[b] * g + 32767 * b`` passes a multiple of K on the way to generation g + 1. So a weight of K has
its turn in every generation, half of that in every other one, and a weight that scales to 0 never.

When the j-th multiple is passed is known without walking there, so a block of turns is computed per index and sorted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import length_hint
from typing import Final, TypeVar

T = TypeVar("T")

K: Final = 65535
WRAP: Final = 1 << 32  # sequence numbers start again from 0 here
_OFFSET: Final = 32767
_MOST: Final = 10.0  # times the mean: what a clamped weight is at most
_LEAST: Final = {"core": 0.01, "java": 0.1}  # of the mean: what it is at least
CLAMPS: Final = ("none", "core", "java")
_FIRST, _LARGEST = 32, 4096  # turns computed at a time: few for a scheduler that may soon be replaced


class StaticStride:
    """Turns in proportion to weights, from any sequence number; ``next()`` is the index whose turn it is.

    Weights that are not positive are unknown and count as the mean of the known ones. ``sequence`` is the number that
    the next turn is looked for from: a successor that begins there favours nobody.
    """

    def __init__(self, weights: Sequence[float], sequence: int, clamp: str = "none") -> None:
        self.scaled = scaled(weights, clamp)
        self._size = len(weights)
        self._sum = sum(self.scaled)
        self._opening = sequence % WRAP
        self._block: list[int] = []
        self._left: Iterator[object] = iter(())
        self._turns = self.over(range(self._size))
        self.next = self._turns.__next__

    def __iter__(self) -> Iterator[int]:
        return self._turns

    def over(self, items: Sequence[T]) -> Iterator[T]:
        """Return the turns as items instead of their indices, to be used in place of those."""
        return chain.from_iterable(self._blocks(items))

    @property
    def sequence(self) -> int:
        taken = len(self._block) - length_hint(self._left)
        return (self._block[taken - 1] + 1) % WRAP if taken else self._opening

    def shares(self) -> list[float]:
        """The part of all turns that each index gets in the long run."""
        return [weight / self._sum for weight in self.scaled]

    def bound(self) -> float:
        """How far, in turns, the count of an index can get from its share of all, until the sequence wraps.

        After t generations an index of weight s has had s t / K + e turns, with -1 < e < 1. Counts of all turns differ
        from their mean by the sum of all e, of which an index feels its share. Indices of one weight rise together
        with known phases, so the sum over them has a known range: it is not small, since every other index is in
        phase. A generation that is over for some and not for others adds twice what an index gets in one.
        """
        phases: dict[int, list[float]] = {}
        generation, index = divmod(self._opening, self._size)
        for b, weight in enumerate(self.scaled):
            position = weight * (generation + (b < index)) + _OFFSET * b
            phases.setdefault(weight, []).append(position % K / K)
        lumps = sum(_lump(found) for weight, found in phases.items() if 0 < weight < K)
        return max(2.0 * weight / K + (weight < K) + lumps * weight / self._sum for weight in self.scaled)

    def _blocks(self, items: Sequence[T]) -> Iterator[Iterator[T]]:
        size, count = self._size, _FIRST
        skip = self._opening
        generation, last = skip // size, -(-WRAP // size)
        while True:
            until = min(last, generation + -(-count * K // self._sum))
            turns = self._between(generation, until)
            if skip or until == last:
                turns = turns[bisect_left(turns, skip) : bisect_left(turns, WRAP)]
            self._block = turns or self._block
            left = iter([items[number % size] for number in turns])
            self._left = left
            yield left
            generation, skip = until % last, 0
            count = min(count * 2, _LARGEST)

    def _between(self, first: int, last: int) -> list[int]:
        """The sequence numbers of all turns in these generations, in order."""
        size = self._size
        turns: list[int] = []
        for b, weight in enumerate(self.scaled):
            if weight == K:
                turns += range(first * size + b, last * size + b, size)
            elif weight:
                start, shift = _OFFSET * b, weight - 1 - _OFFSET * b
                passed = range((weight * first + start) // K + 1, (weight * last + start) // K + 1)
                turns += [((multiple * K + shift) // weight - 1) * size + b for multiple in passed]
        turns.sort()
        return turns


def scaled(weights: Sequence[float], clamp: str = "none") -> list[int]:
    """The weights as whole numbers up to K, unknown ones at the mean; all are K when fewer than two are known.

    ``clamp``: "none" as grpc-go does it; "core" and "java" keep weights within 10 times the mean, and at 1 % or 10 %
    of it at least.
    """
    known = [weight for weight in weights if weight > 0]
    if len(known) < 2:
        return [K] * len(weights)
    mean, most = sum(known) / len(known), max(known)
    if clamp != "none":
        most = min(most, _MOST * mean)
    factor = K / most
    least = 0
    if clamp == "core":
        least = _rounded(_rounded(factor * mean) * _LEAST[clamp])
    elif clamp == "java":
        least = math.ceil(factor * mean * _LEAST[clamp])
    middle = _rounded(factor * mean)
    return [max(least, _rounded(factor * min(weight, most))) if weight > 0 else middle for weight in weights]


def _rounded(number: float) -> int:
    """Halves go up, not to the even neighbour."""
    return math.floor(number + 0.5)


def _lump(phases: Sequence[float]) -> float:
    """How far the turns of equal weights can together get from their mean, when they begin in these phases."""
    size = len(phases)
    crossings = enumerate(sorted(1.0 - phase for phase in phases))
    return max(max(before + 1 - size * at, size * at - before) for before, at in crossings)
