"""A comparison as lines of JSON: one when a run begins and one when it ends, one per event, the whole as the last."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from lbctl.load.controls import CompareControls
from lbctl.model import Event
from lbctl.stats.comparison import METRICS
from lbctl.stats.events import EventLog
from lbctl.stats.report import Report
from lbctl.stats.rounds import Contest, Going, Trial
from lbctl.stats.saved_contest import SKIPPED
from lbctl.view.figures import Document, seconds_of, stamp
from lbctl.view.output import as_json_line
from lbctl.view.sample_lines import Lines, event_line

TRIAL: Final = "lbctl.trial/v1"
_LOOK_S: Final = 0.25  # how often it is looked at; what is told has its own moments
_TIMES: Final = ("p50", "p90", "p99", "max")


def began_line(contest: Contest, found: Going | Trial, started_at: datetime | None) -> str:
    """Spell that a run began."""
    return as_json_line(_run(contest, found, "began", found.began_s, started_at))


def ended_line(contest: Contest, found: Trial, started_at: datetime | None) -> str:
    """Spell that a run ended, and what it came to."""
    report = found.report
    return as_json_line(
        {
            **_run(contest, found, "ended", found.ended_s, started_at),
            "duration_s": seconds_of(report.elapsed_s),
            "requests": report.issued,
            "ok": report.ok,
            "errors": report.errors,
            "cancelled": report.cancelled,
            "dropped": report.dropped,
            "rps": _figure(report, "rps", 1),
            "error_rate": _figure(report, "error_rate", 6),
            **{f"{name}_ms": _figure(report, name, 4, 1e-3) for name in _TIMES},
            "counts": found.counts,
            "end_reason": SKIPPED if found.skipped else report.end_reason,
            "changes": list(found.changes),
        }
    )


def _run(contest: Contest, found: Going | Trial, what: str, t_s: float, started_at: datetime | None) -> Document:
    at = None if started_at is None else started_at + timedelta(seconds=t_s)
    return {
        "schema": TRIAL,
        "time": None if at is None else stamp(at, milliseconds=True),
        "t_s": seconds_of(t_s),
        "what": what,
        "label": contest.contenders[found.contender].label,
        "policy": contest.contenders[found.contender].policy,
        "round": found.round,
        "number": found.number,
        "seed": found.report.seed,
    }


def _figure(report: Report, name: str, digits: int, scale: float = 1.0) -> float | None:
    value = METRICS[name].measure(report).value
    return None if value is None else round(value * scale, digits)


def all_lines(contest: Contest) -> Iterator[str]:
    """The lines of a comparison that is over in their order, without the document at their end."""
    began = contest.started_at
    found: list[tuple[float, str]] = []
    for trial in contest.trials:
        found.append((trial.began_s, began_line(contest, trial, began)))
        found.append((trial.ended_s, ended_line(contest, trial, began)))
    found += [(event.t_s, event_line(event)) for event in contest.events]
    yield from (line for _, line in sorted(found, key=lambda each: each[0]))


class CompareLines:
    """Writes lines while a comparison goes on; its document is not among them. Where nobody reads them it ends."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._began: set[int] = set()  # numbers of runs of which that was told
        self._ended = 0
        self._events = 0

    @contextlib.asynccontextmanager
    async def showing(self, contest: Callable[[], Contest], controls: CompareControls) -> AsyncIterator[None]:
        """Write lines until the block ends, and what is left to tell then."""
        over = asyncio.Event()
        task = asyncio.create_task(self._run(contest, controls, over))
        try:
            yield
        finally:
            over.set()
            await task
            self._tell(contest())

    async def _run(self, contest: Callable[[], Contest], controls: CompareControls, over: asyncio.Event) -> None:
        while not over.is_set():
            if self._lines.is_broken():
                controls.abort()
                return
            self._tell(contest())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await over.wait()

    def _tell(self, contest: Contest) -> None:
        """What is new, in the order in which it happened."""
        ended = contest.trials[self._ended :]
        found: list[tuple[float, str]] = [(each.t_s, event_line(each)) for each in self._new_events(contest)]
        runs: list[Going | Trial] = [*ended, *contest.going]
        for run in runs:
            if run.number not in self._began:
                self._began.add(run.number)
                found.append((run.began_s, began_line(contest, run, contest.started_at)))
        found += [(trial.ended_s, ended_line(contest, trial, contest.started_at)) for trial in ended]
        self._ended = len(contest.trials)
        for _, line in sorted(found, key=lambda each: each[0]):
            self._lines.write(line)

    def _new_events(self, contest: Contest) -> list[Event]:
        events = contest.events
        total = events.total if isinstance(events, EventLog) else len(events)
        # A full log forgets its middle: new ones are at its end, whatever their numbers are.
        new = list(events[max(0, len(events) - (total - self._events)) :]) if total > self._events else []
        self._events = total
        return new
