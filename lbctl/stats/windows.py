"""What happened in the last seconds of a run, beside its totals: the difference of two readings, in constant memory.

Nothing is added to what calls cost: a reading is made of a report that was asked for anyway, and of copies of its
histograms. There are some ten readings in a window, so it is as long as was asked for within a twentieth; among
many backends a reading is dear, so that there are five, and it is as long within a tenth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from operator import sub
from typing import Final, NamedTuple

from lbctl.stats.histogram import Histogram, bucket_of
from lbctl.stats.report import BackendRow, ErrorGroup, Repeated, Report

SPAN_S: Final = 5.0
_STEPS: Final = 10
_STEPS_OF_MANY: Final = 5  # with more backends than _FEW
_FEW: Final = 50
_LEAST_STEP_S: Final = 0.2
_OFTEN_S: Final = 1.0  # a step as long as this is affordable for many, too
_AT_ONCE: Final = 8  # backends in a piece: a tenth of a millisecond


class Held(NamedTuple):
    """A histogram as it was: its counts up to the last bucket that had any, and their sum."""

    counts: list[int]
    total: int

    def since(self, counts: Sequence[int], start: int, end: int) -> list[int]:
        """What the buckets from ``start`` to before ``end`` have counted since, given how they stand now."""
        return list(map(sub, counts[start:end], chain(self.counts[start:end], repeat(0))))


NOTHING: Final = Held([], 0)


def _held(histogram: Histogram) -> Held:
    if not histogram.total:
        return NOTHING
    return Held(histogram.counts[: bucket_of(histogram.max_us) + 1], histogram.total)


class Reading:
    """How a run stood at a moment. The times of backends may be some milliseconds younger than their counts."""

    __slots__ = ("_rows", "messages", "report", "times")

    def __init__(self, report: Report) -> None:
        self.report = report
        found = report.streams
        self.messages = (found.sent, found.arrived) if found is not None else (0, 0)
        self.times: dict[Histogram, Held] = {report.latency: _held(report.latency)}
        self._rows = {(row.key, row.address): row for row in report.backends}

    @property
    def at_s(self) -> float:
        return self.report.elapsed_s

    def complete(self, before: Reading | None) -> Iterator[None]:
        """Take the times of backends, a few at once; those that have not changed since are not copied again."""
        known = before.times if before is not None else {}
        rows = self.report.backends
        for start in range(0, len(rows), _AT_ONCE):
            for row in rows[start : start + _AT_ONCE]:
                same = known.get(row.latency)
                unchanged = same is not None and same.total == row.latency.total
                self.times[row.latency] = same if same is not None and unchanged else _held(row.latency)
            yield

    def forget(self) -> Iterator[None]:
        """Let go of the times, a few backends at once: their counts are a hundred thousand numbers."""
        while self.times:
            for _ in range(min(_AT_ONCE, len(self.times))):
                self.times.popitem()
            yield

    def rows(self, later: Report) -> Iterator[list[BackendRow]]:
        """Yield the backends of a later report with what was counted in between, a few at once."""
        rows = later.backends
        for start in range(0, len(rows), _AT_ONCE):
            yield [self._row(row) for row in rows[start : start + _AT_ONCE]]

    def _row(self, row: BackendRow) -> BackendRow:
        then = self._rows.get((row.key, row.address))
        if then is None:
            return row
        picks = row.picks - then.picks
        return replace(
            row,
            picks=picks,
            expected=max(row.expected - then.expected, 0.0),
            ok=row.ok - then.ok,
            errors=row.errors - then.errors,
            cancelled=row.cancelled - then.cancelled,
            dropped=row.dropped - then.dropped,
            given_back=min(row.given_back - then.given_back, picks),  # of picks before that, too
        )

    def since(self, later: Report, rows: Sequence[BackendRow]) -> Report:
        """Return a later report with what was counted in between; verdict, times and all that is not a count stay."""
        then = self.report
        return replace(
            later,
            issued=later.issued - then.issued,
            completed=later.completed - then.completed,
            ok=later.ok - then.ok,
            errors=later.errors - then.errors,
            cancelled=later.cancelled - then.cancelled,
            dropped=later.dropped - then.dropped,
            attempts=later.attempts - then.attempts,
            retries=later.retries - then.retries,
            error_groups=_groups(later.error_groups, then.error_groups),
            repeated=_repeated(later.repeated, then.repeated),
            backends=tuple(rows),
        )


def _step(span_s: float, backends: int) -> float:
    """Return the seconds between two readings."""
    fine = max(span_s / _STEPS, _LEAST_STEP_S)
    return fine if backends <= _FEW else max(fine, min(span_s / _STEPS_OF_MANY, _OFTEN_S))


class Windows:
    """Readings of a run that goes on. Feed it every report: ``hold`` at its moment, then ``complete``."""

    def __init__(self, span_s: float = SPAN_S) -> None:
        self.span_s = span_s
        self._readings: deque[Reading] = deque()
        self._begun: Reading | None = None
        self._expired: list[Reading] = []

    def hold(self, report: Report) -> None:
        """Begin a reading if one is due."""
        readings, now_s = self._readings, report.elapsed_s
        if readings and (now_s < readings[-1].at_s or report.completed < readings[-1].report.completed):
            self._expired += readings
            readings.clear()  # counted anew, as after a warm-up
        self._begun, step_s = None, _step(self.span_s, len(report.backends))
        if not readings or now_s - readings[-1].at_s >= step_s:
            self._begun = Reading(report)
        while len(readings) > 1 and now_s - readings[1].at_s >= self.span_s + step_s:
            self._expired.append(readings.popleft())

    def complete(self) -> Iterator[None]:
        """Take the rest of what was begun, in pieces."""
        begun, self._begun = self._begun, None
        if begun is not None:
            yield from begun.complete(self._readings[-1] if self._readings else None)
            self._readings.append(begun)
        for reading in self._expired:
            yield from reading.forget()
        self._expired.clear()

    def start(self, now_s: float) -> Reading | None:
        """Return the reading that the window begins with; None where that is the start of the run."""
        if now_s <= self.span_s or not self._readings:
            return None
        return min(self._readings, key=lambda reading: abs(now_s - reading.at_s - self.span_s))


def _groups(now: Sequence[ErrorGroup], then: Sequence[ErrorGroup]) -> tuple[ErrorGroup, ...]:
    before = {(group.code, group.origin, group.message): group for group in then}
    fresh = []
    for group in now:
        known = before.get((group.code, group.origin, group.message))
        if known is None:
            fresh.append(group)
        elif group.count > known.count:
            counts = {name: count - known.backends.get(name, 0) for name, count in group.backends.items()}
            ordered = sorted(((name, count) for name, count in counts.items() if count), key=lambda each: -each[1])
            fresh.append(replace(group, count=group.count - known.count, backends=dict(ordered)))
    return tuple(sorted(fresh, key=lambda group: -group.count))


def _repeated(now: Repeated | None, then: Repeated | None) -> Repeated | None:
    if now is None or then is None:
        return now
    return replace(now, sent=now.sent - then.sent, throttled=now.throttled - then.throttled)
