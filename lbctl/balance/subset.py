"""Subsetting: which of very many backends this client uses at all.

kind            who is chosen
random          the ``size`` backends with the smallest XXH64(address, seed) (gRFC A68); one more backend changes
                at most one member; grpc-go hashes the address as it prints it, which chooses others
deterministic   clients in rounds of n / size: each round shuffles all backends anew and deals them out, so that
                every backend has as many clients as any other (SRE book, chapter 20)
shuffled        the first of an order that is chance, and another one whenever the list has changed (go-zero): a change
                moves the client to other backends
ring            those that come first on a ring of 160 FNV-1a points each, from the client's own point on (Kratos)
aperture        clients and backends lie on one ring; a client takes what its arc covers, the backends at the ends
                in part, so that every backend is covered to the same extent (Finagle's deterministic aperture)
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from random import Random
from typing import Final
from uuid import UUID

from lbctl.balance.policies.options import option

KINDS: Final = ("random", "deterministic", "shuffled", "ring", "aperture")
_POINTS: Final = 160
_FNV_BASIS, _FNV_PRIME, _WORD = 2166136261, 16777619, (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class SubsetOptions:
    """How many backends, which, and which client this is."""

    size: int = option(10, "backends this client uses (aperture: at least that many)", least=1)
    kind: str = option("random", "how they are chosen", choices=KINDS)
    client: int = option(0, "the number of this client, from 0 (deterministic, aperture)", least=0)
    clients: int = option(1, "how many clients there are (aperture)", least=1)
    seed: int = option(
        -1, "random, shuffled, ring: the same seed chooses the same backends; -1: the run's seed", least=-1
    )
    dialect: str = option("a68", "random: what is hashed", choices=("a68", "grpc-go"))

    def __post_init__(self) -> None:
        if self.kind == "aperture" and self.client >= self.clients:
            raise ValueError(f"client={self.client} of clients={self.clients}: clients are counted from 0")


def random_subset(addresses: Sequence[str], size: int, seed: int, dialect: str = "a68") -> list[int]:
    """The places of the chosen addresses, best first."""
    from xxhash import xxh64_intdigest

    label = '{{Addr: "{}", ServerName: "", }}' if dialect == "grpc-go" else "{}"
    scores = [
        (xxh64_intdigest(label.format(address).encode(), seed), address, place)
        for place, address in enumerate(addresses)
    ]
    return [place for _, _, place in sorted(scores)[:size]]


def shuffled_subset(addresses: Sequence[str], size: int, seed: int) -> list[int]:
    """The places of the chosen addresses; of any other list, even one with one more, they are chosen anew."""
    places = list(range(len(addresses)))
    Random(f"{seed} {' '.join(addresses)}").shuffle(places)
    return places[:size]


def ring_subset(addresses: Sequence[str], size: int, seed: int) -> list[int]:
    """The places of the addresses whose first point after the client's comes first; the client is a UUID."""
    client = str(UUID(int=Random(seed).getrandbits(128), version=4))
    start = _fnv1a_32(client.encode()) + 1  # a point that is the client's own is passed
    ahead = [
        (min((point - start) & _WORD for point in _points(address)), place) for place, address in enumerate(addresses)
    ]
    return [place for _, place in sorted(ahead)[:size]]


@lru_cache(maxsize=1 << 14)
def _points(address: str) -> array[int]:
    """The points of one address: of its number and itself."""
    label = address.encode()
    return array("I", [_fnv1a_32(b"%d%b" % (number, label)) for number in range(_POINTS)])


def _fnv1a_32(data: bytes) -> int:
    found = _FNV_BASIS
    for byte in data:
        found = (found ^ byte) * _FNV_PRIME & _WORD
    return found


def deterministic_subset(count: int, size: int, client: int, shuffled: Callable[[int], Sequence[int]]) -> list[int]:
    """The client's slice of its round; ``shuffled`` orders all backends for a round. All of them where they are few."""
    if size >= count:
        return list(range(count))
    slices = count // size
    turn, place = divmod(client, slices)
    return list(shuffled(turn)[place * size : (place + 1) * size])


def shuffle(count: int, turn: int) -> list[int]:
    """The order of a round, the same for every client of this lbctl."""
    places = list(range(count))
    Random(turn).shuffle(places)
    return places


def aperture(weights: Sequence[int], size: int, client: int, clients: int) -> dict[int, Fraction]:
    """The places that a client's arc covers, and the part of each that it covers."""
    total, count = sum(weights), len(weights)
    width = aperture_width(count, size, clients)
    begin = Fraction(client, clients)
    covered: dict[int, Fraction] = {}
    at = Fraction(0)
    for place, weight in enumerate(weights):
        share = Fraction(weight, total)
        # The arc may run over the end of the ring, where it goes on from the beginning.
        part = sum(_overlap(at, at + share, start, start + width) for start in (begin, begin - 1))
        if part:
            covered[place] = part / share
        at += share
    return covered


def aperture_width(count: int, size: int, clients: int) -> Fraction:
    """The part of the ring that each client covers: a whole number of clients' distances."""
    return min(Fraction(1), Fraction(ceil(Fraction(min(size, count) * clients, count)), clients))


def _overlap(first: Fraction, last: Fraction, begin: Fraction, end: Fraction) -> Fraction:
    return max(Fraction(0), min(last, end) - max(first, begin))
