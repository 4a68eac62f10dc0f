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
from itertools import compress, islice
from operator import eq, ne
from typing import Final

_POINTS_A_PART: Final = 2  # from 2 to 4, as the power of 2 that is just above
_BLOCK: Final = 16  # points that a walk takes together: it seldom goes further
_NODE_BITS: Final = 20
_NODES: Final = (1 << _NODE_BITS) - 1
_FLOAT_BITS: Final = 53


class Ring:
    """Sorted points and their nodes, which are numbers below ``size``; there is at least one point.

    Where two nodes have the same point it is that of the first one, or with ``last`` of the last. Without ``wraps``
    hashes beyond the last point belong to it.
    """

    def __init__(self, nodes: Sequence[Sequence[int]], bits: int, *, last: bool = False, wraps: bool = True) -> None:
        self.size = len(nodes)
        self.bits = bits
        self.wraps = wraps
        points, owners = _sorted(nodes, bits, last=last)
        self.points = array("Q", points)  # side by side: what a search in a large ring waits for is memory
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
        part = hash_ >> self.shift
        found = bisect_left(self.points, hash_, self.starts[part], self.starts[part + 1])
        return found if found < len(self.points) else 0 if self.wraps else found - 1

    def near(self, hash_: int) -> Sequence[int]:
        """The nodes of the first few points, one after the other, where a walk would begin."""
        place = self.at(hash_)
        return self.owners[place : place + _BLOCK]

    def walk(self, hash_: int) -> Iterator[int]:
        """The nodes in the order in which they would own the hash if those before them were not there."""
        place, owners, count = self.at(hash_), self.owners, len(self.points)
        met: set[int] = set()
        for _ in range(count // _BLOCK + 2):
            for node in owners[place : place + _BLOCK]:
                if node not in met:
                    met.add(node)
                    yield node
            if len(met) == self.size:
                return
            place = place + _BLOCK if place + _BLOCK < count else 0

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


def _sorted(nodes: Sequence[Sequence[int]], bits: int, *, last: bool) -> tuple[list[int], list[int]]:
    """The points of all nodes in order, each once, and the node of each.

    A point and its node are one number while they are sorted, and a float where it can be: those are compared in half
    the time.
    """
    kind = float if bits + _NODE_BITS <= _FLOAT_BITS else int
    unit, turned = kind(1 << _NODE_BITS), len(nodes) - 1 if last else 0
    entries: list[float] = []
    for node, its_points in enumerate(nodes):
        place = kind(abs(turned - node))  # of equal points the first will count
        entries += [point * unit + place for point in its_points]
    entries.sort()
    whole = [int(entry) for entry in entries]
    points = [entry >> _NODE_BITS for entry in whole]
    numbers = [abs(turned - place) for place in range(len(nodes))]
    owners = [numbers[entry & _NODES] for entry in whole]  # shared: a point has no number of its own in memory
    if any(map(eq, points, islice(points, 1, None))):
        first = [True, *map(ne, islice(points, 1, None), points)]
        return list(compress(points, first)), list(compress(owners, first))
    return points, owners
