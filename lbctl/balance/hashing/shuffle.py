"""The order in which Envoy probes hosts for a key: a shuffle by the 32-bit Mersenne Twister, seeded with the hash.

Python's generator is the same, but not its seeding and not its way from a word to a number below n: both are done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Final

_WORDS: Final = 624
_SPREAD: Final = 1812433253
_MASK: Final = (1 << 32) - 1


def twister(seed: int) -> Random:
    """A generator whose ``getrandbits(32)`` are the words of C++'s ``mt19937`` with this seed."""
    word = seed & _MASK
    words = [word]
    for place in range(1, _WORDS):
        word = (_SPREAD * (word ^ (word >> 30)) + place) & _MASK
        words.append(word)
    rng = Random()
    rng.setstate((3, (*words, _WORDS), None))
    return rng


@lru_cache(maxsize=256)  # the words for a seed take longer than a pick may, and hot keys are probed again and again
def shuffled(hash_: int, size: int) -> Sequence[int]:
    """The numbers below ``size`` in the order for this hash."""
    words = twister(hash_)
    order = list(range(size))
    for place in range(size - 1):
        other = place + _below(words, size - place)
        order[place], order[other] = order[other], order[place]
    return order


def _below(words: Random, limit: int) -> int:
    """A number below the limit: words are cut into equal parts, and those beyond the last part are drawn again."""
    part = (1 << 32) // limit
    while True:
        number = words.getrandbits(32) // part
        if number < limit:
            return number
