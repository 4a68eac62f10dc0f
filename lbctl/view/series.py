"""Rates over time, made by looking at the counters of a run every half second."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from math import ceil

from lbctl.stats.histogram import Histogram, bucket_of, middle
from lbctl.stats.report import BackendRow, Report

STEP_S = 0.5
_ROW_STEPS = 32
_TOTAL_STEPS = 240
_NOW_STEPS = 2  # a rate "now" is the mean of the last second

Messages = tuple[int, int]  # sent, received


class _Rate:
    """One counter's rate per step."""

    __slots__ = ("last", "values")

    def __init__(self, last: int, length: int) -> None:
        self.last = last
        self.values: deque[float] = deque(maxlen=length)

    def add(self, count: int, seconds: float) -> None:
        self.values.append(max(count - self.last, 0) / seconds)
        self.last = count

    def now(self) -> float | None:
        values = self.values
        if len(values) < _NOW_STEPS:
            return values[-1] if values else None
        return (values[-1] + values[-2]) / _NOW_STEPS


class Series:
    """Finished calls per second, in all and per backend, and the p99 of each step. Feed it every frame."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._total = _Rate(0, _TOTAL_STEPS)
        self._messages = _Rate(0, _NOW_STEPS), _Rate(0, _NOW_STEPS)  # sent, received
        self._rows: dict[tuple[str, str], _Rate] = {}
        self._counts: list[int] = []
        self._p99: deque[float | None] = deque(maxlen=_TOTAL_STEPS)

    def sample(self, report: Report) -> bool:
        """Take a sample if half a second has passed since the last; True if it did."""
        seconds = -1.0 if self._at is None else report.elapsed_s - self._at
        if seconds < 0:  # counted anew, as after a warm-up
            self.skip(report)
            return False
        if seconds < STEP_S:
            return False
        self._at = report.elapsed_s
        self._total.add(report.completed, seconds)
        for rate, number in zip(self._messages, messages(report), strict=True):
            rate.add(number, seconds)
        for row in report.backends:
            self._rate(row).add(row.ok + row.errors, seconds)
        self._p99.append(_p99_since(report.latency, self._counts))
        self._counts = report.latency.counts.copy()
        return True

    def skip(self, report: Report) -> None:
        """Go on from here without a sample: what happened since the last one is in no rate."""
        self._at = report.elapsed_s
        self._total.last = report.completed
        for rate, number in zip(self._messages, messages(report), strict=True):
            rate.last = number
        for row in report.backends:
            self._rate(row).last = row.ok + row.errors
        self._counts = report.latency.counts.copy()

    def _rate(self, row: BackendRow) -> _Rate:
        key = (row.key, row.address)
        rate = self._rows.get(key)
        if rate is None:
            rate = self._rows[key] = _Rate(0, _ROW_STEPS)
        return rate

    @property
    def total(self) -> Sequence[float]:
        return self._total.values

    @property
    def p99(self) -> Sequence[float | None]:
        """Microseconds per step; None where no call ended well."""
        return self._p99

    def now(self) -> float | None:
        """Finished calls per second over the last second; None before the first sample."""
        return self._total.now()

    def messages_now(self) -> tuple[float | None, float | None]:
        """Messages sent and received per second over the last second; None before the first sample."""
        sent, received = self._messages
        return sent.now(), received.now()

    def row_now(self, row: BackendRow) -> float | None:
        rate = self._rows.get((row.key, row.address))
        return rate.now() if rate else None

    def row(self, row: BackendRow) -> Sequence[float]:
        rate = self._rows.get((row.key, row.address))
        return rate.values if rate else ()


def messages(report: Report) -> Messages:
    """Return the messages sent and received so far."""
    found = report.streams
    return (found.sent, found.arrived) if found is not None else (0, 0)


def _p99_since(histogram: Histogram, before: Sequence[int]) -> float | None:
    """Return the p99 of what was recorded after the counts were copied."""
    if not histogram.total:
        return None
    low, high = bucket_of(histogram.min_us), bucket_of(histogram.max_us) + 1
    fresh = [new - old for new, old in zip(histogram.counts[low:high], before[low:high], strict=False)]
    running = list(accumulate(fresh))
    if not running or running[-1] <= 0:
        return None
    return middle(low + bisect_left(running, max(1, ceil(0.99 * running[-1]))))
