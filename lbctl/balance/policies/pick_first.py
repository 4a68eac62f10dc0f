"""Pick first: every call goes to one peer for as long as it can take calls.

    ready        chosen
    a b c        a
    a b c d      a
    b c d        b
    a b c d      b

The first peer in order is chosen. A change of the set does not move it: new
peers get nothing, so adding backends relieves nobody. When the chosen one
leaves, the first of the rest follows it, and keeps the calls when the old one
returns. Weights are ignored, but for shuffle=weighted.

The order is made as gRPC makes it:

    1  key order, or shuffled (gRFC A62): shuffle=uniform gives everyone the
       same chance to be first, shuffle=weighted one by weight: sorted by
       u ** (1 / w), u uniform (gRFC A113)
    2  an address that was there before is dropped
    3  address families take turns, the first one's first: 6a 6b 4a name
       becomes 6a 4a name 6b (gRFC A61); interleave=false leaves the order

gRPC connects in this order, each attempt when the one before has failed or
250 ms have passed, keeps the first connection that is ready and closes the
rest; when that is lost it starts again from the first address. lbctl connects
to all backends anyway, to show them, and goes to the first in order that is
ready: it is never at the second because the first was slow to connect, and
moves on without connecting. Many clients that do not shuffle all go to one
backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from lbctl.balance.eyeballs import interleaved
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.shared_number import keep_number, number_of


@dataclass(frozen=True, slots=True)
class Options:
    """Which peer is the first."""

    shuffle: str = option(
        "no", "who is first: by key, by chance, or by chance and weight", choices=("no", "uniform", "weighted")
    )
    interleave: bool = option(True, "address families take turns")


class PickFirst:
    """Sticks to one peer. ``credit`` is the number of its claim: the latest one of those that are there stands."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._peers = peers
        last = max(peers, key=lambda peer: peer.credit)
        self._chosen = last if last.credit else ordered(peers, setup.options, setup.rng)[0]

    def pick(self, call: Call) -> Peer:
        return self._chosen

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self._chosen, Why("every call goes to this backend for as long as it can take calls")

    def law(self) -> Law:
        return Law([1.0 if peer is self._chosen else 0.0 for peer in self._peers], 0.0)

    def retire(self) -> None:
        for peer in self._peers:
            peer.credit = 0.0
        if self._chosen.reachable:  # a chosen peer that is gone has no claim when it returns
            latest = number_of(self._peers)  # perhaps that of somebody who is out of the rotation for now
            self._chosen.credit = number = 1 if latest is None else latest.value + 1
            keep_number(self._peers, number)


def ordered(peers: Sequence[Peer], options: Options, rng: Random) -> Sequence[Peer]:
    """The peers in the order in which they are preferred."""
    match options.shuffle:
        case "uniform":
            peers = rng.sample(peers, len(peers))
        case "weighted":
            peers = shuffled(peers, weights_of(peers), rng)
    return interleaved(peers, lambda peer: peer.instance.endpoint) if options.interleave else peers


def shuffled(peers: Sequence[Peer], weights: Sequence[int], rng: Random) -> list[Peer]:
    """The peers in random order, each the first of those that are left with a chance in proportion to its weight."""
    lots = {peer: rng.expovariate(weight) for peer, weight in zip(peers, weights, strict=True)}  # -ln u ** (1 / w)
    return sorted(peers, key=lots.__getitem__)


POLICY = Policy(
    "pick_first",
    "all calls to one backend, until it goes",
    Expectation.SINGLE,
    PickFirst,
    Options(),
    aliases=("pf",),
    ignores_health=True,
)
