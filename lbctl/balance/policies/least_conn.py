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
with many clients that have few calls each this is nearly random. A failed
call keeps its slot for the failure penalty; with failure-penalty=0s, as in
the originals, a backend that fails at once looks idle and gets nearly all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.levels import Levels, ladders
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept, KeptSlots, is_fault, kept_slots
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, by_weight, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.ties import Drawn, Rotating, Smooth
from lbctl.model import Origin, Reply

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


_KEYS: Final = {"ratio": ratio_key, "fwlc": fwlc_key}


class LeastLoaded:
    """Keeps its peers in the order of their loads; for every policy that looks at all of them."""

    def __init__(self, peers: Sequence[Peer], slots: KeptSlots, levels: Levels, shares: Sequence[float]) -> None:
        self._peers = peers
        self._index = {peer: index for index, peer in enumerate(peers)}
        self._kept = slots
        self._due = slots.due
        self._levels = levels
        self._lowest = levels.lowest
        self._touched = levels.touched
        self._shares = shares

    def pick(self, call: Call) -> Peer:
        if self._due and self._due[0][0] <= call.now_ns:
            self._free(call.now_ns)
        return self._peers[self._lowest()]

    def why(self, call: Call) -> tuple[Peer, Why]:
        self._free(call.now_ns)
        found = self._levels.audit()
        least = min(key for _, key in found)
        rows = [
            (peer, (str(load), str(peer.weight), f"{key:g}"))
            for peer, (load, key) in zip(self._peers, found, strict=True)
        ]
        tied = sum(key == least for _, key in found)
        text = "the least load" if tied == 1 else f"one of {tied} with the least load"
        return self._peers[self._levels.lowest()], Why(text, ("in flight", "weight", "load"), tuple(rows))

    def law(self) -> Law:
        return Law(self._shares)

    def retire(self) -> None:
        if isinstance(self._levels, Smooth):
            for peer, credit in zip(self._peers, self._levels.credits(), strict=True):
                peer.credit = credit

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        index = self._index.get(peer)
        if index is not None:
            self._touched[index] = None
            if self._kept.penalty_ns and (reply.code or reply.origin is not Origin.SERVER) and is_fault(reply):
                self._kept.add(index, now_ns)

    def _free(self, now_ns: int) -> None:
        for index in self._kept.freed(now_ns):
            self._touched[index] = None


def _picker(peers: Sequence[Peer], setup: Setup) -> LeastLoaded:
    slots = kept_slots(peers, setup.options.failure_penalty)
    return LeastLoaded(peers, slots, _levels(peers, slots.of, setup), by_weight(peers))


def _levels(peers: Sequence[Peer], kept: Sequence[Kept], setup: Setup) -> Levels:
    options: Options = setup.options
    weights = weights_of(peers)
    rungs = ladders(weights, _KEYS[options.key])
    match options.ties:
        case "swrr":
            return Smooth(peers, kept, rungs, weights)
        case "rotate":
            return Rotating(peers, kept, rungs)
        case "random":
            return Drawn(peers, kept, rungs, [1] * len(peers), setup.rng)
    return Levels(peers, kept, rungs)


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
