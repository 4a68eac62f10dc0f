"""Kratos's p2c: of two random backends the one with the higher weight.

    load   = root(latency + 5 ms), rounded down, x (in flight + 1)
    weight = success x 10000 / load          success is 1000 at best

Two different backends are drawn and the higher weight wins, of equals the
first drawn. The loser takes the call all the same when its last pick is more
than 3 s ago (force-pick). Latencies in ns:

    a: 20 ms, 2 in flight, success 1000    load 5000 x 3    weight 666.7
    b: 20 ms, 2 in flight, success  500    load 5000 x 3    weight 333.3
    c: no reply yet, idle                  load 100000 x 1  weight 100

Latency is a moving average: a reply that comes t after the one before gives
it exp(-t / 600 ms) of the old value and the rest of the new; the first one is
taken as it is. Success is averaged alike, 1000 for a reply and 0 for
DEADLINE_EXCEEDED, CANCELLED and UNAVAILABLE. Calls that have been in flight
for longer than the average are a warning: where they are more than half of
those in flight (of 200 slots), their mean age counts as the latency. A weight
is computed at most every 5 ms (cache).

Shares. Loads become equal, so shares are about as 1 / (T root(T + 5 ms)) and
never above 2 / n: 10, 20 and 40 ms get 64, 26 and 10 %. Weights from the
registry are ignored. A new backend has no latency, which costs it little, and
is forced once.

Averages stay with the backends when others join or leave. A failed call also
counts as one that took the failure penalty, and keeps its slot so long; with
failure-penalty=0s, the original, success alone keeps calls away, and only for
those three codes: a backend that fails at once with another looks fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.kratos import FULL, Node
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_fault, remembered
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.two_choices import Pairs
from lbctl.model import Code, Origin, Reply

_FAILURES: Final = frozenset({Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set; the defaults are Kratos's constants."""

    decay: float = option(0.6, "time in which a sample loses 63 % of its influence", above=0, unit="duration")
    force_pick: float = option(3.0, "time without a pick after which a loser is picked", above=0, unit="duration")
    cache: float = option(0.005, "time for which a weight is not computed anew", least=0, unit="duration")
    failure_penalty: float = failure_penalty()


class KratosP2c:
    """Compares two by success, latency and calls in flight, as Kratos does."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._decay_ns = round(options.decay * 1e9)
        self._force_ns = round(options.force_pick * 1e9)
        self._cache_ns = round(options.cache * 1e9) or -1  # even at the same time
        self._penalty_ns = round(options.failure_penalty * 1e9)
        self._entries = [(peer, remembered(peer, Node)) for peer in peers]
        self._nodes = dict(self._entries)
        self._draw = Pairs(self._entries, setup.rng).draw

    def pick(self, call: Call) -> Peer:
        now_ns, cache_ns = call.now_ns, self._cache_ns
        first, second = self._pair()
        if second[1].weight_at(second[0], now_ns, cache_ns) > first[1].weight_at(first[0], now_ns, cache_ns):
            first, second = second, first
        if now_ns - second[1].picked_ns > self._force_ns and second is not first:
            first = second
        first[1].picked(now_ns)
        return first[0]

    def why(self, call: Call) -> tuple[Peer, Why]:
        now_ns, cache_ns = call.now_ns, self._cache_ns
        first, second = pair = self._pair()
        weights = first[1].weight_at(first[0], now_ns, cache_ns), second[1].weight_at(second[0], now_ns, cache_ns)
        rows = tuple((peer, _figures(peer, node)) for peer, node in dict.fromkeys(pair))
        if weights[1] > weights[0]:
            first, second = second, first
        text = "the higher weight of two"
        if now_ns - second[1].picked_ns > self._force_ns and second is not first:
            first, text = second, f"the lower weight of two, forced: no pick for {self._force_ns / 1e9:g}s"
        first[1].picked(now_ns)
        return first[0], Why(text, ("latency", "in flight", "success", "weight"), rows)

    def law(self) -> Law:
        return Law(equal(self._peers))

    def retire(self) -> None:
        """Leave nothing behind but what the peers remember."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is None:
            return
        took_ns, success = now_ns - begun_ns, FULL
        if reply.code or reply.origin is not Origin.SERVER:
            success = 0 if reply.code in _FAILURES else FULL
            if self._penalty_ns and is_fault(reply):
                took_ns = max(took_ns, self._penalty_ns)
                node.kept.add(now_ns, self._penalty_ns)
        node.ended(begun_ns, took_ns, success, now_ns, self._decay_ns)

    def _pair(self) -> tuple[tuple[Peer, Node], tuple[Peer, Node]]:
        """Two to compare: twice the same where there is only one."""
        entries = self._entries
        return self._draw() if len(entries) > 1 else (entries[0], entries[0])


def _figures(peer: Peer, node: Node) -> tuple[str, ...]:
    in_flight = peer.in_flight + node.kept.count
    return f"{node.lag_ns / 1e6:.1f}ms", str(in_flight), f"{node.success / 10:.0f}%", f"{node.weight:.1f}"


POLICY = Policy(
    "kratos_p2c",
    "of two random backends the better success, latency and busyness (Kratos)",
    Expectation.FEEDBACK,
    KratosP2c,
    Options(),
)
