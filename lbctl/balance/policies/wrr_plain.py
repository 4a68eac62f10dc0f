"""Plain weighted round robin: each backend as often in a row as it weighs.

    weights          order of one cycle     longest run
    a:1 b:2 c:3      a b b c c c            3
    a:5 b:1 c:1      a a a a a b c          5
    a:10 b:20        a b b                  2, the common divisor is taken out

Counts are exact after every cycle, and within one a count is off by up to w
(1 - w / sum): heavy backends get bursts. Load tests of a real service want
smooth_wrr, which has the same shares; this one shows what bursts do.

With start=kept, the default, the place in the cycle outlives the picker: the
run goes on where it was, also when its weight changed (then at the same part
of it). When the backend whose run it was has gone, the next one follows, and
one that joins waits for its turn. Others do less when the set changes:

- start=counter goes on with a count of all picks, modulo the length of the
  new cycle, wherever in it that may be.
- start=first begins the cycle anew, which favours the first backends when
  changes are frequent: after every 2 picks of a:1 b:2 c:3, c gets nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from lbctl.balance.ahead import Ahead
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.rounds import Place, Rounds, Segment, keep, place_of
from lbctl.balance.shared_number import keep_number, number_of
from lbctl.balance.slots import endless


@dataclass(frozen=True, slots=True)
class Options:
    """Where the cycle begins."""

    start: str = option("kept", "where in the cycle a new picker begins", choices=("kept", "counter", "first"))


class WrrPlain:
    """Runs of picks, one run per peer; the place in the cycle is the peers' memory."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        weights = weights_of(peers)
        divisor = gcd(*weights)
        self._peers = peers
        self._weights = [weight // divisor for weight in weights]
        runs = [Segment(1, weight) for weight in self._weights]
        self._start: str = setup.options.start
        number = number_of(peers) if self._start == "counter" else None
        self._before = number.value if number else 0
        opening = self._after(place_of(peers)) if self._start == "kept" else self._before % sum(self._weights)
        self._rounds = Rounds(runs, lambda index: (index,), opening)
        self._ahead = Ahead(peers, self._weights, self._rounds.take)
        self.pick: Callable[[Call], Peer] = endless(self._ahead.picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = next(self._ahead.picks)
        index, done, _ = self._rounds.turn(self._ahead.handed - 1)
        return peer, Why(f"its run: pick {done + 1} of {self._weights[index]} in a row")

    def law(self) -> Law:
        total = sum(self._weights)
        shares = [weight / total for weight in self._weights]
        return Law(shares, max(weight * (1 - share) for weight, share in zip(self._weights, shares, strict=True)))

    def retire(self) -> None:
        if self._start == "counter":
            keep_number(self._peers, self._before + self._ahead.handed)
        elif self._start == "kept" and self._ahead.handed:
            index, done, _ = self._rounds.turn(self._ahead.handed - 1)
            keep(self._peers, Place(self._peers[index].instance.identity, Fraction(done + 1, self._weights[index])))

    def _after(self, place: Place | None) -> int:
        if place is None:
            return 0
        last = bisect_right(self._peers, place.last, key=lambda peer: peer.instance.identity)
        before = sum(self._weights[:last])
        if last and self._peers[last - 1].instance.identity == place.last:
            weight = self._weights[last - 1]
            return before - weight + int(place.part * weight)
        return before


POLICY = Policy("wrr_plain", "exact shares by weight, in runs", Expectation.SEQUENCE, WrrPlain, Options())
