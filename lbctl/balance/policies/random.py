"""Random: every call to a peer drawn uniformly, weights ignored.

What came before does not matter. Independent draws are uneven in the short
run, and that is no fault: with n peers each count is about N/n with a
standard deviation of sqrt(N/n (1 - 1/n)).

    peers   calls   expected each   two of three runs within
    3       30      10.0            2.6
    3       1000    333.3           14.9
    3       100000  33333.3         149.1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal
from lbctl.balance.slots import drawn, endless


class Uniform:
    """Draws peers independently."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._peers = peers
        self._draws = drawn(peers, setup.rng)
        self.pick: Callable[[Call], Peer] = endless(self._draws)

    def why(self, call: Call) -> tuple[Peer, Why]:
        return next(self._draws), Why(f"drawn from {len(self._peers)} backends, each with the same chance")

    def law(self) -> Law:
        return Law(equal(self._peers), drawn=True)

    def retire(self) -> None:
        """Leave nothing behind: draws are independent."""


POLICY = Policy("random", "a backend by chance, weights ignored", Expectation.MULTINOMIAL, Uniform)
