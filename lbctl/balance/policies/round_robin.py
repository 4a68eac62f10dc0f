"""Round robin: each peer in turn, whatever its weight, from a random start.

The start is random because a picker is rebuilt at every change: one that
always began with the first peer would favour it when changes are frequent,
and many clients that start together would all begin with the same backend.

    start   picks of a, b, c          counts after 10
    0       a b c a b c a b c a       4 3 3
    1       b c a b c a b c a b       3 4 3
    2       c a b c a b c a b c       3 3 4

Whose turn it is after a rebuild differs between implementations:

- start=random, the default, begins anywhere with every picker. So does
  grpc-go, but its order is chance as well, and another one with every picker:
  order=shuffled.
- start=kept is grpc-java's: one number from a random start counts the picks
  of all pickers, and modulo the size of the set says whose turn it is. Where
  the size stays, turns go on as though nothing had happened.
- start=first begins with the first peer every time, as counters do that are
  part of a picker. Rebuilt after every 4 picks, a, b and c get 50, 25 and
  25 %; after every pick, a gets all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from lbctl.balance.ahead import Ahead
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option
from lbctl.balance.shared_number import keep_number, number_of
from lbctl.balance.slots import endless

_STARTS: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Options:
    """Where turns begin."""

    start: str = option("random", "whose turn it is in a new picker", choices=("random", "kept", "first"))
    order: str = option("key", "the order of turns: by key, or by chance in every picker", choices=("key", "shuffled"))


class RoundRobin:
    """Walks around its peers for ever; counts differ by at most one."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._order = setup.rng.sample(peers, len(peers)) if options.order == "shuffled" else peers
        self._ahead: Ahead | None = None
        if options.start == "kept":
            known = number_of(peers)
            self._opening = self._number = known.value if known else setup.rng.randrange(_STARTS)
            self._ahead = Ahead(self._order, [1] * len(peers), self._turns)
            self._picks: Iterator[Peer] = self._ahead.picks
        else:
            start = setup.rng.randrange(len(peers)) if options.start == "random" else 0
            self._picks = cycle([*self._order[start:], *self._order[:start]])
        self.pick: Callable[[Call], Peer] = endless(self._picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = next(self._picks)
        return peer, Why(f"its turn: number {self._order.index(peer) + 1} of {len(self._peers)}, one after the other")

    def law(self) -> Law:
        return Law(equal(self._peers), 1.0)

    def retire(self) -> None:
        """Leave nothing behind, unless the next picker is to go on from here."""
        if self._ahead is not None:
            keep_number(self._peers, self._opening + self._ahead.handed)

    def _turns(self, count: int) -> list[int]:
        first, size = self._number, len(self._peers)
        self._number += count
        return [number % size for number in range(first, first + count)]


POLICY = Policy(
    "round_robin", "each backend in turn, weights ignored", Expectation.COUNTS, RoundRobin, Options(), aliases=("rr",)
)
