"""Least active, Dubbo's: the fewest calls in flight, and equals by weight.

Calls in flight are not divided by the weight; it decides only among equals.
Weights 5, 1 and 1:

    in flight    tied     chosen
    0 0 0        a b c    a with 5/7, b and c with 1/7 each
    1 0 0          b c    b or c with 1/2 each
    1 1 0            c    c

With one call at a time all are tied, and this is weighted_random. With many
in flight weights hardly matter: calls in flight become equal, so shares are
as 1 / latency, and 10, 20 and 40 ms get 57, 29 and 14 %.

    dialect=java   as above
    dialect=go     dubbo-go draws o from 1 to the sum W of the tied weights
                   and takes the first at which they add up to more than o.
                   So the first listed loses one chance in W, and where o = W
                   nobody is found and all have the same chance. Tied weights
                   5 1 1: 4/7 + 1/21, 1/7 + 1/21, 1/7 + 1/21 = 62, 19, 19 %
                   (with equal weights it draws evenly, without the mistake)

Nothing is lost when backends join or leave. A failed call keeps its slot for
the failure penalty; with failure-penalty=0s, as in the originals, a backend
that fails at once looks idle and gets nearly all the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from lbctl.balance.levels import LeastLoaded, Level, Spot, spots_of
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import kept_slots
from lbctl.balance.policies.base import Expectation, Policy, Setup, by_weight, weights_of
from lbctl.balance.policies.least_conn import ratio_key
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.ties import Listed, drawn


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    dialect: str = option("java", "how equals are drawn", choices=("java", "go"))
    failure_penalty: float = failure_penalty()


def go_draw(weights: Sequence[int], rng: Random) -> int:
    """Return an index drawn as dubbo-go does, off by one where weights differ."""
    if len(weights) == 1:
        return 0
    if len(set(weights)) > 1:
        offset = int(rng.random() * sum(weights)) + 1
        for index, weight in enumerate(weights):
            offset -= weight
            if offset < 0:
                return index
    return int(rng.random() * len(weights))


class GoTies(Listed):
    """Looks at all that are tied, and draws among them as dubbo-go does."""

    __slots__ = ("_rng",)

    def __init__(self, key: float, rng: Random) -> None:
        super().__init__(key)
        self._rng = rng

    def pop(self) -> Spot:
        members = self.ordered()
        return members.pop(go_draw([spot.chance for _, spot in members], self._rng))[1]


def _picker(peers: Sequence[Peer], setup: Setup) -> LeastLoaded:
    options: Options = setup.options
    slots, weights, rng = kept_slots(peers, options.failure_penalty), weights_of(peers), setup.rng
    spots = spots_of(peers, slots.of, [1] * len(peers), weights)
    is_go = options.dialect == "go"
    make: Callable[[float], Level] = (lambda key: GoTies(key, rng)) if is_go else drawn(weights, rng.random)
    return LeastLoaded(spots, slots, ratio_key, make, by_weight(peers))


POLICY = Policy(
    "least_active",
    "fewest calls in flight, equals by weight (Dubbo)",
    Expectation.FEEDBACK,
    _picker,
    Options(),
    aliases=("leastactive",),
    cost="O(log n)",
    by_load=True,
)
