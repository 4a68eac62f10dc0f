"""Calls due at the times that somebody recorded elsewhere."""

from __future__ import annotations

from array import array

from lbctl.load.pacing.base import NEVER_NS, rounded


class Recorded:
    """``times_ns`` from the first call on, in order; they are passed through ``speed`` times as fast."""

    def __init__(self, times_ns: array[int], speed: float = 1.0, begin_ns: int = 0, from_ns: int = 0) -> None:
        self._times_ns = times_ns
        self._speed = speed
        self._begin_ns = begin_ns  # in the run's time ...
        self._from_ns = from_ns  # ... which is this in the recording's

    def rate(self, at_ns: int) -> float | None:
        return None

    def words(self, at_ns: int) -> tuple[str, str]:
        return "speed", f"{rounded(self._speed):,g}"

    def due_ns(self, number: int) -> int:
        if number >= len(self._times_ns):
            return NEVER_NS
        return self._begin_ns + int((self._times_ns[number] - self._from_ns) / self._speed)

    def count(self, number: int, end_ns: int) -> int:
        after = number
        while after < len(self._times_ns) and self.due_ns(after) < end_ns:
            after += 1
        return after - number

    def scaled(self, factor: float, number: int, now_ns: int) -> Recorded:
        from_ns = self._from_ns + int((now_ns - self._begin_ns) * self._speed)
        return Recorded(self._times_ns, self._speed * factor, now_ns, from_ns)
