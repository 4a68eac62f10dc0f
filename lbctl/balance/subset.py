"""Subsetting: which of very many backends this client uses at all.

kind            who is chosen
random          the ``size`` backends with the smallest XXH64(address, seed) (gRFC A68); one more backend changes
                at most one member
deterministic   clients in rounds of n / size: each round shuffles all backends anew and deals them out, so that
                every backend has as many clients as any other (SRE book, chapter 20)
aperture        clients and backends lie on one ring; a client takes what its arc covers, the backends at the ends
                in part, so that every backend is covered to the same extent (Finagle's deterministic aperture)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from random import Random

from lbctl.balance.policies.options import option


@dataclass(frozen=True, slots=True)
class SubsetOptions:
    """How many backends, which, and which client this is."""

    size: int = option(10, "backends this client uses (aperture: at least that many)", least=1)
    kind: str = option("random", "how they are chosen", choices=("random", "deterministic", "aperture"))
    client: int = option(0, "the number of this client, from 0 (deterministic, aperture)", least=0)
    clients: int = option(1, "how many clients there are (aperture)", least=1)
    seed: int = option(-1, "random: the same seed chooses the same backends; -1: the run's seed", least=-1)

    def __post_init__(self) -> None:
        if self.kind == "aperture" and self.client >= self.clients:
            raise ValueError(f"client={self.client} of clients={self.clients}: clients are counted from 0")


def random_subset(addresses: Sequence[str], size: int, seed: int) -> list[int]:
    """The places of the chosen addresses, best first."""
    from xxhash import xxh64_intdigest

    scores = [(xxh64_intdigest(address.encode(), seed), address, place) for place, address in enumerate(addresses)]
    return [place for _, _, place in sorted(scores)[:size]]


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
