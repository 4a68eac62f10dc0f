"""Where a run's words and result go: talk to standard error, one result to standard output, a copy to a file."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.cli.settings import Settings
    from lbctl.commands.hammer import Finished
    from lbctl.stats.report import Report
    from lbctl.view.caps import Caps


class Sink:
    """Takes what a run has to say. The file of ``--save`` is opened at once: a bad name must not cost a run."""

    def __init__(self, settings: Settings, caps: Caps, save: str | None, service: str) -> None:
        self._settings = settings
        self._caps = caps
        self._save = _claimed(save, service) if save is not None else None

    def say(self, line: str) -> None:
        """One line to standard error."""
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    def note(self, line: str) -> None:
        """One line to standard error, unless -q."""
        if not self._settings.quiet:
            self.say(line)

    def finish(self, finished: Finished) -> int:
        """Write the result and return the exit status; after SIGHUP only the file is written."""
        report = finished.report
        if self._save is not None:
            self._save.write_text(self._json(report) + "\n", encoding="utf-8")
        if finished.signal == getattr(signal, "SIGHUP", None):
            return ExitCode.HANGUP
        print(self._text(report, finished.signal), flush=True)  # noqa: T201
        if self._save is not None:
            self.note(f"saved {self._save}")
        if finished.signal is not None:
            return 128 + finished.signal
        return ExitCode.OK

    def _text(self, report: Report, number: int | None) -> str:
        match self._settings.output:
            case "json":
                return self._json(report)
            case "yaml":
                from lbctl.view.output import as_yaml
                from lbctl.view.run_document import run_document

                return as_yaml(run_document(report))
        from lbctl.view.summary import summary

        by = {signal.SIGTERM: "SIGTERM"}.get(number, "Ctrl-C") if number is not None else "q"  # type: ignore[call-overload]
        command = shlex.join(["lbctl", *sys.argv[1:]])
        return summary(
            report, command, stopped_by=by, style=self._caps.out_style, glyphs=self._caps.out_glyphs
        ).rstrip()

    def _json(self, report: Report) -> str:
        from lbctl.view.output import as_json
        from lbctl.view.run_document import run_document

        return as_json(run_document(report))


def _claimed(save: str, service: str) -> Path:
    """The file to save to, created; ``auto`` makes a name of the service and the time."""
    path = Path(save)
    if save == "auto":
        stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
        path = Path(f"lbctl-{re.sub(r'[^A-Za-z0-9._-]+', '-', service).strip('-') or 'run'}-{stamp}.json")
    try:
        path.touch()
    except OSError as error:
        raise UsageError(f"--save: cannot write {path}: {(error.strerror or str(error)).lower()}") from None
    return path
