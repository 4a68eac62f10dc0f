"""Smooth weighted round robin, nginx's rule: exact shares by weight.

Picks of one peer are spread out instead of in runs. Before each pick every
peer's current weight grows by its weight; the first one with the greatest
takes the call and pays the sum of all weights. For a:5 b:1 c:1 (sum 7):

    pick   after growing    chosen   after paying
    1       5   1   1       a        -2   1   1
    2       3   2   2       a        -4   2   2
    3       1   3   3       b         1  -4   3
    4       6  -3   4       a        -1  -3   4
    5       4  -2   5       c         4  -2  -2
    6       9  -1  -1       a         2  -1  -1
    7       7   0   0       a         0   0   0

A peer's current weight over the sum is the number of calls it is owed, N p -
count. Runs are short, but not always 1: a comes four times in a row where two
cycles meet. What happens to what is owed when the set or its weights change:

- state=spread, the default: it outlives the picker, so a rebuild every few
  picks favours nobody. It is in calls, so new weights owe nobody more calls
  than before. A new peer starts at 0, and what peers outside the set are owed
  is shared out by weight, which keeps the sum 0: no bursts.
- state=kratos keeps the current weights themselves, as Kratos, nginx and
  others do. A peer that leaves takes its own along, so the sum is not 0 any
  more, and the others catch up with one another in a burst: when a leaves
  after pick 3, with b at -4 and c at 3, the next are c c c c b c b c.
- state=reset starts from 0 with every picker, as Kratos' gRPC balancer does.
  Rebuilt after every 1 or 2 picks, all calls go to a; after every 3, the
  shares are 67 %, 33 % and 0.

max_fails above 0 turns on nginx's handling of failures (its default is 1,
with a fail_timeout of 10 s). A failure takes weight / max_fails off a peer's
effective weight, which each selection it takes part in raises by 1; after
max_fails of them the peer is left out until fail_timeout has passed. A retry
leaves out peers that were tried. Failures are lost connections, deadlines and
UNAVAILABLE. For a:5, failing always, b:1 and c:1 with max_fails=5, peers
tried per call:

    ab c ab ab ab c ab b b c b c ...      a is out after its fifth failure

Shares are then what failures make them, and no test judges them. Where
everyone is out nginx answers 502; lbctl goes on as though nobody was. A pick
looks at everyone then, and otherwise one by one at those whose effective
weight is coming back, since it changes at every selection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

from lbctl.balance.ahead import Ahead
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Picker, Policy, Setup, Why, unit_of, weights_of
from lbctl.balance.policies.nginx_wrr import NginxWrr
from lbctl.balance.policies.options import option
from lbctl.balance.slots import endless
from lbctl.balance.smooth import Smooth, furthest, settled

STATES: Final = ("spread", "kratos", "reset")


@dataclass(frozen=True, slots=True)
class Options:
    """What becomes of credit, and of failures."""

    state: str = option("spread", "what a change of the set does to what peers are owed", choices=STATES)
    max_fails: int = option(
        0,
        "failures after which a backend is left out, as in nginx; 0: failures change nothing",
        least=0,
        most=1_000_000,
    )
    fail_timeout: float = option(10.0, "how long it is left out", least=0, unit="duration")

    def __post_init__(self) -> None:
        if self.max_fails and self.state != "spread":
            raise ValueError("max-fails keeps current weights as nginx does, state cannot be chosen with it")


class SmoothWrr:
    """Hands out picks computed ahead; what each peer is owed is its credit.

    Credit is in calls; with state=kratos it is the current weight.
    """

    def __init__(self, peers: Sequence[Peer], setup: Setup, state: str = "spread") -> None:
        weights = weights_of(peers)
        divisor = gcd(*weights)
        self._peers = peers
        self._weights = [weight // divisor for weight in weights]
        self._sum = sum(self._weights)
        self._state = state
        self._scale = 1.0 if state == "spread" else sum(weights) / unit_of(peers)
        self._opening = self._opened()
        self._smooth = Smooth(self._weights, self._opening)
        self._ahead = Ahead(peers, self._weights, self._smooth.take)
        self.pick: Callable[[Call], Peer] = endless(self._ahead.picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        owed = self._owed()
        peer = next(self._ahead.picks)
        rows = [
            (each, (str(weight), f"{(credit + weight / self._sum) * self._sum:g}"))
            for each, weight, credit in zip(self._peers, self._weights, owed, strict=True)
        ]
        return peer, Why("the greatest current weight, each grown by its weight", ("weight", "current"), tuple(rows))

    def law(self) -> Law:
        middle = sum(self._opening) / len(self._opening)  # who is first does not depend on what all have in common
        return Law(
            [weight / self._sum for weight in self._weights], furthest([each - middle for each in self._opening])
        )

    def retire(self) -> None:
        for peer, credit in zip(self._peers, self._owed(), strict=True):
            peer.credit = credit * self._scale

    def _opened(self) -> list[float]:
        if self._state == "reset":
            return [0.0] * len(self._peers)
        owed = [peer.credit / self._scale for peer in self._peers]
        return settled(owed, self._weights) if self._state == "spread" else owed

    def _owed(self) -> list[float]:
        """The calls owed to each peer now: what the computed picks left, less those that were not handed out."""
        unused = self._ahead.unused()
        left = unused.total()
        return [
            credit - (left * weight - unused[peer] * self._sum) / self._sum
            for peer, weight, credit in zip(self._peers, self._weights, self._smooth.credits(), strict=True)
        ]


def _build(peers: Sequence[Peer], setup: Setup) -> Picker:
    options: Options = setup.options
    if options.max_fails:
        return NginxWrr(peers, setup, options.max_fails, options.fail_timeout)
    return SmoothWrr(peers, setup, options.state)


POLICY = Policy(
    "smooth_wrr",
    "exact shares by weight, evenly spread",
    Expectation.SEQUENCE,
    _build,
    Options(),
    aliases=("wrr", "swrr"),
    cost="O(1); O(log n) with max-fails",
)
