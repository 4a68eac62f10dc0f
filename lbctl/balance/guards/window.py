"""Counts over the last few seconds, in buckets that fall out one after the other."""

from __future__ import annotations

from collections.abc import Sequence


class Window:
    """``buckets`` of ``width_ns``, the current one included; each counts successes, failures and drops.

    Sums are kept, so that asking costs nothing while time stands in one bucket.
    """

    __slots__ = ("_buckets", "_place", "_size", "_width_ns", "drops", "failures", "successes")

    def __init__(self, buckets: int, width_ns: int) -> None:
        self._size = buckets
        self._width_ns = max(1, width_ns)
        self._buckets = [[0, 0, 0] for _ in range(buckets)]
        self._place = -1  # the number of the current bucket since time began
        self.successes = self.failures = self.drops = 0

    @property
    def total(self) -> int:
        return self.successes + self.failures + self.drops

    def add(self, now_ns: int, successes: int = 0, failures: int = 0, drops: int = 0) -> None:
        """Count in the current bucket."""
        self.advance(now_ns)
        bucket = self._buckets[self._place % self._size]
        bucket[0] += successes
        bucket[1] += failures
        bucket[2] += drops
        self.successes += successes
        self.failures += failures
        self.drops += drops

    def clear(self) -> None:
        """Forget everything."""
        for bucket in self._buckets:
            bucket[:] = (0, 0, 0)
        self.successes = self.failures = self.drops = 0

    def advance(self, now_ns: int) -> None:
        """Let what is too old fall out."""
        place = now_ns // self._width_ns
        if place == self._place:
            return
        for number in range(max(self._place + 1, place - self._size + 1), place + 1):
            bucket = self._buckets[number % self._size]
            self.successes -= bucket[0]
            self.failures -= bucket[1]
            self.drops -= bucket[2]
            bucket[:] = (0, 0, 0)
        self._place = place

    def oldest_first(self) -> Sequence[Sequence[int]]:
        """Every bucket: successes, failures, drops."""
        first = (self._place + 1) % self._size
        return self._buckets[first:] + self._buckets[:first]
