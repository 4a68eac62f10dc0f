"""Which rate to try next in a search for the highest one that holds: doubled until one fails, then bisected.

A verdict that chance may have decided is not taken at once: what is close to a limit, and the first failure while the
rate still grows (one hiccup there would end the search far too low), is tried again, and the majority of three counts.

    rate     100   200   400   800   800   565.7  475.7  518.8  541.7
    verdict  ok    ok    ok    fails fails fails  ok     ok     ok
    bracket  100.. 200.. 400..       ..800 ..565  475..  518..  541.7..565.7, within 5 %: over
"""

from __future__ import annotations

import math
from typing import Final

from lbctl.stats.searched import AT_LEAST, FAILED, FOUND, HOLDS, INTERRUPTED, LIMITED

GROWTH: Final = 2.0
MOST: Final = 10_000_000.0  # calls/s
_DIGITS: Final = 4  # of a rate between two others
_MAJORITY: Final = 2


class _Tried:
    """What came of one rate so far."""

    def __init__(self) -> None:
        self.verdicts: list[str] = []
        self.is_sure = False

    def take(self, verdict: str, *, sure: bool) -> None:
        self.verdicts.append(verdict)
        self.is_sure = sure or max(self._held, len(self.verdicts) - self._held) >= _MAJORITY

    @property
    def _held(self) -> int:
        return self.verdicts.count(HOLDS)

    @property
    def holds(self) -> bool:
        return 2 * self._held > len(self.verdicts)

    @property
    def limited(self) -> bool:
        """Whether it was the generator that was too slow, more often than not."""
        return self.verdicts.count(LIMITED) * 2 >= len(self.verdicts) - self._held


class Search:
    """Ask ``next_rate`` what to try, tell ``take`` what came of it, until there is nothing more to try.

    ``low`` is the highest rate that held, ``high`` the lowest above it that did not; over when they are within
    ``precision`` (0..1) of each other.
    """

    def __init__(self, start: float, precision: float, most: float = MOST) -> None:
        self.low: float | None = None
        self.high: float | None = None
        self._rate = start
        self._precision = precision
        self._most = most
        self._tried = _Tried()
        self._limited = False  # what ``high`` failed by
        self._over = False

    def next_rate(self) -> float | None:
        """The rate to try now, calls/s; None when the search is over."""
        return None if self._over else self._rate

    def take(self, verdict: str, *, close: bool) -> None:
        """Take what came of trying that rate; ``close``: near enough to a limit that chance may have decided."""
        grows = self.high is None and verdict != HOLDS
        self._tried.take(verdict, sure=not (close or grows) and not self._tried.verdicts)
        if not self._tried.is_sure:
            return
        if self._tried.holds:
            self.low = self._rate
        else:
            self.high, self._limited = self._rate, self._tried.limited
        self._tried = _Tried()
        self._go_on()

    def _go_on(self) -> None:
        low, high = self.low, self.high
        if low is None:  # even the first one failed
            self._over = True
        elif high is None:
            self._rate = min(low * GROWTH, self._most)
            self._over = low >= self._most
        else:
            self._rate = _rounded(math.sqrt(low * high))
            self._over = high - low <= self._precision * low or not low < self._rate < high

    @property
    def ended(self) -> str:
        """How it stands: found, at_least, failed; interrupted as long as it goes on."""
        if not self._over:
            return INTERRUPTED
        if self.low is None:
            return FAILED
        return AT_LEAST if self.high is None or self._limited else FOUND


def _rounded(rate: float) -> float:
    return float(f"{rate:.{_DIGITS}g}")
