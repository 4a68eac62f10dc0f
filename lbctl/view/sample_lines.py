"""A run as lines of JSON: one per sample while it runs, one per event, and the run document as the last one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import Final, Protocol

from lbctl.load.controls import Controls
from lbctl.model import Event
from lbctl.stats.events import EventLog
from lbctl.stats.report import BackendRow, Report
from lbctl.stats.samples import INTERVAL_S, Readings, Sample, Totals, next_due
from lbctl.view.figures import Document, ratio, stamp
from lbctl.view.output import as_json_line
from lbctl.view.run_document import run_document
from lbctl.view.sample_document import event, sample

SAMPLE: Final = "lbctl.sample/v1"
EVENT: Final = "lbctl.event/v1"
LOOK_S: Final = 0.25  # how often events are looked for, and the end of a run
_EARLY_S: Final = 0.01  # a timer may fire early by less
_AT_ONCE: Final = 8  # backends that are read without letting calls go on


def run_line(report: Report) -> str:
    """Spell the run document in one line."""
    return as_json_line(run_document(report))


def all_lines(report: Report) -> Iterator[str]:
    """The lines of a run that is over: samples and events in their order, without counts of backends, and the run."""
    begun = report.started_at
    found = [(each.t_s, sample_line(each, begun + timedelta(seconds=each.t_s))) for each in report.samples]
    found += [(each.t_s, event_line(each)) for each in report.events]
    yield from (line for _, line in sorted(found, key=lambda item: item[0]))
    yield run_line(report)


def sample_line(found: Sample, at: datetime, backends: list[Document] | None = None) -> str:
    """Spell one sample; ``backends`` is None where it is not known what each did."""
    words = {"schema": SAMPLE, "time": stamp(at, milliseconds=True)}
    return as_json_line({**words, **sample(found), "backends": backends})


def event_line(found: Event) -> str:
    """Spell one event."""
    return as_json_line({"schema": EVENT, **event(found)})


class Lines(Protocol):
    """Where lines go, without their ends."""

    def write(self, line: str) -> None:
        """Take one; may not block."""
        ...

    def is_behind(self) -> bool:
        """Whether too many were not read yet: then none is added, and the next sample is longer."""
        ...

    def is_broken(self) -> bool:
        """Whether nobody will read any: then the run is stopped."""
        ...


class LiveLines:
    """Writes samples and events while a run goes on. There are no samples of a warm-up, which is in no figure."""

    def __init__(self, lines: Lines, wall: Callable[[], datetime], *, interval_s: float = INTERVAL_S) -> None:
        self._lines = lines
        self._wall = wall
        self._interval_s = interval_s
        self._readings = Readings()
        self._backends = _Backends()
        self._events = 0
        self._begun: datetime | None = None

    @contextlib.asynccontextmanager
    async def showing(self, report: Callable[[], Report], controls: Controls) -> AsyncIterator[None]:
        """Write lines until the block ends, and what is left to tell then; the run document is not among them."""
        over = asyncio.Event()
        task = asyncio.create_task(self._run(report, controls, over))
        try:
            yield
        finally:
            over.set()  # not cancelled: a sample that was begun has to be written
            await task
            await self._tell(report())

    async def _run(self, report: Callable[[], Report], controls: Controls, over: asyncio.Event) -> None:
        while not over.is_set():
            now, wait_s = report(), LOOK_S
            self._turn(now)
            left_s = next_due(self._readings.at_s, self._interval_s) - now.elapsed_s
            if self._lines.is_broken():
                controls.stop()
                break
            if not self._lines.is_behind():
                if left_s <= _EARLY_S and not now.warming:
                    await self._tell(now)
                    continue
                self._tell_events(now)
                if now.end_reason is not None:  # one of several runs, of a search: the next counts anew
                    await self._tell(now)
                wait_s = LOOK_S if now.warming else min(left_s, LOOK_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await over.wait()

    def _turn(self, report: Report) -> None:
        """A run that counts anew, as each one of a search does, has samples of its own."""
        if report.started_at != self._begun:
            self._begun = report.started_at
            self._readings, self._backends = Readings(), _Backends()

    async def _tell(self, report: Report) -> None:
        self._turn(report)
        self._tell_events(report)
        totals = Totals(
            report.issued,
            report.ok,
            report.errors,
            report.cancelled,
            report.dropped,
            report.retries,
            report.in_flight,
        )
        if report.warming or (report.elapsed_s <= self._readings.at_s and not self._readings.moved(totals)):
            return
        found, at = self._readings.since(report.elapsed_s, totals, report.latency), self._wall()
        self._lines.write(sample_line(found, at, await self._backends.since(report)))

    def _tell_events(self, report: Report) -> None:
        events = report.events
        total = events.total if isinstance(events, EventLog) else len(events)
        if total > self._events:
            # A full log forgets its middle: new ones are at its end, whatever their numbers are.
            for found in events[max(0, len(events) - (total - self._events)) :]:
                self._lines.write(event_line(found))
        self._events = total


class _Backends:
    """What each backend did since the last time."""

    def __init__(self) -> None:
        self._readings: dict[tuple[str, str], Readings] = {}
        self._expected: dict[tuple[str, str], float] = {}

    async def since(self, report: Report) -> list[Document]:
        """One document a backend; those that are gone, and did nothing since, are left out."""
        picks = {(row.key, row.address): self._picks(row) for row in report.backends}
        attempts = sum(made for made, _ in picks.values())
        expected = sum(due for _, due in picks.values())
        found = []
        for place, row in enumerate(report.backends):
            if place % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            readings = self._of(row)
            if row.state == "left" and not readings.moved(_totals(row)):
                continue
            made, due = picks[row.key, row.address]
            shares = ratio(made / attempts) if attempts else None, ratio(due / expected) if expected > 0 else None
            found.append(_backend(row, readings.since(report.elapsed_s, _totals(row), row.latency), *shares))
        self._expected = {(row.key, row.address): row.expected for row in report.backends}
        return found

    def _of(self, row: BackendRow) -> Readings:
        return self._readings.setdefault((row.key, row.address), Readings(row.joined_s))

    def _picks(self, row: BackendRow) -> tuple[int, float]:
        """What was sent there since the last time, and what was to be expected."""
        made = row.attempts - self._of(row).totals.requests
        return made, max(row.expected - self._expected.get((row.key, row.address), 0.0), 0.0)


def _totals(row: BackendRow) -> Totals:
    return Totals(row.attempts, row.ok, row.errors, row.cancelled, row.dropped, row.passed, row.in_flight)


def _backend(row: BackendRow, found: Sample, share: float | None, expected: float | None) -> Document:
    counts = sample(found)
    return {
        "key": row.key,
        "address": row.address,
        "state": row.state,
        "weight": row.weight,
        "share": share,
        "expected_share": expected,
        "attempts": counts["requests"],
        **{name: counts[name] for name in ("ok", "errors", "cancelled", "dropped")},
        "passed": counts["retries"],
        **{name: counts[name] for name in ("in_flight", "rps", "p50_ms", "p90_ms", "p99_ms", "max_ms")},
    }
