"""``--max-errors``: a run of too many errors ends early, and is no measurement of anything that can be called."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from lbctl.commands.judging import Judged
from lbctl.errors import CannotCall
from lbctl.stats.report import Report
from lbctl.stats.thresholds import ENOUGH_CALLS

MAX_ERRORS: Final = "max_errors"
PERIOD_S: Final = 0.1
_PERCENT: Final = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,4})?)%")
_COUNT: Final = re.compile(r"[1-9][0-9]{0,14}")


@dataclass(frozen=True, slots=True)
class ErrorLimit:
    """So many errors, or a part of the calls that ended (0..1), which is judged from 100 calls on."""

    spelled: str
    count: int | None = None
    part: float | None = None

    def is_reached(self, report: Report) -> bool:
        """Whether there are as many errors as the count, or more of them than the part."""
        if self.count is not None:
            return report.errors >= self.count
        part = self.part or 0.0
        return report.ended >= ENOUGH_CALLS and report.errors > part * report.ended

    def failure(self, report: Report) -> CannotCall | None:
        """What a finished run comes to; a run that was over before anybody looked is judged all the same."""
        if not self.is_reached(report):
            return None
        first = next(iter(report.error_groups), None)
        most = "" if first is None else f", most of them {first.code.name}: {first.message or 'no message'}"
        return CannotCall(
            f"--max-errors {self.spelled}: {report.errors:,} of {report.ended:,} calls failed{most}",
            "a higher --max-errors goes on for longer",
        )

    @contextmanager
    def watching(self, run: Judged) -> Iterator[None]:
        """End the run once there are too many, until the block ends."""
        looking = asyncio.create_task(self._keep_looking(run))
        try:
            yield
        finally:
            if not looking.cancel():
                looking.result()

    async def _keep_looking(self, run: Judged) -> None:
        while True:
            if self.look(run):
                return
            await asyncio.sleep(PERIOD_S)

    def look(self, run: Judged) -> bool:
        """End the run if it has too many errors, and return whether it has; a warm-up does not count."""
        report = run.report()
        if report.warming or report.stopping or not self.is_reached(report):
            return False
        run.note("log", None, f"--max-errors {self.spelled}: {report.errors:,} errors", "bad")
        run.end(MAX_ERRORS)
        return True


def parse_error_limit(text: str) -> ErrorLimit:
    """``100`` or ``5%``."""
    spelled = text.strip()
    if _COUNT.fullmatch(spelled):
        return ErrorLimit(spelled, count=int(spelled))
    match = _PERCENT.fullmatch(spelled)
    if match is None:
        raise ValueError(f"{text!r} is neither a number of errors, 1 or more, nor a part below 100%: 100, 5%")
    return ErrorLimit(spelled, part=float(match[1]) / 100)


def watched(limit: ErrorLimit | None, run: Judged) -> AbstractContextManager[None]:
    """``watching`` where there is a limit."""
    return nullcontext() if limit is None else limit.watching(run)
