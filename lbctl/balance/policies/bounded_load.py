"""Bounded load: by key, on to the next backend where the owner is too busy.

Nobody may have much more than its share in flight; who is full passes a key on.
With m calls in flight, the new one included, n backends of equal weight and
factor=1.25 each may have ceil(1.25 m / n); by weight, ceil(1.25 m w / sum). The
call goes to the first backend on its key's way around the ring that has fewer:

    in flight   new call: m   each may have    way a b c   goes to
    a0 b0 c0    1             ceil(0.42) = 1   a           a
    a1 b0 c0    2             ceil(0.83) = 1   a full, b   b
    a1 b1 c0    3             ceil(1.25) = 2   a           a
    a2 b1 c0    4             ceil(1.67) = 2   a full, b   b

So no pick leaves a backend above its bound, and there always is one below. The
nearer factor is to 1, the more keys leave their owner; factor=inf is the plain
ring, that of consistent_hash with weighted=true: 100 points (replicas=N) per
unit of weight, by crc32.

probe=ring   the way is around the ring (Mirrokni, Thorup and Zadimoghaddam;
             HAProxy's hash-balance-factor)
probe=envoy  Envoy's hash_balance_factor, of 100 x factor per cent, over its
             ring_hash: each may have max(1, ceil(floor((m x percent + 99) /
             100) x part)) slots, and is full with more in flight than slots;
             the way after the owner is a shuffle by the key's hash; where all
             are full, the least full takes it. Of the ring's 8388608 points,
             with weights that far apart, there are 524288

A failed call keeps its slot for the failure penalty, in the load of its backend
and in m, so the bound holds with kept slots counted. A backend that fails at
once is soon full, and its own keys are passed on too. With 5 backends, 20 calls
at a time, of 20 ms where they do not fail, and so m = 20 + kept:

    kept slots    new call: m    each may have        its next key
    0             20             ceil(5.00) = 5       goes there
    6             26             ceil(6.50) = 7       goes there
    7             27             ceil(6.75) = 7       full, goes on

That is 7 calls a second of 1000, where its part of the ring is a fifth or so.
With failure-penalty=0s, as in the originals, nothing is in flight there: it
gets all its keys and those of whoever is full, up to half of all calls. With
factor=inf nobody is full, and it gets the keys that it owns. A penalty that is
shorter than calls take leaves it the quickest, here as with every policy.

Shares depend on what is in flight, so the ring's are only a guide. When a
backend leaves, keys move as on its ring.

A retry goes on along the key's way to a backend that was not tried.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Final

from lbctl.balance.hashing.dialects import ring_of
from lbctl.balance.hashing.functions import crc32, xxh64
from lbctl.balance.hashing.ring import Ring
from lbctl.balance.hashing.ring_picker import RingPicker
from lbctl.balance.hashing.shuffle import shuffled
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, is_fault, kept_slots
from lbctl.balance.policies import ring_hash
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.model import Reply

_MOST_FACTOR: Final = 1_000_000
_ENVOY_LEAST: Final = 1024  # points of its ring


@dataclass(frozen=True, slots=True)
class Options:
    """How full a backend may be, and who is next."""

    factor: float = option(1.25, "times its share that a backend may have in flight; inf for no bound", least=1.0)
    probe: str = option("ring", "who is next when a backend is full", choices=("ring", "envoy"))
    replicas: int = option(0, "points on the ring per unit of weight; 0: 100", least=0, most=10_000)
    failure_penalty: float = failure_penalty()

    def __post_init__(self) -> None:
        if _MOST_FACTOR < self.factor < math.inf:
            raise ValueError(f"factor={self.factor:g} is above {_MOST_FACTOR}; inf is no bound")


class Bounded(RingPicker, ABC):
    """Passes a key on while peers are full; what full is, and who is next, the kinds say.

    Adding up what all have in flight would cost O(n) at every pick: the sum is kept by picks and ends, and made anew
    when it has changed otherwise, by calls that were given back unsent or that try a peer out, or by the end of the
    time for which failed calls keep their slots.

    Below factor x m x w / sum nobody is full, whatever the kind. It is compared in whole numbers: a float would be off.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        setup: Setup,
        ring: Ring,
        hashed: Callable[[bytes], int],
        factor: Fraction | float,
    ) -> None:
        super().__init__(peers, setup, ring, hashed)
        weights = weights_of(peers)
        self._whole = sum(weights)
        self._parts: list[float] | list[int] = [math.inf] * len(peers)
        if isinstance(factor, Fraction):
            self._parts = [factor.numerator * weight for weight in weights]
            self._whole *= factor.denominator
        self._owners = ring.owners
        self._known = {peer: node for node, peer in enumerate(peers)}
        self._slots = kept_slots(peers, setup.options.failure_penalty)
        self._kept, self._due = self._slots.of, self._slots.due
        self._in_flight = 0  # and kept slots
        self._is_stale = True  # the sum is to be made anew
        for peer in peers:
            peer.unannounced = self._recount

    def pick(self, call: Call) -> Peer:
        if self._due:
            return self._beside_kept(call)
        in_flight = self._in_flight = self._counted() if self._is_stale else self._in_flight + 1
        hash_ = self.hashed(call.key)
        starts, part = self._starts, hash_ >> self._shift
        owner = self._owners[bisect_left(self._points, hash_, starts[part], starts[part + 1])]
        peer = self.peers[owner]
        if (peer.picks - peer.finished) * self._whole < self._parts[owner] * in_flight and not call.tried:
            return peer
        return self._passed_on(call, hash_, in_flight)

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        if peer in self._known:
            self._in_flight -= 1
            if (reply.code or reply.origin is not SERVER) and self._slots.penalty_ns and is_fault(reply):
                self._in_flight += 1  # it keeps its slot
                self._slots.add(self._known[peer], now_ns)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self.pick(call)
        rows = []
        for node in self.candidates(call.key):
            each = self.peers[node]
            rows.append((each, (str(self._load(node)), f"{self.room(node, self._in_flight):g}")))
            if each is peer:
                break
        others = len(rows) - 1
        text = f"{others} before it full or tried" if others else "its key's owner, and not full"
        return peer, Why(f"{text}; {self._in_flight} in flight with this call", ("in flight", "room for"), tuple(rows))

    def law(self) -> Law:
        """The ring's shares, as a guide."""
        return Law(self.arcs())

    def near(self, hash_: int) -> Sequence[int]:
        """How the way begins, if that is at hand: a generator that is begun and given up costs more than a pick may."""
        return ()

    @abstractmethod
    def room(self, node: int, in_flight: int) -> float:
        """How many calls the peer may have when there are so many."""

    @abstractmethod
    def has_room(self, node: int, load: int, in_flight: int) -> bool:
        """Whether a peer with this load may be picked."""

    def _beside_kept(self, call: Call) -> Peer:
        """The pick while failed calls keep slots."""
        if self._slots.freed(call.now_ns):
            self._is_stale = True
        self._in_flight = self._counted() if self._is_stale else self._in_flight + 1
        return self._passed_on(call, self.hashed(call.key), self._in_flight)

    def _counted(self) -> int:
        """The calls in flight, with the one that is picked now, and the slots that are kept."""
        self._is_stale = False
        kept = sum([each.count for each in self._kept])
        return 1 + kept + sum([peer.picks - peer.finished for peer in self.peers])

    def _load(self, node: int) -> int:
        return self.peers[node].in_flight + self._kept[node].count

    def _recount(self) -> None:
        self._is_stale = True

    def _passed_on(self, call: Call, hash_: int, in_flight: int) -> Peer:
        """The first on the key's way that has room and was not tried."""
        peers, tried, has_room, kept = self.peers, call.tried, self.has_room, self._kept
        are_kept = bool(self._due)
        for on in (self.near, self.way):
            for node in on(hash_):
                peer = peers[node]
                load = peer.picks - peer.finished + (are_kept and kept[node].count)
                if has_room(node, load, in_flight) and peer not in tried:
                    return peer
        return self._least_full([*self.way(hash_)], tried, in_flight)

    def _least_full(self, way: Sequence[int], tried: Sequence[Peer], in_flight: int) -> Peer:
        """The least full of those that were not tried, or of all."""
        left = [node for node in way if self.peers[node] not in tried]
        if not left:
            return self.peers[way[0]]
        return self.peers[min(left, key=lambda node: self._load(node) / self.room(node, in_flight))]


class AlongTheRing(Bounded):
    """At most ceil(factor x m x w / sum) calls each, and on along the ring."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        addresses = tuple(peer.instance.address for peer in peers)
        ring = ring_of("crc32", addresses, strengths(peers), options.replicas, weighted=True)
        factor = options.factor if options.factor == math.inf else Fraction(repr(options.factor))  # as it was typed
        super().__init__(peers, setup, ring, crc32, factor)

    def near(self, hash_: int) -> Sequence[int]:
        return self.ring.near(hash_)

    def room(self, node: int, in_flight: int) -> float:
        part = self._parts[node]
        return part if part == math.inf else -(-part * in_flight // self._whole)

    def has_room(self, node: int, load: int, in_flight: int) -> bool:
        return load * self._whole < self._parts[node] * in_flight  # load < ceil(x) where load < x


class AsEnvoy(Bounded):
    """Slots by weight, and on in an order that is shuffled by the key."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        weights = strengths(peers)
        addresses = tuple(peer.instance.address for peer in peers)
        ring = ring_hash.ring_of(addresses, weights, _ENVOY_LEAST, ring_hash.LIMIT)
        self._percent = options.factor if options.factor == math.inf else round(100 * options.factor)
        factor = self._percent if self._percent == math.inf else Fraction(self._percent) / 100
        super().__init__(peers, setup, ring, xxh64, factor)
        self._shares = [weight / sum(weights) for weight in weights]

    def room(self, node: int, in_flight: int) -> float:
        return slots(in_flight, self._percent, self._shares[node])

    def has_room(self, node: int, load: int, in_flight: int) -> bool:
        return load <= slots(in_flight, self._percent, self._shares[node])

    def near(self, hash_: int) -> Sequence[int]:
        return (self._owners[self.ring.at(hash_)],)  # a shuffle is dear

    def way(self, hash_: int) -> Iterator[int]:
        owner = self._owners[self.ring.at(hash_)]
        return chain([owner], (node for node in shuffled(hash_, len(self.peers)) if node != owner))


def slots(in_flight: int, percent: float, part: float) -> float:
    """Envoy's slots of a host with this part of all weights, when so many calls are in flight with the new one."""
    if percent == math.inf:
        return math.inf
    return max(1, math.ceil((in_flight * percent + 99) // 100 * part))


def build(peers: Sequence[Peer], setup: Setup) -> Bounded:
    """The picker of the kind that was asked for."""
    return AsEnvoy(peers, setup) if setup.options.probe == "envoy" else AlongTheRing(peers, setup)


POLICY = Policy(
    "bounded_load",
    "by the call's key on a ring, on to the next backend where one is too busy",
    Expectation.FEEDBACK,
    build,
    options=Options(),
    aliases=("chwbl",),
    cost="O(log nV) and the walk",
    keyed=True,
)
