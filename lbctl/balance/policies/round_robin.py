"""Round robin: each peer in turn, whatever its weight, from a random start.

The start is random because a picker is rebuilt at every change: one that
always began with the first peer would favour it when changes are frequent,
and many clients that start together would all begin with the same backend.

    start   picks of a, b, c          counts after 10
    0       a b c a b c a b c a       4 3 3
    1       b c a b c a b c a b       3 4 3
    2       c a b c a b c a b c       3 3 4
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal


class RoundRobin:
    """Walks around its peers for ever; counts differ by at most one."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        start = setup.rng.randrange(len(peers))
        self._peers = peers
        self._next = cycle([*peers[start:], *peers[:start]]).__next__

    def pick(self, call: Call) -> Peer:
        return self._next()

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self._next()
        return peer, Why(f"its turn: number {self._peers.index(peer) + 1} of {len(self._peers)}, one after the other")

    def law(self) -> Law:
        return Law(equal(self._peers), 1.0)

    def retire(self) -> None:
        """Leave nothing behind: the next picker starts at random."""


POLICY = Policy("round_robin", "each backend in turn, weights ignored", Expectation.COUNTS, RoundRobin, aliases=("rr",))
