"""Where a run's words and result go: talk to standard error, one result to standard output, a copy to a file."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lbctl.cli.line_writer import LineWriter
from lbctl.cli.pages import refuse_terminal
from lbctl.cli.redaction import without_secrets
from lbctl.cli.suggestions import again
from lbctl.cli.whole_files import write_whole
from lbctl.commands.stopping import spelled
from lbctl.errors import CannotCall, ExitCode, LbctlError, UsageError

if TYPE_CHECKING:
    from lbctl.cli.hammer_options import ScreenFlags
    from lbctl.cli.settings import Settings
    from lbctl.commands.hammer import Finished
    from lbctl.stats.report import Report
    from lbctl.view.caps import Caps


class NotSaved(LbctlError):
    """The run is over and its result printed, but the file of ``--save`` could not be written."""

    exit_code = ExitCode.CHECK_FAILED

    def __init__(self, path: Path, failure: OSError) -> None:
        hint = "the result was printed; -o json prints what the file was to hold"
        super().__init__(f"--save: cannot write {path}: {reason_of(failure)}", hint)


class Sink:
    """Takes what a run has to say; a context manager, entered before anything is sent.

    The file of ``--save`` is opened then: a bad name must not cost a run. It is taken away again if nothing came of
    the run.
    """

    def __init__(
        self, settings: Settings, caps: Caps, flags: ScreenFlags, service: str, *, strict: bool = False
    ) -> None:
        self._settings = settings
        self._caps = caps
        self._strict = strict
        self._service = service
        self._save = path_of(flags.save, service) if flags.save is not None else None
        self._made = False  # the file of --save is ours and empty
        self.lines = LineWriter()  # to standard output, while the run goes on

    def __enter__(self) -> Self:
        refuse_terminal(self._settings)
        if self._save is not None:
            self._made = claim(self._save)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made and self._save is not None:
            self._save.unlink(missing_ok=True)

    def say(self, line: str) -> None:
        """One line to standard error; that nobody reads it any more is no reason to end a run."""
        if sys.stderr is None:  # closed by whoever started us; print would take standard output instead
            return
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def note(self, line: str) -> None:
        """One line to standard error, unless -q."""
        if not self._settings.quiet:
            self.say(line)

    def finish(self, finished: Finished) -> int:
        """Write the result and return the exit status; after SIGHUP only the file is written.

        Raises NotSaved, CannotCall for a run that was given up, and CheckFailed for one that did not do what was asked
        of it; the result is printed before.
        """
        number = finished.signal
        report = finished.report and replace(
            finished.report, command=command_line(), stopped_by=_stopper(finished) or finished.report.stopped_by
        )
        hung_up = number is not None and number == getattr(signal, "SIGHUP", None)
        if report is not None:
            failure = self._saved(report)
            if not hung_up:
                self.lines.close()
                print(self._text(report, brief=finished.cut_short), flush=True)  # noqa: T201
            if self._save is not None and failure is not None:
                raise NotSaved(self._save, failure)
            if self._save is not None and not hung_up:
                self.note(f"saved {self._save}; HTML: lbctl report {shlex.quote(str(self._save))} -o html")
            if not hung_up and _is_registered_and_skewed(report):
                looking = again(self._settings).command("doctor", self._service, options=("--probe", "1000"))
                self.note(f"hint: {looking}")
        failed = _failed(finished, self._look(report))
        if failed is not None:
            raise failed
        if report is not None and not hung_up:
            self._judge(report, number)
        return ExitCode.OK if number is None else 128 + number

    def _look(self, report: Report | None) -> str:
        """The command that asks what the run went to for its health."""
        command = again(self._settings).command
        if report is None or not report.backends or _is_registered(report):
            return command("ls", self._service, options=("--check",))
        return command("health", options=("--backends", ",".join(row.address for row in report.backends)))

    def _judge(self, report: Report, number: int | None) -> None:
        """Raise CheckFailed for a run that is not good enough; one that a signal ended keeps the signal's status."""
        from lbctl.cli.hammer_verdict import verdict

        failure = verdict(report, strict=self._strict)
        if failure is None:
            return
        if number is None:
            raise failure
        for line in str(failure).split("\n"):
            self.note(f"warning: {line}")

    def _saved(self, report: Report) -> OSError | None:
        """Write the file of ``--save``, if there is one; returns what went wrong."""
        if self._save is None:
            return None
        self._made = False
        try:
            write_whole(self._save, self._json(report) + "\n")
        except OSError as error:
            return error
        return None

    def _text(self, report: Report, *, brief: bool) -> str:
        from lbctl.view.outputs import Manner, written
        from lbctl.view.sample_lines import run_line
        from lbctl.view.theme import Look

        settings = self._settings
        if settings.output == "jsonl":  # its other lines are there already
            return run_line(report)
        look = Look(self._caps.out_style, self._caps.result_glyphs)
        manner = Manner(look, verbose=settings.verbose > 0, headers=not settings.no_headers, brief=brief)
        return written(report, settings.output or "text", manner)

    def _json(self, report: Report) -> str:
        from lbctl.view.outputs import Manner, written

        return written(report, "json", Manner())


def command_line() -> str:
    """What was typed, as it may be shown."""
    return shlex.join(["lbctl", *without_secrets(sys.argv[1:])])


def _stopper(finished: Finished) -> str:
    """What interrupted the run, in a user's words; "" where nothing did."""
    if finished.report is None or finished.report.end_reason != "interrupted":
        return ""
    if finished.signal is None:
        return "q"
    return spelled(finished.signal)


def _is_registered_and_skewed(report: Report) -> bool:
    """Whether calls went elsewhere than they should have, to backends that the registry knows."""
    return report.balance.verdict == "skewed" and _is_registered(report)


def _is_registered(report: Report) -> bool:
    """Whether backends are those of a registry."""
    return any(row.key != row.address for row in report.backends)


def path_of(save: str, service: str) -> Path:
    """The file to save to; ``auto`` makes a name of the service and the time."""
    if save != "auto":
        return Path(save)
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(f"lbctl-{re.sub(r'[^A-Za-z0-9._-]+', '-', service).strip('-') or 'run'}-{stamp}.json")


def claim(path: Path) -> bool:
    """See that the file can be written, and tell whether it is new; what an old one holds stays until then."""
    new = not path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError(f"--save: cannot write {path}: {reason_of(error)}") from None
    return new


def reason_of(error: OSError) -> str:
    """What the system says of it."""
    return (error.strerror or str(error)).lower()


def _failed(finished: Finished, look: str) -> LbctlError | None:
    """Why the run could not go on to its end, if it could not; ``look`` is the command that shows what is left."""
    report = finished.report
    if finished.failure is not None or report is None or report.end_reason != "error":
        return finished.failure
    return _given_up(report, look)


def _given_up(report: Report, look: str) -> CannotCall:
    """Nobody could be used: it makes a difference whether that is for want of backends."""
    if "rotation" not in report.given_up:
        return CannotCall("the run was given up: no backend was ready any more", f"see what is left of it: {look}")
    return CannotCall(f"the run was given up: {report.given_up}", "--when-all-out panic uses them all the same")
