"""``--ci``: who in a CI is told of a run, and in time: files are claimed before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lbctl.cli.whole_files import write_whole
from lbctl.commands.stopping import spelled
from lbctl.errors import ExitCode, LbctlError, UsageError

if TYPE_CHECKING:
    from lbctl.commands.hammer import Finished
    from lbctl.stats.report import Report

_JUNIT = "junit="


class NotTold(LbctlError):
    """The run is over and its result printed, but a file of ``--ci`` could not be written."""

    exit_code = ExitCode.CHECK_FAILED


class Ci:
    """Tells a CI how a run ended, when the block does: also where it never began; a context manager.

    ``say`` writes a line to standard error, where GitHub looks for commands as it does on standard output, which may
    be data.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        target: str,
        say: Callable[[str], None],
        strict: bool,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        on_github = environ.get("GITHUB_ACTIONS") == "true"
        self._github = "github" in kinds or ("auto" in kinds and on_github)
        self._unknown = "auto" in kinds and not on_github
        self._page = environ.get("GITHUB_STEP_SUMMARY", "") if self._github else ""
        self._files = [Path(kind.removeprefix(_JUNIT)) for kind in kinds if kind.startswith(_JUNIT)]
        self._target = target
        self._say = say
        self._strict = strict
        self._finished: Finished | None = None
        self._failure = ""

    def __enter__(self) -> Self:
        """Raises UsageError for a file that cannot be written."""
        for path in self._files:
            try:
                path.open("ab").close()
            except OSError as error:
                raise UsageError(f"--ci: cannot write {path}: {_reason(error)}") from None
        if self._unknown:
            self._say("note: --ci auto: no CI that lbctl knows runs it (GITHUB_ACTIONS is not true); see --ci github")
        return self

    def ended(self, finished: Finished) -> None:
        """Hear how the run ended."""
        self._finished = finished

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        report = self._report()
        if report is not None:
            self._tell(report)
        elif isinstance(error, LbctlError):
            self._tell_of(error)
        if self._failure and error is None:
            raise NotTold(self._failure, "the result was printed")
        if self._failure:
            self._say(f"error: {self._failure}")

    def _report(self) -> Report | None:
        """The report, once there is one, with who stopped the run."""
        finished = self._finished
        if finished is None or finished.report is None or finished.report.end_reason != "interrupted":
            return None if finished is None else finished.report
        return replace(finished.report, stopped_by="q" if finished.signal is None else spelled(finished.signal))

    def _tell(self, report: Report) -> None:
        from lbctl.view.checks import checks
        from lbctl.view.github import step_summary, workflow_commands
        from lbctl.view.junit import junit

        found = checks(report, strict=self._strict)
        if self._files:
            self._write(junit(report, found))
        if self._github:
            for line in workflow_commands(report, found):
                self._say(line)
        if self._page:
            self._add(step_summary(report, found))

    def _tell_of(self, error: LbctlError) -> None:
        """Tell that there was no run, and why."""
        from lbctl.view.github import command
        from lbctl.view.junit import junit_error

        text = f"{error}\n{error.hint}" if error.hint else str(error)
        if self._files:
            self._write(junit_error(self._target, type(error).__name__, text, datetime.now(UTC)))
        if self._github:
            self._say(command("error", self._target, text))

    def _write(self, text: str) -> None:
        for path in self._files:
            try:
                write_whole(path, text)
            except OSError as error:
                self._failure = f"--ci: cannot write {path}: {_reason(error)}"

    def _add(self, page: str) -> None:
        """Add to the job's summary, which steps share."""
        try:
            with Path(self._page).open("a", encoding="utf-8") as file:
                file.write(page)
        except OSError as error:
            self._failure = f"--ci: cannot write {self._page}, GITHUB_STEP_SUMMARY: {_reason(error)}"


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
