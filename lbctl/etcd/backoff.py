"""How long to wait before trying again: doubling, bounded, never in step with others."""

from __future__ import annotations

from random import Random


class Backoff:
    """A growing pause with full jitter over its upper half, as pure arithmetic."""

    def __init__(self, rng: Random, first_s: float = 0.1, limit_s: float = 2.0) -> None:
        self._rng = rng
        self._first = first_s
        self._limit = limit_s
        self._next = first_s

    def next(self) -> float:
        """Return the pause to make now, in seconds."""
        ceiling = self._next
        self._next = min(ceiling * 2, self._limit)
        return ceiling * self._rng.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Start small again: something worked."""
        self._next = self._first
