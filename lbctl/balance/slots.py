"""Draws out of tables whose length is a power of two, so that a draw is a few random bits and nothing to compute.

Bits are made for a block of draws at a time. A table of 3 backends has 256 slots: 85 of each, and an empty one. A draw
that meets an empty slot is made again, so every backend has exactly its part of the filled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from random import Random
from sys import byteorder
from typing import Final, TypeVar

Item = TypeVar("Item")

LEAST_BITS: Final = 8
MOST_BITS: Final = 16  # of a table
_BLOCK: Final = 256  # numbers made at a time
_FULL: Final = 3 / 4  # of a table: more empty slots would cost more draws than a larger table costs memory


def blocks(rng: Random, bits: int) -> Iterator[Sequence[int]]:
    """Blocks of numbers of 8 to 32 random bits, for ever."""
    if bits == LEAST_BITS:
        while True:
            yield rng.randbytes(_BLOCK)
    size = 2 if bits <= MOST_BITS else 4
    mask = int.from_bytes(((1 << bits) - 1).to_bytes(size, byteorder) * _BLOCK, byteorder)
    while True:
        numbers = memoryview((rng.getrandbits(8 * size * _BLOCK) & mask).to_bytes(size * _BLOCK, byteorder))
        yield numbers.cast("H") if size == 2 else numbers.cast("I")


def chosen(items: Sequence[Item], rng: Random) -> Iterator[Item]:
    """Draw out of any number of items for ever, each with the same chance, without a table."""
    return chain.from_iterable(rng.choices(items, k=_BLOCK) for _ in repeat(None))


def drawn(items: Sequence[Item], rng: Random) -> Iterator[Item]:
    """Draw out of a table of these items for ever, each with the same chance; none of them is false."""
    if len(items) > 1 << MOST_BITS:
        return chosen(items, rng)
    bits = _bits(len(items))
    copies = (1 << bits) // len(items)
    slots: list[Item | None] = [*items] * copies
    slots += [None] * ((1 << bits) - len(slots))
    found = map(partial(map, slots.__getitem__), blocks(rng, bits))
    return chain.from_iterable(map(partial(filter, None), found))


def _bits(count: int) -> int:
    """How many bits a table has that is full enough with whole copies of so many items."""
    for bits in range(max(LEAST_BITS, (count - 1).bit_length()), MOST_BITS):
        size = 1 << bits
        if size // count * count >= _FULL * size:
            return bits
    return MOST_BITS
