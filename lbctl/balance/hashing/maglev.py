"""Maglev's table: hosts take turns, and each takes the next free slot of its own permutation of all slots.

Permutation j of a host is (offset + j x skip) mod size; the size is a prime, so that it meets every slot. By weight, as
Envoy has it: in round t a host has a turn where t x weight is not below its target, which then grows by the greatest
weight.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, cycle

from lbctl.balance.hashing.functions import xxh64

FREE = -1


# A table follows from its arguments and takes long to fill; backends that come and go make the same few again.
@lru_cache(maxsize=8)
def table_of(hosts: Sequence[str], weights: Sequence[float], size: int) -> array[int]:
    """The host of every slot, by its number; hosts take turns in the order given."""
    steps = [permutation(host, size) for host in hosts]
    return filled([offset for offset, _ in steps], [skip for _, skip in steps], weights, size)


def permutation(host: str, size: int) -> tuple[int, int]:
    """Where a host begins, and how far its steps go."""
    key = host.encode()
    return xxh64(key, 0) % size, xxh64(key, 1) % (size - 1) + 1


def filled(offsets: Sequence[int], skips: Sequence[int], weights: Sequence[float], size: int) -> array[int]:
    """Fill a table of so many slots."""
    table = array("i", [FREE]) * size
    slots, left = list(offsets), size
    for host in _turns(weights):
        slot, skip = slots[host], skips[host]
        while table[slot] >= 0:
            slot += skip
            if slot >= size:
                slot -= size
        table[slot] = host
        slot += skip
        slots[host] = slot - size if slot >= size else slot
        left -= 1
        if not left:
            break
    return table


def _turns(weights: Sequence[float]) -> Iterator[int]:
    """Whose turn it is, for ever."""
    greatest = max(weights)
    if min(weights) == greatest:
        yield from cycle(range(len(weights)))
    targets = [0.0] * len(weights)
    for turn in count(1):
        for host, weight in enumerate(weights):
            if turn * weight >= targets[host]:
                targets[host] += greatest
                yield host


def is_prime(number: int) -> bool:
    """Whether this is a prime; fast enough for the sizes of tables."""
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
