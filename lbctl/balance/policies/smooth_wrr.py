"""Smooth weighted round robin, nginx's rule: exact shares by weight, spread out instead of in runs.

Before each pick every peer's current weight grows by its weight; the first one with the greatest takes the call and
pays the sum of all weights. For a:5 b:1 c:1 (sum 7):

    pick   after growing    chosen   after paying
    1       5   1   1       a        -2   1   1
    2       3   2   2       a        -4   2   2
    3       1   3   3       b         1  -4   3
    4       6  -3   4       a        -1  -3   4
    5       4  -2   5       c         4  -2  -2
    6       9  -1  -1       a         2  -1  -1
    7       7   0   0       a         0   0   0

A peer's current weight over the sum is the number of calls it is owed, N p - count. That number is the peer's credit
and outlives the picker, so a rebuild every few picks does not favour the heaviest. Where a set or its weights change:

- a new peer starts at 0;
- the credit of peers that are not in the set is shared out by weight, which keeps the sum 0 and cannot make a burst;
- credit is in calls, so new weights change the future shares and owe nobody more calls than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from math import gcd
from operator import length_hint

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.smooth import Smooth, furthest, settled

REPLAY = 1 << 18  # a cycle of at most so many picks is computed once and then replayed
_FIRST, _LARGEST = 32, 4096  # picks computed at a time: few for a picker that may soon be replaced


class SmoothWrr:
    """Hands out blocks of picks computed ahead, and knows how much of the current block is gone."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        weights = weights_of(peers)
        divisor = gcd(*weights)
        self._peers = peers
        self._weights = [weight // divisor for weight in weights]
        self._sum = sum(self._weights)
        self._opening = settled([peer.credit for peer in peers], self._weights)
        self._smooth = Smooth(self._weights, self._opening)
        self._block: list[Peer] = []
        self._left: Iterator[Peer] = iter(())
        self._next = chain.from_iterable(self._blocks()).__next__

    def pick(self, call: Call) -> Peer:
        return self._next()

    def why(self, call: Call) -> tuple[Peer, Why]:
        owed = self._owed()
        peer = self._next()
        rows = [
            (each, (str(weight), f"{(credit + weight / self._sum) * self._sum:g}"))
            for each, weight, credit in zip(self._peers, self._weights, owed, strict=True)
        ]
        return peer, Why("the greatest current weight, each grown by its weight", ("weight", "current"), tuple(rows))

    def law(self) -> Law:
        return Law([weight / self._sum for weight in self._weights], furthest(self._opening))

    def retire(self) -> None:
        for peer, credit in zip(self._peers, self._owed(), strict=True):
            peer.credit = credit

    def _owed(self) -> list[float]:
        """The calls owed to each peer now: what the computed picks left, less those that were not handed out."""
        left = length_hint(self._left)
        unused = Counter(self._block[len(self._block) - left :])
        return [
            credit - (left * weight - unused[peer] * self._sum) / self._sum
            for peer, weight, credit in zip(self._peers, self._weights, self._smooth.credits(), strict=True)
        ]

    def _blocks(self) -> Iterator[Iterator[Peer]]:
        """Compute blocks until a whole cycle has given every peer its weight, then replay that cycle."""
        size = _FIRST
        cycle: list[Peer] = []
        while not self._repeats(cycle):
            if len(cycle) == self._sum or self._sum > REPLAY:
                cycle = []
            block = self._computed(min(size, self._sum - len(cycle)))
            cycle += block
            yield self._handed(block)
            size = min(size * 2, _LARGEST)
        cycle *= 1 + _LARGEST // self._sum
        while True:
            yield self._handed(cycle)

    def _computed(self, count: int) -> list[Peer]:
        peers = self._peers
        return [peers[index] for index in self._smooth.take(count)]

    def _handed(self, block: list[Peer]) -> Iterator[Peer]:
        self._block, self._left = block, iter(block)
        return self._left

    def _repeats(self, cycle: list[Peer]) -> bool:
        if len(cycle) != self._sum:
            return False
        counts = Counter(cycle)
        return all(counts[peer] == weight for peer, weight in zip(self._peers, self._weights, strict=True))


POLICY = Policy("smooth_wrr", "exact shares by weight, evenly spread", Expectation.SEQUENCE, SmoothWrr)
