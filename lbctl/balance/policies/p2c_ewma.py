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
from math import sqrt
from typing import Final

from lbctl.balance.ewma import moved
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept, is_fault, remembered
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.two_choices import NEVER_NS, Pairs
from lbctl.model import Code, Origin, Reply

_FULL: Final = 1000  # success of a backend whose calls never fail
_DRAWS: Final = 3
_FAILURES: Final = frozenset(
    {
        Code.DEADLINE_EXCEEDED,
        Code.INTERNAL,
        Code.UNAVAILABLE,
        Code.DATA_LOSS,
        Code.UNIMPLEMENTED,
        Code.RESOURCE_EXHAUSTED,
    }
)


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set; the defaults are go-zero's constants."""

    decay: float = option(10.0, "time in which a sample loses 63 % of its influence", above=0, unit="duration")
    force_pick: float = option(1.0, "time without a pick after which a loser is picked", above=0, unit="duration")
    forget: bool = option(False, "lose the averages whenever the set of backends changes")
    failure_penalty: float = failure_penalty()


class Node:
    """What is known of one peer."""

    __slots__ = ("kept", "lag_ns", "last_ns", "picked_ns", "root", "success")

    def __init__(self) -> None:
        self.lag_ns = 0
        self.root = 1  # of lag + 1
        self.success = _FULL
        self.last_ns = 0  # when a call last ended
        self.picked_ns = NEVER_NS
        self.kept = Kept()

    def load(self, peer: Peer, now_ns: int) -> int:
        """Return root(lag) x (calls in flight + 1)."""
        kept = self.kept
        return self.root * (peer.picks - peer.finished + 1 + (kept.count and kept.at(now_ns)))

    def learn(self, took_ns: int, success: int, now_ns: int, decay_ns: int) -> None:
        """A call ended."""
        self.lag_ns, old = moved(self.lag_ns, max(took_ns, 0), now_ns - self.last_ns, decay_ns)
        self.success = int(self.success * old + success * (1.0 - old))
        self.last_ns = now_ns
        self.root = int(sqrt(self.lag_ns + 1))


class P2cEwma:
    """Compares two by latency and calls in flight, as go-zero does."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._decay_ns = round(options.decay * 1e9)
        self._force_ns = round(options.force_pick * 1e9)
        self._penalty_ns = round(options.failure_penalty * 1e9)
        if options.forget:
            for peer in peers:
                peer.memory = None
        entries = [(peer, remembered(peer, Node)) for peer in peers]
        self._nodes = dict(entries)
        self._entries = entries
        self._draw = Pairs(entries, setup.rng).draw

    def pick(self, call: Call) -> Peer:
        first, second = self._pair()
        now_ns = call.now_ns
        if second[1].load(second[0], now_ns) < first[1].load(first[0], now_ns):
            first, second = second, first
        if now_ns - second[1].picked_ns > self._force_ns and second is not first:
            first = second
        first[1].picked_ns = now_ns
        return first[0]

    def why(self, call: Call) -> tuple[Peer, Why]:
        pair, now_ns = self._pair(), call.now_ns
        rows = tuple((peer, _figures(peer, node, now_ns)) for peer, node in dict.fromkeys(pair))
        first, second = pair
        if second[1].load(second[0], now_ns) < first[1].load(first[0], now_ns):
            first, second = second, first
        text = "the lower load of two"
        if now_ns - second[1].picked_ns > self._force_ns and second is not first:
            first, text = second, f"the higher load of two, forced: no pick for {self._force_ns / 1e9:g}s"
        first[1].picked_ns = now_ns
        return first[0], Why(text, ("latency", "in flight", "success", "load"), rows)

    def law(self) -> Law:
        return Law(equal(self._peers))

    def retire(self) -> None:
        """Leave nothing behind but what the peers remember."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is None:
            return
        took_ns, success = now_ns - begun_ns, _FULL
        if reply.code or reply.origin is not Origin.SERVER:
            success = 0 if reply.code in _FAILURES else _FULL
            if self._penalty_ns and is_fault(reply):
                took_ns = max(took_ns, self._penalty_ns)
                node.kept.add(now_ns, self._penalty_ns)
        node.learn(took_ns, success, now_ns, self._decay_ns)

    def _pair(self) -> tuple[tuple[Peer, Node], tuple[Peer, Node]]:
        """Two to compare: twice the same where there is only one."""
        entries = self._entries
        if len(entries) < 3:
            return entries[0], entries[-1]
        pair = self._draw()
        for _ in range(_DRAWS - 1):
            if pair[0][1].success > _FULL // 2 < pair[1][1].success:
                break
            pair = self._draw()
        return pair


def _figures(peer: Peer, node: Node, now_ns: int) -> tuple[str, ...]:
    load = node.load(peer, now_ns)
    return f"{node.lag_ns / 1e6:.1f}ms", str(peer.in_flight + node.kept.count), f"{node.success / 10:.0f}%", str(load)


POLICY = Policy(
    "p2c_ewma",
    "of two random backends the lower latency x busyness (go-zero)",
    Expectation.FEEDBACK,
    P2cEwma,
    Options(),
    aliases=("gozero_p2c",),
)
