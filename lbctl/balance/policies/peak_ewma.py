"""Peak EWMA: of two random backends the lower latency times calls in flight.

The average latency believes bad news at once and good news slowly.

    cost = average latency x (in flight + 1)

Two different backends are drawn; the lower cost wins, of equals the first.
A latency above the average replaces it; a lower one moves it, with weight
1 - exp(-t / 10 s) where t is the time since it was last touched. Reading it
is a sample of 0, so what is not used is slowly forgotten and tried again:

    t      what happens       average
    0 s    reply in 100 ms    100 ms
    1 s    looked at           90.5 ms   100 x exp(-.1)
    1 s    reply in 50 ms      90.5 ms   no time has passed since the look
    2 s    reply in 300 ms    300 ms     a peak

    dialect=finagle  never answered: cost 0 when idle, else 2^47 + in flight
    dialect=tower    begins with default-rtt, 30 ms (Linkerd), and forgets it
    dialect=envoy    no decay by looking, no peaks; samples are averaged every
                     100 ms; never answered: 10 ms when idle, else 1 000 s;
                     equal costs are decided by chance

Shares. Costs become equal, so shares are about as 1 / latency^2 and never
above 2 / n: 10, 20 and 40 ms get 67, 27 and 7 %. Weights are ignored. A new
backend is taken as said above. Averages stay with the backends when others
join or leave. A failed call counts as one that took the failure penalty, and
keeps its slot so long; with failure-penalty=0s, the originals, a backend that
fails at once is the fastest and attracts calls, up to 2 / n of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.peak_costs import Envoy, Finagle, Node, Tower
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import Measuring, failure_penalty
from lbctl.model import Reply

_DIALECTS: Final[dict[str, type[Finagle | Envoy]]] = {"finagle": Finagle, "tower": Tower, "envoy": Envoy}


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    dialect: str = option("finagle", "whose rules", choices=tuple(_DIALECTS))
    decay: float = option(10.0, "time in which a sample loses 63 % of its influence", above=0, unit="duration")
    default_rtt: float = option(
        0.0, "latency of a backend that never answered; 0s is the dialect's own", least=0, unit="duration"
    )
    failure_penalty: float = failure_penalty()


class PeakEwma(Measuring[Node]):
    """Compares two by a cost that its dialect knows."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Node)
        options: Options = setup.options
        pool = self._entries if len(peers) > 1 else self._entries * 2
        self._dialect = _DIALECTS[options.dialect](pool, options.decay, options.default_rtt, setup.rng)
        self.pick: Callable[[Call], Peer] = self._dialect.pick

    def why(self, call: Call) -> tuple[Peer, Why]:
        now_ns = call.now_ns
        pair = self._dialect.draw()
        busy = [peer.in_flight + node.at(now_ns) for peer, node in pair]
        costs = [self._dialect.cost(node, in_flight, now_ns) for (_, node), in_flight in zip(pair, busy, strict=True)]
        rows = tuple(
            (peer, (f"{self._dialect.latency_ms(node):.1f}ms", str(in_flight), f"{cost:.4g}"))
            for (peer, node), in_flight, cost in zip(pair, busy, costs, strict=True)
        )
        text = "two of equal cost" if costs[0] == costs[1] else "the lower cost of two"
        return pair[costs[1] < costs[0]][0], Why(text, ("latency", "in flight", "cost"), rows)

    def _learn(self, node: Node, begun_ns: int, took_ns: int, now_ns: int, reply: Reply) -> None:
        self._dialect.learn(node, took_ns, now_ns)


POLICY = Policy(
    "peak_ewma",
    "of two random backends the lower peak latency x busyness",
    Expectation.FEEDBACK,
    PeakEwma,
    Options(),
)
