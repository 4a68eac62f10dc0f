"""Reconnect delays: gRPC's connection backoff (1 s, x1.6, at most 120 s, jitter 20 %)."""

from __future__ import annotations

from random import Random
from typing import Final

_BASE: Final = 1.0
_FACTOR: Final = 1.6
_MAX: Final = 120.0
_JITTER: Final = 0.2


class Backoff:
    """The next delay in seconds, growing until ``reset``."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._failures = 0

    def next(self) -> float:
        delay = min(_MAX, _BASE * _FACTOR**self._failures)
        if delay < _MAX:  # the power of a few days' failures is no float any more
            self._failures += 1
        return delay * self._rng.uniform(1 - _JITTER, 1 + _JITTER)

    def reset(self) -> None:
        self._failures = 0
