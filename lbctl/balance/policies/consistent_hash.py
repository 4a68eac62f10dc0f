"""Consistent hash: by key, to a backend that keeps it when others come or go.

Every backend has many points on a ring, and a key goes to the backend of the
first point that is not below its hash. With three points on a ring of 0..99:

    points   10 a   40 b   70 a          a has two virtual nodes, b has one

    key hashed to     7    25   40   55   90
    goes to           a    b    b    a    a     beyond 70 the ring begins anew
    once b has left   a    a    a    a    a     keys of a stay where they are
    once c:55 joined  a    b    b    c    a     only keys from 41 to 55 moved

dialect=NAME builds the ring as others do, so that keys go where they send
them; replicas=N is the number of points per backend:

    crc32       100 points, crc32 of number and address; keys by crc32
    groupcache  the same with 50 points, as in golang/groupcache
    ketama      MD5 of address-number, four points each, about 160 by weight
    twemproxy   the same points; keys by FNV-1a, its default
    gozero      100 points, MurmurHash3 of address and number
    dubbo       160 points, four from each MD5 of address and number
    nginx       160 x weight points, crc32 of host, port and the point before

Weights count in ketama, twemproxy and nginx, as they do there; weighted=true
has them count in the others too: N points per unit of weight (gozero: per
cent).

A backend that leaves, joins or changes its weight moves only keys of its own,
except with ketama and twemproxy, where the number of backends and the sum of
weights change everybody's points. Shares are uneven: with V points each about
1/sqrt(V), so 10 % with 100 points; with crc32 and groupcache twice that, since
crc32 puts the points of similar addresses at similar distances. Where points
are equal the last backend has it in crc32, groupcache and dubbo, the first in
the others. A ring has at most 524288 points: beyond, everybody gets a part,
and its owners are not the original's.

A retry goes on to the next backend on the ring that it has not tried: what
nginx does, and Dubbo in effect. groupcache, ketama and go-zero know no retry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lbctl.balance.hashing.dialects import DIALECTS, ring_of
from lbctl.balance.hashing.ring_picker import RingPicker
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Policy, Setup
from lbctl.balance.policies.options import option


@dataclass(frozen=True, slots=True)
class Options:
    """Whose ring it is."""

    dialect: str = option("crc32", "whose ring", choices=tuple(DIALECTS))
    replicas: int = option(
        0, "points per backend, or per unit of weight; 0: as many as the dialect has", least=0, most=10_000
    )
    weighted: bool = option(False, "weights count, also where the dialect ignores them")


def build(peers: Sequence[Peer], setup: Setup) -> RingPicker:
    """The picker over the ring of the dialect."""
    options: Options = setup.options
    addresses = tuple(peer.instance.address for peer in peers)
    ring = ring_of(options.dialect, addresses, strengths(peers), options.replicas, weighted=options.weighted)
    return RingPicker(peers, setup, ring, DIALECTS[options.dialect].key)


POLICY = Policy(
    "consistent_hash",
    "by the call's key, on a ring of virtual nodes",
    Expectation.HASH,
    build,
    options=Options(),
    cost="O(log nV)",
    keyed=True,
)
