"""Turns in rounds: a cycle is a list of segments, each so many rounds over the same indices, one turn for each.

Plain weighted round robin has one segment per index, the interleaved forms one per distinct weight, whatever the
weights are: a segment is never written out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from lbctl.balance.peer import Peer
from lbctl.model import Identity


class Segment(NamedTuple):
    """So many rounds with so many turns each."""

    size: int
    rounds: int


class Turn(NamedTuple):
    """Where a position lies: which segment, which of its rounds from 0, and whose turn it is."""

    segment: int
    done: int
    whose: int


class Rounds:
    """Walks through ``segments``, and then round and round through those from number ``again`` on.

    ``members(number)`` are the indices of a segment, asked for when it is reached; ``position`` counts turns.
    """

    def __init__(
        self, segments: Sequence[Segment], members: Callable[[int], Sequence[int]], position: int, again: int = 0
    ) -> None:
        self._segments = segments
        self._members = members
        self._ends = list(accumulate(size * rounds for size, rounds in segments))
        self._again = self._ends[again - 1] if again else 0
        self._opening = self._position = position

    def take(self, count: int) -> list[int]:
        """Return the indices of the next turns."""
        taken: list[int] = []
        while len(taken) < count:
            number, inside = self._located(self._position)
            many = min(count - len(taken), self._ends[number] - self._start(number) - inside)
            size = self._segments[number].size
            skip = inside % size
            taken += (list(self._members(number)) * (2 + many // size))[skip : skip + many]
            self._position += many
        return taken

    def turn(self, handed: int) -> Turn:
        """Return the turn number ``handed`` since the opening, from 0."""
        number, inside = self._located(self._opening + handed)
        done, at = divmod(inside, self._segments[number].size)
        return Turn(number, done, self._members(number)[at])

    def _located(self, position: int) -> tuple[int, int]:
        """The segment that a position lies in, and how far inside."""
        if position >= self._ends[-1]:
            position = self._again + (position - self._again) % (self._ends[-1] - self._again)
        number = bisect_right(self._ends, position)
        return number, position - self._start(number)

    def _start(self, number: int) -> int:
        return self._ends[number - 1] if number else 0


@dataclass(slots=True)
class Place:
    """Whose turn it was last, which all peers of a set share: a successor of the picker goes on from there.

    ``part``: how far, 0..1, the run or the rounds had come, this turn included. ``weight``: the peer's, as a part of
    the largest. ``settled``: the first cycle was over.
    """

    last: Identity
    part: Fraction
    weight: Fraction = Fraction(0)
    settled: bool = False


def place_of(peers: Sequence[Peer]) -> Place | None:
    """Return the place that the peers remember."""
    return next((peer.memory for peer in peers if isinstance(peer.memory, Place)), None)


def keep(peers: Sequence[Peer], place: Place) -> None:
    """Have all of them remember it; whoever knew an earlier one and is away learns of it too."""
    known = place_of(peers)
    if known is None:
        known = place
    else:
        known.last, known.part, known.weight, known.settled = place.last, place.part, place.weight, place.settled
    for peer in peers:
        peer.memory = known


def spread(weights: Sequence[int]) -> float:
    """How far a count can get from its share where each round has one turn for everyone of at least some weight.

    Between rounds, after r of them in the order of rising thresholds, index i is p N(r) - min(w, r) behind its share,
    with N(r) = sum of min(w, r). That grows while a round is worth more than a turn, which it is first if ever, falls
    until r = w, and grows back to 0. Within a round it gets one turn further, either way.
    """
    ordered = sorted(weights)
    if ordered[0] == ordered[-1]:
        return 1.0
    total, size = sum(ordered), len(ordered)
    sums = [0, *accumulate(ordered)]

    def behind(weight: int, rounds: int) -> float:
        lighter = bisect_right(ordered, rounds)
        return weight / total * (sums[lighter] + rounds * (size - lighter)) - min(weight, rounds)

    widest = 0.0
    for weight in set(ordered):
        gaining = size - -(-total // weight)  # rounds with fewer drop-outs than this are worth more than a turn
        top = min(weight, ordered[gaining]) if gaining >= 0 else 0
        widest = max(widest, behind(weight, top) - min(0.0, behind(weight, weight)))
    return widest + 2.0
