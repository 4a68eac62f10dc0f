"""go-zero's p2c_ewma: of two random backends the one with the lower load.

    load = root(latency + 1 ns), rounded down, x (in flight + 1)

Two different backends are drawn; up to three times, until both are healthy.
The lower load wins, of equals the first drawn. The loser takes the call all
the same when its last pick is more than 1 s ago (force-pick), so that slow
backends are measured again: about once a second each.

    a: 10 ms, 4 in flight    root(10 000 001) = 3162    x 5 = 15810
    b: 40 ms, 1 in flight    root(40 000 001) = 6324    x 2 = 12648   chosen

Latency is a moving average: a reply that comes t after the one before gives
it exp(-t / 10 s) of the old value and the rest of the new; the first one is
taken as it is. Success is averaged alike, 1000 for a reply and 0 for
DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNIMPLEMENTED and
RESOURCE_EXHAUSTED; healthy is above 500. A backend whose calls all fail, ten
a second, is unhealthy after 65 of them.

Shares. Loads become equal, so shares are about as latency to the power -1.5,
and never above 2 / n: 10, 20 and 40 ms get 66, 25 and 9 %. Weights are
ignored. A new backend has load 1, takes every call it is drawn for until its
first reply, and is forced once.

What differs from go-zero: with two backends the order is that of the keys;
averages outlive a change of the set (forget=true loses them, as go-zero
does); its subset of 32 backends is an option of its own in lbctl. A failed
call counts as one that took the failure penalty, and keeps its slot so long;
with failure-penalty=0s, the original, a backend that fails at once is the
fastest, and attracts calls until it is unhealthy, and again afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import ClassVar, Final

from lbctl.balance.averages import FULL, Averages
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup
from lbctl.balance.policies.forcing import Forcing, Pair
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.model import Code

_TIMES: Final = range(3)  # that a pair is drawn at most
_HALF: Final = FULL // 2


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set; the defaults are go-zero's constants."""

    decay: float = option(10.0, "time in which a sample loses 63 % of its influence", above=0, unit="duration")
    force_pick: float = option(1.0, "time without a pick after which a loser is picked", above=0, unit="duration")
    forget: bool = option(False, "lose the averages whenever the set of backends changes")
    failure_penalty: float = failure_penalty()


class Node(Averages):
    """What is known of one peer."""

    __slots__ = ()

    zone_ns = 1

    def cost(self, peer: Peer, now_ns: int) -> int:
        """Return the load: root(lag) x (calls in flight + 1)."""
        return self.root * (peer.picks - peer.finished + 1 + (self.count and self.at(now_ns)))


class P2cEwma(Forcing[Node]):
    """Compares two by latency and calls in flight, as go-zero does."""

    failures: ClassVar = frozenset(
        {
            Code.DEADLINE_EXCEEDED,
            Code.INTERNAL,
            Code.UNAVAILABLE,
            Code.DATA_LOSS,
            Code.UNIMPLEMENTED,
            Code.RESOURCE_EXHAUSTED,
        }
    )
    measure, better, worse = "load", "lower", "higher"

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        if setup.options.forget:
            for peer in peers:
                peer.memory = None
        super().__init__(peers, setup, Node)
        self._pair = self._healthy if len(peers) > 2 else self._same

    def pick(self, call: Call) -> Peer:
        # The hot path: what a node says it costs is written out.
        now_ns = call.now_ns
        (peer, node), (rival, other) = self._pair()
        load = node.root * (peer.picks - peer.finished + 1 + (node.count and node.at(now_ns)))
        if other.root * (rival.picks - rival.finished + 1 + (other.count and other.at(now_ns))) < load:
            peer, node, rival, other = rival, other, peer, node
        if now_ns - other.picked_ns > self._force_ns and other is not node:
            peer, node = rival, other
        node.picked_ns = now_ns
        return peer

    def _same(self) -> Pair[Node]:
        """The two there are, in key order, or twice the only one."""
        return self._entries[0], self._entries[-1]

    def _healthy(self) -> Pair[Node]:
        """Two different ones, both healthy if such are found."""
        random, entries, size, others = self._drawing
        for _ in _TIMES:
            first, second = floor(random() * size), floor(random() * others)
            one, two = entries[first], entries[second + 1 if second >= first else second]
            if one[1].success > _HALF < two[1].success:
                break
        return one, two


POLICY = Policy(
    "p2c_ewma",
    "of two random backends the lower latency x busyness (go-zero)",
    Expectation.FEEDBACK,
    P2cEwma,
    Options(),
    aliases=("gozero_p2c",),
)
