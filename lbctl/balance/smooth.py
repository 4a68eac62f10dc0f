"""The arithmetic of smooth weighted round robin over indices: which comes next, who is owed what, how far it strays.

Only the head of each group of equal weight can be chosen, and all of a group grow alike, so a step compares one number
per distinct weight and touches one heap. Numbers are whole: current weights in steps of 1 / _FINE, times the size of
the set, minus the index, so that the greatest is also the first of equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import accumulate
from operator import add

_FINE = 1 << 20


class Smooth:
    """nginx's rule from any opening credits (calls owed) over weights without a common divisor.

    Their sum stays what it is; one next to 0 is made 0.
    """

    def __init__(self, weights: Sequence[int], opening: Sequence[float]) -> None:
        size = len(weights)
        self._size = size
        self._sum = sum(weights)
        self._price = self._sum * _FINE * size
        self._step = 0
        starts = [round(credit * self._sum * _FINE) for credit in opening]
        left = sum(starts)
        if abs(left) <= size:  # what rounding has left is no more than half of that
            starts[0] -= left
        groups: dict[int, list[int]] = {}
        for index, (weight, start) in enumerate(zip(weights, starts, strict=True)):
            groups.setdefault(weight, []).append(index - start * size)  # negative: heapq keeps the smallest on top
        self._heaps = list(groups.values())
        for heap in self._heaps:
            heapify(heap)
        self._growth = [weight * _FINE * size for weight in groups]
        self._heads = [-heap[0] for heap in self._heaps]

    def take(self, count: int) -> list[int]:
        """Return the indices of the next picks."""
        size, price, heaps, growth = self._size, self._price, self._heaps, self._growth
        heads, step, taken = self._heads, self._step, []
        for _ in range(count):
            step += 1
            heads = list(map(add, heads, growth))
            group = heads.index(max(heads))
            heap = heaps[group]
            top = heap[0]
            taken.append(top % size)
            heapreplace(heap, top + price)
            heads[group] = step * growth[group] - heap[0]
        self._heads, self._step = heads, step
        return taken

    def credits(self) -> list[float]:
        """Return the calls owed to each index after the picks taken so far."""
        owed = [0.0] * self._size
        for heap, growth in zip(self._heaps, self._growth, strict=True):
            for item in heap:
                index = item % self._size
                owed[index] = (self._step * growth - item + index) / self._price
        return owed


def settled(owed: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Return the credits with their sum, which belongs to peers outside the set, shared out by weight."""
    surplus = sum(owed) / sum(weights)
    return [credit - surplus * weight for credit, weight in zip(owed, weights, strict=True)]


def furthest(opening: Sequence[float]) -> float:
    """Return how far, in calls, a count can get from N p when the picks begin with these credits.

    From zero credits this is max(1, 1/2 + 1/3 + ... + 1/n). In general: let g(k) be the mean of the k greatest
    credits. A pick leaves g(k) at or below the larger of g(k) and g(k+1) + 1/(k+1), so the greatest credit stays at or
    below the largest g(k) + 1/2 + ... + 1/k. A pick leaves its peer above -1 and lowers nobody else.
    """
    means = (total / k for k, total in enumerate(accumulate(sorted(opening, reverse=True)), start=1))
    harmonics = accumulate(1.0 / k if k > 1 else 0.0 for k in range(1, len(opening) + 1))
    ceiling = max(mean + harmonic for mean, harmonic in zip(means, harmonics, strict=True))
    return max(ceiling - min(opening), 1.0 + max(opening))
