"""Slow and quick moments, which backends have together: they share a machine, a network, or whoever calls them.

A time is drawn by its rank among all that were measured. In each moment a part of all draws, of whichever backend, have
the same rank; the others are by chance. So who is slow at times is slow at the time of the others, as measured times
without their order do not show.
"""

from __future__ import annotations

from random import Random
from typing import Final

_PARTS: Final = (0.0, 0.5, 0.9)
_LASTS_NS: Final = (20_000_000, 100_000_000, 300_000_000)


class Moments:
    """The moments of one run: how long they are, and how much they have in common, is chance."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._part = rng.choice(_PARTS)
        self._lasts_ns = rng.choice(_LASTS_NS)
        self._moment = -1
        self._common = 0.0

    def rank(self, now_ns: int) -> float:
        """Where among all times, 0..1, that of a call lies which begins now."""
        moment, random = now_ns // self._lasts_ns, self._rng.random
        if moment != self._moment:
            self._moment, self._common = moment, random()
        return self._common if random() < self._part else random()
