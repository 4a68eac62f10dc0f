"""Jump consistent hash: from a number of 64 bits to one of n buckets, of which a new one takes only its own part.

The number runs through a linear congruential generator; each step says at how many buckets the key would move next.
What it was before it moves beyond n is its bucket. So it takes 1 + 1/2 + ... + 1/n steps, about ln n + 0.6, and each
needs the one before.
"""

from __future__ import annotations

from math import floor
from typing import Final

_FACTOR: Final = 2862933555777941757
_MASK: Final = (1 << 64) - 1
_SCALE: Final = float(1 << 31)


def jump(key: int, buckets: int) -> int:
    """The bucket of the key, 0 to ``buckets`` - 1."""
    taken, beyond = 1, float(buckets)  # floats are compared with floats in half the time
    while True:
        key = key * _FACTOR + 1 & _MASK
        following = taken * (_SCALE / ((key >> 33) + 1))
        if following >= beyond:
            return taken - 1
        taken = floor(following) + 1
