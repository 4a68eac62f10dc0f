"""Weights that change one at a time and are drawn from: both in a few steps, however many there are (a Fenwick tree).

A node holds the sum of the weights below it: node 4 that of the first four, node 6 that of the 5th and 6th.

    weights   5  1  1  3  2  0  0  0     sums at nodes 1..8:  5 6 1 10 2 2 0 12
    point 8   node 8: 12 > 8, no;  node 4: 10 > 8, no;  node 2: 6 <= 8, pass, 2 left;  node 3: 1 <= 2, pass:  the 4th
"""

from __future__ import annotations

from collections.abc import Sequence


class Fenwick:
    """Whole weights, none below 0; ``total`` is their sum."""

    __slots__ = ("_top", "_tree", "total")

    def __init__(self, weights: Sequence[int]) -> None:
        self._top = 1 << max(0, len(weights) - 1).bit_length()
        self._tree = [0, *weights, *[0] * (self._top - len(weights))]
        for node in range(1, self._top):
            self._tree[node + (node & -node)] += self._tree[node]
        self.total = self._tree[self._top]

    def add(self, index: int, difference: int) -> None:
        """Change one weight by so much."""
        tree, top, node = self._tree, self._top, index + 1
        while node <= top:
            tree[node] += difference
            node += node & -node
        self.total += difference

    def find(self, point: int) -> int:
        """The index that this point of the row of all weights falls on, 0 <= point < total."""
        tree, step, node = self._tree, self._top, 0
        while step:
            below = tree[node + step]
            if below <= point:
                point -= below
                node += step
            step >>= 1
        return node
