"""What a run is judged by: conditions that end it, looked at once a second, and thresholds once it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.stats.thresholds import Abort, Threshold

PERIOD_S: Final = 1.0
ABORTED: Final = "aborted"


class Judged(Protocol):
    """What a judge needs of a run."""

    def report(self) -> Report: ...

    def end(self, why: str) -> None:
        """Issue nothing more, and let what is in flight finish."""
        ...

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None: ...


@dataclass(slots=True)
class Judge:
    """Ends a run as soon as one of the conditions is true, and says of a finished one what became of everything."""

    thresholds: Sequence[Threshold] = ()
    conditions: Sequence[Abort] = ()
    _ended_by: tuple[Abort, Outcome] | None = field(default=None, init=False)

    @contextmanager
    def watching(self, run: Judged) -> Iterator[None]:
        """Look at the conditions until the block ends."""
        looking = asyncio.create_task(self._keep_looking(run)) if self.conditions else None
        try:
            yield
        finally:
            if looking is not None and not looking.cancel():
                looking.result()

    async def _keep_looking(self, run: Judged) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            if self.look(run):
                return

    def look(self, run: Judged) -> bool:
        """End the run if a condition is true now, and return whether one is; while it warms up nothing counts."""
        report = run.report()
        if report.warming or report.stopping:
            return False
        for condition in self.conditions:
            found = condition.reached(report)
            if found is not None:
                self._ended_by = (condition, found)
                run.note("log", found.backend, f"{_option(found)}: {found.figure}", "bad")
                run.end(ABORTED)
                return True
        return False

    def judged(self, report: Report) -> Report:
        """The report of a finished run, with every outcome in it.

        A condition is looked at once more: whether it was true must not depend on how long a run took.
        """
        stopped_by = report.stopped_by
        if report.end_reason == ABORTED and self._ended_by is not None:
            stopped_by = _option(self._ended_by[1])
        return replace(
            report,
            thresholds=tuple(each.judge(report) for each in self.thresholds),
            abort_on=tuple(self._outcome(each, report) for each in self.conditions),
            stopped_by=stopped_by,
        )

    def _outcome(self, condition: Abort, report: Report) -> Outcome:
        if self._ended_by is not None and condition is self._ended_by[0]:
            return self._ended_by[1]
        return condition.judge(report)


def _option(found: Outcome) -> str:
    return f"--abort-on {found.expr}"
