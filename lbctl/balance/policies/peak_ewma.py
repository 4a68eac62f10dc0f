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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.peak_costs import Envoy, Finagle, Node, Tower
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_fault, remembered
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.model import Origin, Reply

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


class PeakEwma:
    """Compares two by a cost that its dialect knows."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._penalty_ns = round(options.failure_penalty * 1e9)
        entries = [(peer, remembered(peer, Node)) for peer in peers]
        self._nodes = dict(entries)
        pool = entries if len(entries) > 1 else entries * 2
        self._dialect = _DIALECTS[options.dialect](pool, options.decay, options.default_rtt, setup.rng)
        self._draw, self._cost, self._learn = self._dialect.draw, self._dialect.cost, self._dialect.learn

    def pick(self, call: Call) -> Peer:
        (first, node), (second, other), is_first = self._draw()
        now_ns = call.now_ns
        busy = first.picks - first.finished + (node.kept.count and node.kept.at(now_ns))
        cost = self._cost(node, busy, now_ns)
        busy = second.picks - second.finished + (other.kept.count and other.kept.at(now_ns))
        rival = self._cost(other, busy, now_ns)
        return first if cost < rival or (is_first and cost == rival) else second

    def why(self, call: Call) -> tuple[Peer, Why]:
        (first, node), (second, other), is_first = self._draw()
        now_ns = call.now_ns
        busy = first.in_flight + node.kept.at(now_ns), second.in_flight + other.kept.at(now_ns)
        costs = self._cost(node, busy[0], now_ns), self._cost(other, busy[1], now_ns)
        rows = tuple(
            (peer, (f"{self._dialect.latency_ms(each):.1f}ms", str(in_flight), f"{cost:.4g}"))
            for peer, each, in_flight, cost in zip((first, second), (node, other), busy, costs, strict=True)
        )
        if costs[0] == costs[1]:
            return first if is_first else second, Why("two of equal cost", ("latency", "in flight", "cost"), rows)
        peer = first if costs[0] < costs[1] else second
        return peer, Why("the lower cost of two", ("latency", "in flight", "cost"), rows)

    def law(self) -> Law:
        return Law(equal(self._peers))

    def retire(self) -> None:
        """Leave nothing behind but what the peers remember."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is None:
            return
        took_ns = max(now_ns - begun_ns, 0)
        if self._penalty_ns and (reply.code or reply.origin is not Origin.SERVER) and is_fault(reply):
            took_ns = max(took_ns, self._penalty_ns)
            node.kept.add(now_ns, self._penalty_ns)
        self._learn(node, took_ns, now_ns)


POLICY = Policy(
    "peak_ewma",
    "of two random backends the lower peak latency x busyness",
    Expectation.FEEDBACK,
    PeakEwma,
    Options(),
)
