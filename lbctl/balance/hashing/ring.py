"""A ring of points: a hash belongs to the node of the first point not below it, beyond the last to that of the first.

points   10 a   40 b   70 a         ring of 0..99

hash     7   10   11   40   41   70   71   99
owner    a   a    b    b    a    a    a    a      b owns 11..40, 30 % of the ring
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

_POINTS_A_PART: Final = 3  # from 4 to 8, as the power of 2 that is just above


class Ring:
    """Sorted points and their nodes, which are numbers below ``size``; there is at least one point.

    Where two nodes have the same point it is that of the first one, or with ``last`` of the last. Without ``wraps``
    hashes beyond the last point belong to it.
    """

    def __init__(self, nodes: Sequence[Sequence[int]], bits: int, *, last: bool = False, wraps: bool = True) -> None:
        self.size = len(nodes)
        self.bits = bits
        self.wraps = wraps
        found: dict[int, int] = {}
        for node in range(self.size) if last else reversed(range(self.size)):
            found.update(dict.fromkeys(nodes[node], node))
        # Numbers made one after the other lie side by side in memory, which makes a search twice as fast.
        self.points = list(array("Q", sorted(found)))
        owners = [found[point] for point in self.points]
        # One owner more than there are points: that of the hashes beyond the last.
        self.owners = [*owners, owners[0 if wraps else -1]]
        self.shift, self.starts = self._index()

    def _index(self) -> tuple[int, Sequence[int]]:
        """The ring in equal parts of a few points each, so that a search begins where it ends.

        A hash, shifted right by so much, is its part; the parts' first points, and where the last one ends.
        """
        points, parts = self.points, max(0, len(self.points).bit_length() - _POINTS_A_PART)
        shift = self.bits - parts
        starts = array("I")
        start = 0
        for part in range(1 << parts):
            start = bisect_left(points, part << shift, start)
            starts.append(start)
        starts.append(len(points))
        return shift, starts

    def at(self, hash_: int) -> int:
        """The number of the point that the hash belongs to."""
        found = bisect_left(self.points, hash_)
        return found if found < len(self.points) else 0 if self.wraps else found - 1

    def walk(self, hash_: int) -> Iterator[int]:
        """The nodes in the order in which they would own the hash if those before them were not there."""
        start, count = self.at(hash_), len(self.points)
        met: set[int] = set()
        for offset in range(count):
            node = self.owners[(start + offset) % count]
            if node not in met:
                met.add(node)
                yield node

    @cached_property
    def arcs(self) -> Sequence[float]:
        """The part of all hashes that each node owns."""
        owned = [0] * self.size
        below = -1
        for point, owner in zip(self.points, self.owners, strict=False):
            owned[owner] += point - below
            below = point
        whole = 1 << self.bits
        owned[self.owners[-1]] += whole - 1 - below
        return [arc / whole for arc in owned]
