"""Power of two choices: two different backends by chance, the less busy one.

Two backends are drawn, every pair with the same chance, and the one with
fewer calls in flight takes the call; of equals, the first drawn. Four
backends a, b, c, d with 0, 1, 2, 3 calls in flight:

    drawn    in flight    chosen
    c a      2  0         a
    b d      1  3         b
    d c      3  2         c
    (d is chosen only when it has no more than another)

While the loads keep that order, the backend of rank r among n, the best
being 1, gets 2 (n - r) / (n (n - 1)): 50, 33, 17 and 0 % of the calls here.
So nobody ever gets more than 2 / n, and the busiest gets nothing.

Why two are enough: with random arrivals at 90 % of the capacity and very many
backends, a call spends 10 service times with one random choice, 2.61 with
two, and 2.03 with three (least_request with choice-count=3). And where loads
are known late, two random choices do not all run to the same backend, as the
least loaded of all attracts everybody.

Weights are ignored. With one call at a time all are tied and each has the
same chance. Calls in flight are kept with each backend, so nothing is lost
when others join or leave. A failed call keeps its slot for the failure
penalty; with failure-penalty=0s, as in the originals, a backend that fails at
once looks idle and attracts calls, up to 2 / n of them. Drawing different
ones is what Finagle, Tower and Linkerd do; gRPC and Envoy may draw the same
one twice, which is least_request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.penalised import Penalised, failure_penalty
from lbctl.balance.two_choices import Pairs


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    failure_penalty: float = failure_penalty()


class P2c(Penalised[Kept]):
    """Compares two, and never looks at the others."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Kept)
        self._pool = self._entries if len(peers) > 1 else self._entries * 2
        self._size, self._others = len(self._pool), len(self._pool) - 1
        self._random = setup.rng.random
        self._draw = Pairs(self._pool, setup.rng).draw

    def pick(self, call: Call) -> Peer:
        pool, random = self._pool, self._random
        index = floor(random() * self._size)  # the draw of Pairs, without a call
        second = floor(random() * self._others)
        peer, kept = pool[index]
        rival, other = pool[second + 1 if second >= index else second]
        load = peer.picks - peer.finished
        if kept.count:
            load += kept.at(call.now_ns)
        rival_load = rival.picks - rival.finished
        if other.count:
            rival_load += other.at(call.now_ns)
        return peer if load <= rival_load else rival

    def why(self, call: Call) -> tuple[Peer, Why]:
        (first, kept), (second, other) = self._draw()
        loads = first.in_flight + kept.at(call.now_ns), second.in_flight + other.at(call.now_ns)
        peer = first if loads[0] <= loads[1] else second
        rows = ((first, (str(loads[0]),)), (second, (str(loads[1]),)))
        if loads[0] == loads[1]:
            return peer, Why("two drawn, equally busy: the first", ("in flight",), rows)
        return peer, Why("two drawn: the one with fewer calls in flight", ("in flight",), rows)


POLICY = Policy("p2c", "the less busy of two random backends", Expectation.FEEDBACK, P2c, Options(), by_load=True)
