"""Ring hash: by key, on the ring of gRPC (gRFC A42) and Envoy.

The ring has a size, and its points are shared out by weight; a key goes to the
backend of the first point that is not below its hash.

Parts v of all weights, scale = min(ceil(v_min x min-ring-size) / v_min,
max-ring-size). In the order of addresses every backend gets points until there
are at least as many as the running sum of scale x v. A point is XXH64 of
address_number, a key is hashed by XXH64 too.

    backends          min    max     scale              points
    a:1 b:1           3      4096    ceil(1.5)/0.5      2 2          of 4
    a:1 b:2 c:3       6      6       ceil(1)/(1/6)      1 2 3        of 6
    10 of weight 1    1024   4096    ceil(102.4)/0.1    103 each     of 1030
    9 of weight 1     1024   4096    ceil(113.8)/(1/9)  114 each     of 1026

A join or leave changes the scale, so everybody's points, and more keys move
than have to: from 10 backends to 9 17 % instead of 10 %.

dialect=grpc is grpc-go and gRPC core. dialect=java is grpc-java, which sorts
points as signed numbers and does not begin anew beyond the last: keys above
it go to another backend than with grpc, about 1 in the size of the ring.
dialect=envoy has grpc's owners, and a max-ring-size of 8388608.

A ring has at most 524288 points, whatever its max-ring-size: more would take
seconds to make. With such weights owners are not those of Envoy.

A retry is picked the same backend again with grpc and java, unless it is no
longer ready; with envoy the next one on the ring that was not tried. Backends
that are not ready are not on lbctl's ring; gRPC has them on it and goes on to
the next, which is nearly the same for keys and lets the others stay put.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from lbctl.balance.hashing.dialects import MOST_POINTS
from lbctl.balance.hashing.functions import xxh64
from lbctl.balance.hashing.ring import Ring
from lbctl.balance.hashing.ring_picker import RingPicker
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Policy, Setup
from lbctl.balance.policies.options import option

LIMIT: Final = 8_388_608  # of gRPC and Envoy
_MOST_OF: Final = {"grpc": 4096, "java": 4096, "envoy": LIMIT}
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class Options:
    """The size of the ring, and whose it is."""

    dialect: str = option("grpc", "whose ring", choices=("grpc", "java", "envoy"))
    min_ring_size: int = option(1024, "points at least", least=1, most=LIMIT)
    max_ring_size: int = option(
        0, "points at most; 0: 4096, which is gRPC's own cap, or with envoy 8388608", least=0, most=LIMIT
    )

    def __post_init__(self) -> None:
        if self.min_ring_size > self.most:
            raise ValueError(f"min-ring-size={self.min_ring_size} is above max-ring-size={self.most}")

    @property
    def most(self) -> int:
        """The greatest size that its weights may lead to."""
        return self.max_ring_size or _MOST_OF[self.dialect]


def scale_of(weights: Sequence[float], least: int, most: int) -> float:
    """How many points there are for all weights together; the ring has as many, rounded up."""
    part = min(weights) / sum(weights)
    return min(math.ceil(part * least) / part, float(most))


def counts_of(weights: Sequence[float], least: int, most: int) -> list[int]:
    """The points of each node, in the order in which they take them."""
    total, scale = sum(weights), scale_of(weights, least, most)
    counts, target, points = [], 0.0, 0
    for weight in weights:
        target += scale * (weight / total)
        counts.append(max(0, math.ceil(target) - points))
        points += counts[-1]
    return counts


# A ring follows from its arguments; backends that come and go make the same few again and again.
@lru_cache(maxsize=8)
def ring_of(addresses: Sequence[str], weights: Sequence[float], least: int, most: int, *, signed: bool = False) -> Ring:
    """The ring over these nodes, of ``MOST_POINTS`` at most.

    ``signed`` sorts points as grpc-java does, with the sign bit turned over.
    """
    order = sorted(range(len(addresses)), key=lambda node: addresses[node])
    nodes: list[list[int]] = [[] for _ in addresses]
    counts = counts_of([weights[node] for node in order], least, min(most, MOST_POINTS))
    for node, count in zip(order, counts, strict=True):
        nodes[node] = [xxh64(f"{addresses[node]}_{number}".encode()) ^ (_SIGN * signed) for number in range(count)]
    return Ring(nodes, 64, wraps=not signed)


class Steady(RingPicker):
    """Sends a retry where the call was sent before, as gRPC does while that backend is ready."""

    def candidates(self, key: bytes) -> Iterator[int]:
        return islice(super().candidates(key), 1)


def build(peers: Sequence[Peer], setup: Setup) -> RingPicker:
    """The picker of the dialect."""
    options: Options = setup.options
    addresses, signed = tuple(peer.instance.address for peer in peers), options.dialect == "java"
    ring = ring_of(addresses, strengths(peers), options.min_ring_size, options.most, signed=signed)
    kind = RingPicker if options.dialect == "envoy" else Steady
    return kind(peers, setup, ring, turned if signed else xxh64)


def turned(key: bytes) -> int:
    """The hash of a key with its sign bit turned over, which sorts signed numbers as unsigned ones."""
    return xxh64(key) ^ _SIGN


POLICY = Policy(
    "ring_hash",
    "by the call's key, on gRPC's ring of a fixed size",
    Expectation.HASH,
    build,
    options=Options(),
    cost="O(log ring)",
    keyed=True,
)
