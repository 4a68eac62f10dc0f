"""Earliest deadline first: weight w is due every 1 / w, the first due goes.

Counts are exact over every cycle, but where deadlines are equal picks bunch
more than those of smooth_wrr. For a:5 b:1 c:1, deadlines in fifths:

    pick   deadlines       ties=keep         deadlines       ties=fifo
    1       1   5   5      a                  1   5   5      a
    2       2   5   5      a                  2   5   5      a
    3       3   5   5      a                  3   5   5      a
    4       4   5   5      a                  4   5   5      a
    5       5   5   5      a                  5   5   5      b, since 0
    6       6   5   5      b                  5  10   5      c, since 0
    7       6  10   5      c                  5  10  10      a, since 4

- ties=keep is grpc-go's rule: of equal deadlines the first in the list goes
  first, always.
- ties=fifo is Envoy's: of equal deadlines the one that was put back first
  goes first.

Deadlines are compared as fractions. Implementations that add up 1 / w in
floating point, as both of these do, take near-ties either way: compare counts
with them, not sequences. Envoy takes plain turns while all weights are equal.

With start=kept, the default, how much of its interval a peer has waited
outlives the picker, so frequent rebuilds favour nobody. A peer that joins is
due after a whole interval, one that comes back after the rest of it; a new
weight changes the rest of the interval at once (in Envoy from the next on).
Others begin anew when the set changes:

- start=random leaves out the first picks, 0 to n - 1 by chance, as Envoy does
  so that its workers do not move in step.
- start=first begins with the heaviest every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from lbctl.balance.ahead import Ahead
from lbctl.balance.deadlines import Deadlines
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.slots import endless


@dataclass(frozen=True, slots=True)
class Options:
    """Which of equal deadlines comes first."""

    ties: str = option(
        "keep", "of equal deadlines: the first in the list, or the longest in line", choices=("keep", "fifo")
    )
    start: str = option("kept", "where in the schedule a new picker begins", choices=("kept", "random", "first"))


class Edf:
    """Hands out picks computed ahead; what part of its interval each peer has waited outlives it."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        weights = weights_of(peers)
        divisor = gcd(*weights)
        self._peers = peers
        self._weights = [weight // divisor for weight in weights]
        self._kept = setup.options.start == "kept"
        waited = [peer.waited if self._kept else Fraction(0) for peer in peers]
        self._deadlines = Deadlines(self._weights, waited, fifo=setup.options.ties == "fifo")
        self._opening = self._deadlines
        self._skipped: int | None = None  # the last pick that was left out
        if setup.options.start == "random":
            self._skip(setup.rng.randrange(len(peers)))
        self._ahead = Ahead(peers, self._weights, self._deadlines.take)
        self.pick: Callable[[Call], Peer] = endless(self._ahead.picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        earned = self._earned()
        peer = next(self._ahead.picks)
        rows = [
            (each, (str(weight), f"{float(sum(self._weights) * (1 - part) / weight):.4g}"))
            for each, weight, part in zip(self._peers, self._weights, earned, strict=True)
        ]
        return peer, Why("due first; deadlines in calls from now", ("weight", "due in"), tuple(rows))

    def law(self) -> Law:
        total = sum(self._weights)
        return Law([weight / total for weight in self._weights], self._opening.bound())

    def retire(self) -> None:
        if not self._kept:
            return
        for peer, part in zip(self._peers, self._earned(), strict=True):
            peer.waited = part

    def _skip(self, count: int) -> None:
        """Go on as though so many picks had been made."""
        if count:
            self._skipped = self._deadlines.take(count)[-1]
            self._opening = Deadlines(self._weights, self._deadlines.earned(self._skipped, Counter()))

    def _earned(self) -> list[Fraction]:
        last = self._ahead.last
        index = {peer: number for number, peer in enumerate(self._peers)}
        unused = Counter({index[peer]: count for peer, count in self._ahead.unused().items()})
        return self._deadlines.earned(self._skipped if last is None else index[last], unused)


POLICY = Policy(
    "edf",
    "exact shares by weight, earliest deadline first",
    Expectation.SEQUENCE,
    Edf,
    Options(),
)
