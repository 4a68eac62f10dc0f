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

Cost. A weight is computed from what is kept, except where calls are late:
then up to 200 of them are summed up.

Averages stay with the backends when others join or leave. A failed call also
counts as one that took the failure penalty, and keeps its slot so long; with
failure-penalty=0s, the original, success alone keeps calls away, and only for
those three codes: a backend that fails at once with another looks fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import ClassVar

from lbctl.balance.kratos import Node
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup
from lbctl.balance.policies.forcing import Forcing
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.model import Code


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set; the defaults are Kratos's constants."""

    decay: float = option(0.6, "time in which a sample loses 63 % of its influence", above=0, unit="duration")
    force_pick: float = option(3.0, "time without a pick after which a loser is picked", above=0, unit="duration")
    cache: float = option(0.005, "time for which a weight is not computed anew", least=0, unit="duration")
    failure_penalty: float = failure_penalty()


class KratosP2c(Forcing[Node]):
    """Compares two by success, latency and calls in flight, as Kratos does."""

    failures: ClassVar = frozenset({Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNAVAILABLE})
    measure, better, worse = "weight", "higher", "lower"

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Node)
        self._cache_ns = round(setup.options.cache * 1e9) or -1  # even at the same time
        for node in self._nodes.values():
            node.cache_ns = self._cache_ns

    def pick(self, call: Call) -> Peer:
        # The hot path: what a node says it costs is written out, as long as its weight stands.
        now_ns = call.now_ns
        random, entries, size, others = self._drawing
        first, second = floor(random() * size), floor(random() * others)
        peer, node = entries[first]
        rival, other = entries[second + 1 if second >= first else second]
        stands_ns = now_ns - self._cache_ns
        if node.weighed_ns < stands_ns:
            node.weight, node.weighed_ns = node.success * 10_000 / node.load(peer, now_ns), now_ns
        if other.weighed_ns < stands_ns:
            other.weight, other.weighed_ns = other.success * 10_000 / other.load(rival, now_ns), now_ns
        if other.weight > node.weight:
            peer, node, rival, other = rival, other, peer, node
        if now_ns - other.picked_ns > self._force_ns and other is not node:
            peer, node = rival, other
        node.picked(now_ns)
        return peer


POLICY = Policy(
    "kratos_p2c",
    "of two random backends the better success, latency and busyness (Kratos)",
    Expectation.FEEDBACK,
    KratosP2c,
    Options(),
)
