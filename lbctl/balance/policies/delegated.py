"""Picks that are made elsewhere: the picker returns one peer that stands for all, and learns later who it was.

Expected shares, bounds and counts work as for any other policy. What is different is time: a call is handed over in
the name of the picker that was in force, and its backend becomes known when the call is seen there. A call seen after
its picker has gone, or at a backend that its picker did not have, counts for the backend, and no verdict is made of it.

    handed over   seen at            picks of outer, a, b
    4 calls       -                  4 0 0
    -             a, b, a            1 2 1
    picker gone   b (belated)        0 2 2, of which 1 is judged by nobody
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from lbctl.balance.peer import Peer, Target
from lbctl.balance.policies.base import Call, Expectation, Law, Picker, Policy, Setup, Why, equal


class Behind(Target, Protocol):
    """The target of a peer that somebody else picks."""

    def begin(self, ticket: Delegated, targets: Sequence[Target]) -> Peer:
        """Hand calls over in this picker's name from here on; returns the peer that stands for all of them."""
        ...


class Delegated:
    """Stands for a balancer that is not ours. ``loose`` counts calls it need not be held to: the set was changing."""

    def __init__(self, peers: Sequence[Peer], policy: str, shares: Sequence[float], slack: float) -> None:
        self.policy = policy
        self.loose = 0
        self._peers = peers
        self._known = frozenset(peers)
        self._shares = shares
        self._slack = slack
        self._retired = False
        targets = [peer.target for peer in peers]
        self._outer = cast(Behind, targets[0]).begin(self, targets)

    def pick(self, call: Call) -> Peer:
        return self._outer

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self._outer, Why("gRPC's own balancer picks, and does not tell why")

    def law(self) -> Law:
        """The bound grows with the calls whose backend is not known yet."""
        return Law(self._shares, self._slack + self.loose + max(0, self._outer.in_flight))

    def retire(self) -> None:
        self._retired = True

    def loosen(self) -> None:
        """The set changes, and takes the calls along whose backend is not known yet."""
        self.loose += 1 + max(0, self._outer.in_flight)

    def credit(self, peer: Peer, *, again: bool, late: bool) -> None:
        """Count a call that turned out to go to this peer; see ``lbctl.load.delegation``."""
        peer.picks += 1
        if not again:
            self._outer.picks -= 1
        if late:
            self._outer.finished -= not again
            peer.finished += 1
        if peer not in self._known:
            peer.belated += 1
            peer.expected += 1.0  # by a picker of theirs that ours is yet to follow
        elif self._retired:
            peer.belated += 1
            for one, share in zip(self._peers, self._shares, strict=True):
                one.expected += share


def first_only(peers: Sequence[Peer]) -> Sequence[float]:
    """Everything to one: there is no other that is ready, as long as all is well."""
    return [1.0] + [0.0] * (len(peers) - 1)


def delegating(
    name: str,
    summary: str,
    expectation: Expectation,
    slack: float = math.inf,
    shares: Callable[[Sequence[Peer]], Sequence[float]] = equal,
) -> Policy:
    """A policy whose picks are made by somebody else; ``slack`` is how far a count may get from its share."""

    def build(peers: Sequence[Peer], setup: Setup) -> Picker:
        return Delegated(peers, name, shares(peers), slack)

    return Policy(name, summary, expectation, build)
