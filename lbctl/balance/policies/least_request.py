"""Least request: the best of a few random backends, by requests in flight.

So many backends as choice-count says are drawn, each from all of them, so
that the same one may come twice; the one with fewest requests in flight takes
the call, of equals the first drawn. In flight 3, 1 and 2 at a, b and c:

    drawn    in flight    chosen
    a c      3  2         c
    b b      1  1         b
    c b      2  1         b
    a a      3  3         a

    mode=grpc    least_request_experimental of gRFC A48: weights are ignored,
                 and more than 10 choices are taken for 10
    mode=envoy   the same while all weights are equal. Otherwise backends come
                 in the order of their deadlines, and each goes back into the
                 queue 1 / w later, where w = weight / (requests in flight +
                 1) ^ active-request-bias: with a bias of 0 that is weighted
                 round robin
    full-scan    looks at every backend, of equals one by chance (Envoy)

While the loads keep their order, d draws give the backend of rank r among n,
the best being 1, ((n - r + 1)^d - (n - r)^d) / n^d of the calls. So the
busiest is still drawn alone now and then, in 1 of n^d calls.

Nothing is lost when backends join or leave; one that joins is idle and wins
wherever it is drawn. Only the queue of mode=envoy begins anew with every
change of the set, as Envoy's does, after fewer picks than there are backends,
by chance. So changes every few picks favour the heavy: with weights 5, 1 and 1
the first gets all calls if they come after every 1 or 2, 89 % if after every 3.

A failed call keeps its slot for the failure penalty; with failure-penalty=0s,
as in the originals, a backend that fails at once looks idle: with full-scan it
gets nearly all the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import floor
from typing import Final

from lbctl.balance.levels import LeastLoaded, spots_of
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept, kept_slots
from lbctl.balance.policies.base import Call, Expectation, Law, Picker, Policy, Setup, Why, by_weight, equal, weights_of
from lbctl.balance.policies.least_conn import ratio_key
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import Penalised, failure_penalty
from lbctl.balance.ties import drawn

_MOST: Final = 10  # choices; more are taken for so many


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    choice_count: int = option(2, "backends drawn for a call; above 10 is 10", least=2, most=1_000_000)
    mode: str = option("grpc", "whose rules", choices=("grpc", "envoy"))
    full_scan: bool = option(False, "look at every backend instead")
    active_request_bias: float = option(1.0, "mode=envoy: how much requests in flight lower a weight", least=0, most=10)
    failure_penalty: float = failure_penalty()


class Sampling(Penalised[Kept]):
    """Draws with replacement."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Kept)
        self._random = setup.rng.random
        self._more = range(min(setup.options.choice_count, _MOST) - 1)

    def pick(self, call: Call) -> Peer:
        # The hot path: floor is int here, in half the time.
        entries, random = self._entries, self._random
        size = len(entries)
        best, kept = entries[floor(random() * size)]
        least = best.picks - best.finished + (kept.count and kept.at(call.now_ns))
        for _ in self._more:
            peer, kept = entries[floor(random() * size)]
            load = peer.picks - peer.finished + (kept.count and kept.at(call.now_ns))
            if load < least:
                best, least = peer, load
        return best

    def why(self, call: Call) -> tuple[Peer, Why]:
        size = len(self._entries)
        drawn = [self._entries[int(self._random() * size)] for _ in range(len(self._more) + 1)]
        loads = [peer.in_flight + kept.at(call.now_ns) for peer, kept in drawn]
        rows = tuple((peer, (str(load),)) for (peer, _), load in zip(drawn, loads, strict=True))
        best = drawn[loads.index(min(loads))][0]
        return best, Why(f"the fewest requests in flight of {len(drawn)} drawn", ("in flight",), rows)


class Scheduled(Sampling):
    """Envoy's earliest deadline first, with weights that requests in flight lower."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._bias = setup.options.active_request_bias
        self._weights = weights_of(peers)
        self._order = len(peers)  # of going back into the queue: who came first goes first
        self._queue = [(1.0 / self._weight(index, 0), index, index) for index in range(len(peers))]
        heapify(self._queue)
        for _ in range(setup.rng.randrange(len(peers))):
            self._next(0)  # so that many clients do not all begin with the same backend

    def pick(self, call: Call) -> Peer:
        return self._peers[self._next(call.now_ns)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        rows = tuple(
            (self._peers[index], (str(self._load(index, call.now_ns)), str(self._weights[index]), f"{deadline:.4f}"))
            for deadline, _, index in sorted(self._queue)
        )
        peer = self._peers[self._next(call.now_ns)]
        return peer, Why("the earliest deadline", ("in flight", "weight", "deadline"), rows)

    def law(self) -> Law:
        return Law(by_weight(self._peers))

    def _next(self, now_ns: int) -> int:
        deadline, _, index = self._queue[0]
        self._order += 1
        heapreplace(self._queue, (deadline + 1.0 / self._weight(index, now_ns), self._order, index))
        return index

    def _weight(self, index: int, now_ns: int) -> float:
        busy: float = (self._load(index, now_ns) + 1) ** self._bias
        return self._weights[index] / busy

    def _load(self, index: int, now_ns: int) -> int:
        peer, kept = self._entries[index]
        return peer.in_flight + kept.at(now_ns)


def _scanning(peers: Sequence[Peer], setup: Setup) -> LeastLoaded:
    slots, ones = kept_slots(peers, setup.options.failure_penalty), [1] * len(peers)
    spots = spots_of(peers, slots.of, ones, ones)
    return LeastLoaded(spots, slots, ratio_key, drawn(ones, setup.rng.random), equal(peers))


def _picker(peers: Sequence[Peer], setup: Setup) -> Picker:
    build: Callable[[Sequence[Peer], Setup], Picker] = Sampling
    if setup.options.mode == "envoy" and len(set(weights_of(peers))) > 1:
        build = Scheduled
    elif setup.options.full_scan:
        build = _scanning
    return build(peers, setup)


POLICY = Policy(
    "least_request",
    "fewest requests in flight of a few random backends",
    Expectation.FEEDBACK,
    _picker,
    Options(),
    aliases=("least_request_experimental",),
    cost="O(choices)",
    by_load=True,
)
