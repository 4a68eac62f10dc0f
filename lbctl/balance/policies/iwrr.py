"""Interleaved weighted round robin: rounds that light backends drop out of.

A backend drops out when its weight is used up. Two queues, as in Kitex and
dubbo-go: the head of the first takes the call, and goes to its end while it
has turns left, or else to the second queue with its turns renewed. When the
first is empty, the queues change places. For a:5 b:1 c:1:

    round     1        2    3    4    5    |  1        2    3    4    5
    turns     a b c    a    a    a    a    |  b c a    a    a    a    a

The second cycle begins in the order in which turns were used up, lightest
first, and so do all after it. Counts are exact after every cycle. The
heaviest end each cycle alone, in a run as long as the two largest weights
differ: smoother than wrr_plain, bumpier than smooth_wrr.

With start=kept, the default, the round and whose turn it was outlive the
picker, so frequent rebuilds favour nobody. When weights change, the round
stays at the same part of the largest weight; one that joins takes part from
there on. The first picker begins in key order. Others begin anew when the set
changes:

- start=random turns the list by a random number first, as Kitex and dubbo-go
  do. While a picker lives for no more picks than there are backends, all get
  as much, whatever they weigh.
- start=first begins with the first, which then gets the most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import gcd

from lbctl.balance.ahead import Ahead
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.rounds import Place, Rounds, Segment, keep, place_of, spread
from lbctl.balance.slots import endless


@dataclass(frozen=True, slots=True)
class Options:
    """Where the rounds begin."""

    start: str = option("kept", "where in the rounds a new picker begins", choices=("kept", "random", "first"))


class Iwrr:
    """Rounds over those with turns left; the place in the cycle is the peers' memory."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._kept = setup.options.start == "kept"
        self._members = peers
        if setup.options.start == "random":
            first = setup.rng.randrange(len(peers))
            peers = [*peers[first:], *peers[:first]]
        weights = weights_of(peers)
        divisor = gcd(*weights)
        place = place_of(peers) if self._kept else None
        self._peers = peers  # in the order of their turns
        self._weights = [weight // divisor for weight in weights]
        self._levels = sorted({0, *self._weights})
        self._settled = place is not None and place.settled
        self._by_weight = sorted(range(len(peers)), key=self._weights.__getitem__)
        counts = Counter(self._weights)
        left = accumulate([len(peers), *(-counts[level] for level in self._levels[1:-1])])
        cycle = [Segment(size, top - below) for size, (below, top) in zip(left, pairwise(self._levels), strict=True)]
        segments, again = (cycle, 0) if self._settled else (cycle * 2, len(cycle))
        opening = self._opening(place)
        self._rounds = Rounds(segments, self._with_turns_left, opening, again)
        lead = 0 if self._settled else sum(self._weights) - opening
        self._ahead = Ahead(peers, self._weights, self._rounds.take, lead)
        self.pick: Callable[[Call], Peer] = endless(self._ahead.picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = next(self._ahead.picks)
        number, _, _ = self._last()
        text = f"its turn in round {number} of {self._levels[-1]}, which takes all that have turns left"
        rows = [(each, (str(weight),)) for each, weight in zip(self._peers, self._weights, strict=True)]
        return peer, Why(text, ("turns",), tuple(rows))

    def law(self) -> Law:
        total = sum(self._weights)
        weight_of = dict(zip(self._peers, self._weights, strict=True))
        return Law([weight_of[peer] / total for peer in self._members], spread(self._weights))

    def retire(self) -> None:
        if self._kept and self._ahead.handed:
            number, index, settled = self._last()
            most = self._levels[-1]
            identity = self._peers[index].instance.identity
            keep(
                self._peers,
                Place(identity, Fraction(number, most), Fraction(self._weights[index], most), settled),
            )

    def _with_turns_left(self, segment: int) -> list[int]:
        cycle, level = divmod(segment, len(self._levels) - 1)
        order = self._by_weight if cycle or self._settled else range(len(self._peers))
        used = self._levels[level]
        return [index for index in order if self._weights[index] > used]

    def _last(self) -> tuple[int, int, bool]:
        """The round of the last pick, whose turn it was, and whether it was after the first cycle."""
        segment, done, index = self._rounds.turn(self._ahead.handed - 1)
        cycle, segment = divmod(segment, len(self._levels) - 1)
        return self._levels[segment] + done + 1, index, self._settled or cycle > 0

    def _opening(self, place: Place | None) -> int:
        if place is None:
            return 0
        exact = place.part * self._levels[-1]
        number = -int(-exact // 1)
        done = sum(min(weight, number - 1) for weight in self._weights)
        if number == exact:
            done += sum(
                weight >= number and self._had_its_turn(peer, weight, place)
                for peer, weight in zip(self._peers, self._weights, strict=True)
            )
        return done

    def _had_its_turn(self, peer: Peer, weight: int, place: Place) -> bool:
        identity = peer.instance.identity
        if not place.settled or identity == place.last:
            return identity <= place.last
        weight_then = place.weight * self._levels[-1]
        return weight < weight_then or (weight == weight_then and identity <= place.last)


POLICY = Policy(
    "iwrr", "exact shares by weight, in rounds", Expectation.SEQUENCE, Iwrr, Options(), aliases=("interleaved_wrr",)
)
