"""Which screen a comparison gets, and the one without a terminal: lines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from lbctl.load.controls import CompareControls
from lbctl.stats.rounds import Contest, Going
from lbctl.view.caps import Caps
from lbctl.view.digest import digest
from lbctl.view.event_panel import event_mark
from lbctl.view.header import fraction
from lbctl.view.progress import NoScreen
from lbctl.view.text import clock, count, duration, error_rate
from lbctl.view.theme import PLAIN, Glyphs, Look

PROGRESS_S: Final = 5.0
_LOOK_S: Final = 0.25


class ComparingScreen(Protocol):
    """What shows a comparison."""

    def showing(
        self, contest: Callable[[], Contest], controls: CompareControls
    ) -> AbstractAsyncContextManager[None]: ...


def compare_screen(caps: Caps, write: Callable[[str], None], *, interval_s: float | None = None) -> ComparingScreen:
    """Return the screen; ``write`` gets whole lines for standard error, without their end."""
    if caps.screen == "live":
        from lbctl.view.live_compare import LiveCompareScreen

        return LiveCompareScreen(caps)
    if caps.screen == "plain":
        return PlainCompareScreen(write, PROGRESS_S if interval_s is None else interval_s, caps.err_glyphs)
    return NoScreen()


def done(contest: Contest) -> float:
    """How much of the comparison is done, 0..1."""
    parts = [fraction(going.report) or 0.0 for going in contest.going]
    return min((len(contest.trials) + sum(parts)) / contest.total, 1.0)


def left_s(contest: Contest) -> float | None:
    """How long it will take on, by the runs so far and the pauses between them; None before the first is over."""
    if not contest.trials:
        return None
    runs_at_once = len(contest.contenders) if contest.order == "parallel" else 1
    each_s = sum(trial.report.elapsed_s for trial in contest.trials) / len(contest.trials) + contest.pause_s
    return max((1 - done(contest)) * contest.total / runs_at_once * each_s, 0.0)


def progress_line(contest: Contest) -> str:
    """One line in a fixed order: how far it is, and what goes on."""
    words = [
        f"compare {clock(contest.elapsed_s)} {len(contest.trials)}/{contest.total} runs {int(done(contest) * 100)}%"
    ]
    words += [_going(contest, each) for each in contest.going]
    words += ["paused"] if contest.paused else []
    words += ["stopping"] if contest.stopping else []
    return " ".join(words)


def _going(contest: Contest, going: Going) -> str:
    report = going.report
    found = digest(report.latency)
    rate = count(report.throughput, 9) if report.elapsed_s > 0 else "-"
    return (
        f"round {going.round} {contest.contenders[going.contender].label} {rate} rps "
        f"err {report.errors:,} ({error_rate(report.errors, report.ended)}) "
        f"p50 {duration(found.p50 if found else None)} p99 {duration(found.p99 if found else None)}"
    )


class PlainCompareScreen:
    """Writes a line every few seconds and one for each event; ``write`` gets whole lines without their end."""

    def __init__(self, write: Callable[[str], None], interval_s: float, glyphs: Glyphs) -> None:
        self._write = write
        self._interval_s = interval_s
        self._look = Look(PLAIN, glyphs)
        self._told = 0

    @contextlib.asynccontextmanager
    async def showing(self, contest: Callable[[], Contest], controls: CompareControls) -> AsyncIterator[None]:
        """Write lines until the block ends, and the events that are left then."""
        self._told = 0
        task = asyncio.create_task(self._run(contest))
        try:
            yield
        finally:
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
            self._tell(contest())
            failure = results[0]
            if isinstance(failure, Exception):
                raise failure

    async def _run(self, contest: Callable[[], Contest]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._interval_s
        while True:
            await asyncio.sleep(min(_LOOK_S, max(due - loop.time(), 0.0)))
            now = contest()
            self._tell(now)
            if loop.time() >= due:
                due += self._interval_s
                if now.going:
                    self._write(progress_line(now))

    def _tell(self, contest: Contest) -> None:
        for index in range(self._told, len(contest.events)):
            event = contest.events[index]
            _, mark = event_mark(event.level, self._look)
            self._write(f"event  {clock(event.t_s)} {mark} {self._look.show(event.text)}")
        self._told = len(contest.events)
