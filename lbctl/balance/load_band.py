"""How many backends a client needs, by its calls in flight: an average that is kept inside a band for each backend.

The average moves with every begin and end of a call: what is in flight now counts for the time since the last one, and
the average before it still counts exp(-time / window). Finagle's rule, of which one step is

    average / width   at least high and not all are used   one more
                      at most low and more than the least  one less
"""

from __future__ import annotations

from math import exp, inf
from typing import Final, NamedTuple

NEVER_NS: Final = -(1 << 62)  # what was an age ago counts nothing
_NO_WINDOW_NS: Final = 1e-3


class Limits(NamedTuple):
    """The band of calls in flight for each backend, the window of the average, and how many backends at least."""

    low: float
    high: float
    window_ns: int
    least: int


class LoadBand:
    """How many backends are used, ``width``, and the average that it follows."""

    __slots__ = ("_above", "_below", "_limits", "_most", "_seen_ns", "_window_ns", "average", "in_flight", "width")

    def __init__(self) -> None:
        self.width = 1
        self.in_flight = 0
        self.average = 0.0
        self._seen_ns = NEVER_NS

    def fit(self, limits: Limits, most: int) -> None:
        """Go by these limits from now on, with so many backends at most."""
        self._limits = limits
        self._most = most
        self._window_ns = limits.window_ns or _NO_WINDOW_NS
        self._widen(min(max(self.width, limits.least), most))

    def moved(self, change: int, now_ns: int) -> bool:
        """Count a call that begins or ends, by 1 or -1; whether the width has become another one."""
        self.in_flight = count = self.in_flight + change
        average, elapsed_ns = self.average, now_ns - self._seen_ns
        if elapsed_ns > 0:
            self.average = average = count + (average - count) * exp(-elapsed_ns / self._window_ns)
            self._seen_ns = now_ns
        if self._below < average < self._above:
            return False
        self._widen(self.width + (1 if average >= self._above else -1))
        return True

    def _widen(self, width: int) -> None:
        """Use so many, until the average is that of one more or of one less."""
        self.width = width
        self._above = self._limits.high * width if width < self._most else inf
        self._below = self._limits.low * width if width > min(self._limits.least, self._most) else -inf
