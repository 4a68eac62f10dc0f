"""Weighted round robin of LVS (IPVS): turns above a falling threshold.

The threshold falls from the largest weight. Each round takes every backend of
at least the threshold once, in order; then the threshold falls by the common
divisor of the weights, and from the smallest it goes back to the largest. For
a:4 b:3 c:2 (divisor 1):

    threshold   4    3      2        1
    turns       a    a b    a b c    a b c        one cycle: a a b a b c a b c

Counts are exact after every cycle. Heavy backends come first and alone, in a
run as long as the two largest weights differ, so this is smoother than
wrr_plain and bumpier than smooth_wrr: 5 1 1 gives a a a a a b c.

The threshold and whose turn it was outlive the picker, so frequent rebuilds
favour nobody. When weights change, the threshold stays at the same part of
the largest weight; one that joins has a turn when the threshold has come to
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import gcd

from lbctl.balance.ahead import Ahead
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.rounds import Place, Rounds, Segment, keep, place_of, spread
from lbctl.balance.slots import endless


class WrrLvs:
    """Rounds over those that reach a falling threshold; the place in the cycle is the peers' memory."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        weights = weights_of(peers)
        self._divisor = gcd(*weights)
        self._peers = peers
        self._weights = [weight // self._divisor for weight in weights]
        self._tops = sorted(set(self._weights), reverse=True)
        drops = [top - below for top, below in pairwise([*self._tops, 0])]
        reaching = accumulate(map(Counter(self._weights).__getitem__, self._tops))
        segments = [Segment(size, rounds) for size, rounds in zip(reaching, drops, strict=True)]
        self._rounds = Rounds(segments, self._reaching, self._opening(place_of(peers)))
        self._ahead = Ahead(peers, self._weights, self._rounds.take)
        self.pick: Callable[[Call], Peer] = endless(self._ahead.picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = next(self._ahead.picks)
        threshold, _ = self._last()
        rows = [(each, (str(weight * self._divisor),)) for each, weight in zip(self._peers, self._weights, strict=True)]
        return peer, Why(
            f"its turn among those of weight {threshold * self._divisor} and more", ("weight",), tuple(rows)
        )

    def law(self) -> Law:
        total = sum(self._weights)
        return Law([weight / total for weight in self._weights], spread(self._weights))

    def retire(self) -> None:
        if self._ahead.handed:
            threshold, index = self._last()
            keep(self._peers, Place(self._peers[index].instance.identity, Fraction(threshold, self._tops[0])))

    def _reaching(self, segment: int) -> list[int]:
        top = self._tops[segment]
        return [index for index, weight in enumerate(self._weights) if weight >= top]

    def _last(self) -> tuple[int, int]:
        """The threshold of the last pick, and whose turn it was."""
        segment, done, index = self._rounds.turn(self._ahead.handed - 1)
        return self._tops[segment] - done, index

    def _opening(self, place: Place | None) -> int:
        if place is None:
            return 0
        exact = place.part * self._tops[0]
        threshold = int(exact)
        done = sum(max(0, weight - threshold) for weight in self._weights)
        if threshold == exact:
            done += sum(
                weight >= threshold and peer.instance.identity <= place.last
                for peer, weight in zip(self._peers, self._weights, strict=True)
            )
        return done


POLICY = Policy(
    "wrr_lvs",
    "exact shares by weight, the heavy ones first",
    Expectation.SEQUENCE,
    WrrLvs,
    aliases=("lvs_wrr", "ipvs_wrr"),
)
