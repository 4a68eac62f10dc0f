"""Least connections: the backend with the fewest calls in flight for its weight.

The load is this client's own calls in flight over the weight. Where several
have the least, the tie is broken as "ties" says; nginx takes turns among the
tied by smooth weighted round robin. Weights 2 1 1, nothing finishes:

    call   in flight / weight before    tied      chosen
    1      0/2   0/1   0/1              a b c     a
    2      1/2   0/1   0/1                b c     b   (the first of equals)
    3      1/2   1/1   0/1                  c     c
    4      1/2   1/1   1/1              a         a
    5      2/2   1/1   1/1              a b c     a   and so on

With one call at a time nothing is ever in flight when the next is picked, so
all are tied and the tie rule alone decides: that is smooth_wrr for nginx, and
the first backend gets everything from a naive one (ties=first).

Shares. With latencies that do not depend on load and many calls in flight,
calls in flight become equal by weight, so shares are as weight / latency: 10,
20 and 40 ms get 57, 29 and 14 %. With few in flight it is flatter.

    key=ratio   in flight / weight                                     (nginx)
    key=fwlc    0 when idle, else (in flight + 1) x 4096 / (16 x weight),
                rounded down; with ties=rotate this is HAProxy's leastconn
    ties=swrr   in turn by smooth weighted round robin among the tied  (nginx)
    ties=rotate whoever has waited longest at this load              (HAProxy)
    ties=random by chance, weights ignored
    ties=first  the first in key order

Calls in flight are counted where they are kept, so nothing is lost when
backends join, leave or change their weight; one that joins is idle, and gets
calls until it is as loaded as the rest. Other clients' calls are not seen:
with many clients that have few calls each this is nearly random.

A failed call keeps its slot for the failure penalty; with failure-penalty=0s,
as in the originals, a backend that fails at once looks idle and gets nearly
all.

Cost. A pick and an end move one backend from one load to another, and nobody
else is looked at; with ties=swrr one backend of each weight is among equals,
and a few where they have more than two dozen weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.levels import LeastLoaded, Level, Spot, spots_of
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import KeptSlots, kept_slots
from lbctl.balance.policies.base import Expectation, Policy, Setup, by_weight, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.ties import Listed, Rotating, drawn
from lbctl.balance.turns import Turns

_SCALE: Final = 16  # HAProxy's effective weights are in sixteenths
_GREATEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    ties: str = option("swrr", "who is chosen among equals", choices=("swrr", "rotate", "random", "first"))
    key: str = option("ratio", "how loads are compared", choices=("ratio", "fwlc"))
    failure_penalty: float = failure_penalty()


def ratio_key(weight: int, in_flight: int) -> float:
    """Return nginx's: quotients that are equal are equal as floats too."""
    return in_flight / weight


def fwlc_key(weight: int, in_flight: int) -> float:
    """Return HAProxy's."""
    return float((in_flight + 1) * _GREATEST // (weight * _SCALE)) if in_flight else 0.0


Key = Callable[[int, int], float]
_KEYS: Final[dict[str, Key]] = {"ratio": ratio_key, "fwlc": fwlc_key}


class TakingTurns(LeastLoaded):
    """Lets equals take turns by smooth weighted round robin; what each is owed is its credit."""

    def __init__(self, spots: Sequence[Spot], slots: KeptSlots, key: Key, shares: Sequence[float]) -> None:
        self._turns = Turns(spots, [spot.peer.credit for spot in spots])
        super().__init__(spots, slots, key, self._turns.level, shares)

    def retire(self) -> None:
        self._audit()
        for spot, credit in zip(self._spots, self._turns.credits(), strict=True):
            spot.peer.credit = credit


def _picker(peers: Sequence[Peer], setup: Setup) -> LeastLoaded:
    options: Options = setup.options
    slots, weights, key = kept_slots(peers, options.failure_penalty), weights_of(peers), _KEYS[options.key]
    shares, chances = by_weight(peers), [1] * len(peers) if options.ties == "random" else weights
    spots = spots_of(peers, slots.of, weights, chances)
    make: Callable[[float], Level]
    match options.ties:
        case "swrr":
            return TakingTurns(spots, slots, key, shares)
        case "rotate":
            make = Rotating
        case "random":
            make = drawn(chances, setup.rng.random)
        case _:
            make = Listed
    return LeastLoaded(spots, slots, key, make, shares)


POLICY = Policy(
    "least_conn",
    "fewest calls in flight for its weight",
    Expectation.FEEDBACK,
    _picker,
    Options(),
    aliases=("leastconn", "least_connections"),
    cost="O(log n)",
    by_load=True,
)
