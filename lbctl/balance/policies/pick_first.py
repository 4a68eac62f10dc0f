"""Pick first: every call goes to one peer, and stays there for as long as that peer can take calls.

The first peer in key order is chosen. A change of the set does not move it: new peers get nothing. When the chosen
one leaves, the first of the rest follows it, and keeps the calls when the old one returns.

    ready        chosen
    a b c        a
    a b c d      a
    b c d        b
    a b c d      b
"""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why

_CHOSEN = 1.0


class PickFirst:
    """Sticks to one peer; ``credit`` marks it across rebuilds."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._peers = peers
        self._chosen = next((peer for peer in peers if peer.credit == _CHOSEN), peers[0])

    def pick(self, call: Call) -> Peer:
        return self._chosen

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self._chosen, Why("every call goes to this backend for as long as it can take calls")

    def law(self) -> Law:
        return Law([1.0 if peer is self._chosen else 0.0 for peer in self._peers], 0.0)

    def retire(self) -> None:
        for peer in self._peers:
            peer.credit = 0.0
        if self._chosen.eligible:  # a chosen peer that is gone has no claim when it returns
            self._chosen.credit = _CHOSEN


POLICY = Policy("pick_first", "all calls to one backend, until it goes", Expectation.SINGLE, PickFirst)
