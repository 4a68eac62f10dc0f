"""Round robin: each peer in turn, whatever its weight, from a random start.

The start is random because a picker is rebuilt at every change: one that always began with the first peer would
favour it when changes are frequent, and many clients that start together would all begin with the same backend.

    start   picks of a, b, c          counts after 10
    0       a b c a b c a b c a       4 3 3
    1       b c a b c a b c a b       3 4 3
    2       c a b c a b c a b c       3 3 4
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy


class RoundRobin:
    """Walks around its peers for ever; counts differ by at most one."""

    def __init__(self, peers: Sequence[Peer], rng: Random) -> None:
        start = rng.randrange(len(peers))
        self._size = len(peers)
        self._next = cycle([*peers[start:], *peers[:start]]).__next__

    def pick(self, call: Call) -> Peer:
        return self._next()

    def shares(self) -> Sequence[float]:
        return [1.0 / self._size] * self._size

    def bound(self) -> float:
        return 1.0

    def retire(self) -> None:
        """Leave nothing behind: the next picker starts at random."""


POLICY = Policy("round_robin", "each backend in turn, weights ignored", Expectation.COUNTS, RoundRobin)
