"""Where a comparison goes: one result to standard output, a copy to a file, and the exit status."""

from __future__ import annotations

import shlex
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from lbctl.cli.hammer_output import NotSaved, Sink, command_line
from lbctl.cli.regressions import Regressed, regressed
from lbctl.cli.whole_files import write_whole
from lbctl.commands.aborted import Aborted
from lbctl.commands.stopping import spelled
from lbctl.errors import CannotCall, ExitCode, LbctlError

if TYPE_CHECKING:
    from lbctl.cli.hammer_options import ScreenFlags
    from lbctl.cli.settings import Settings
    from lbctl.commands.compare import Compared
    from lbctl.stats.regression import Limit
    from lbctl.stats.rounds import Contest
    from lbctl.view.caps import Caps
    from lbctl.view.compare_screens import ComparingScreen


class ComparisonSink(Sink):
    """Takes what a comparison has to say, as a ``Sink`` does of a run."""

    def end(self, compared: Compared, limits: tuple[Limit, ...], *, forgive: bool = False) -> int:
        """Write the result and return the exit status; after SIGHUP only the file is written.

        Raises NotSaved, what ended the comparison before its time, and Regressed; the result is printed before. Where
        the last two would be exit status 1 they may be forgiven: then they are told as warnings.
        """
        try:
            return self._end(compared, limits)
        except (Aborted, Regressed) as failure:
            if not forgive:
                raise
            self._warn(failure)
            return ExitCode.OK

    def _end(self, compared: Compared, limits: tuple[Limit, ...]) -> int:
        number = compared.signal
        contest = compared.contest
        hung_up = number is not None and number == getattr(signal, "SIGHUP", None)
        if contest is not None:
            from lbctl.view.compare_output import settled

            contest = settled(replace(contest, command=command_line(), stopped_by=_stopper(compared)))
            self._put(contest, limits, printed=not hung_up)
        if compared.failure is not None:
            raise compared.failure
        if contest is not None and not hung_up:
            if not any(trial.counts for trial in contest.trials) and not contest.stopped_by:
                raise CannotCall("no run came to its end, so that there is nothing to compare")
            self._judge_limits(contest, limits, number)
        return ExitCode.OK if number is None else 128 + number

    def _put(self, contest: Contest, limits: tuple[Limit, ...], *, printed: bool) -> None:
        from lbctl.view.compare_output import last_line, saved, written

        failure: OSError | None = None
        if self._save is not None:
            self._made = False
            try:
                write_whole(self._save, saved(contest, limits) + "\n")
            except OSError as error:
                failure = error
        if printed:
            from lbctl.view.theme import Look

            look = Look(self._caps.out_style, self._caps.result_glyphs)
            output = self._settings.output or "text"
            self.lines.close()
            text = (
                last_line(contest, limits)  # the others are there already
                if output == "jsonl"
                else written(contest, limits, output, look, headers=not self._settings.no_headers)
            )
            print(text, flush=True)  # noqa: T201
        if self._save is not None and failure is not None:
            raise NotSaved(self._save, failure)
        if self._save is not None and printed:
            self.note(f"saved {self._save}; HTML: lbctl report {shlex.quote(str(self._save))} -o html")

    def _judge_limits(self, contest: Contest, limits: tuple[Limit, ...], number: int | None) -> None:
        """Raise Regressed where a limit does not hold; what a signal ended keeps the signal's status."""
        from lbctl.stats.rounds import compared

        failure = regressed(compared(contest), limits, self.note) if limits else None
        if failure is not None and number is None:
            raise failure
        if failure is not None:
            self._warn(failure)

    def _warn(self, failure: LbctlError) -> None:
        for sentence in str(failure).split("\n"):
            self.note(f"warning: {sentence}")


def screen_of(settings: Settings, caps: Caps, result: ScreenFlags, sink: Sink) -> ComparingScreen:
    """Everything that shows the comparison, as one screen."""
    from lbctl.view.compare_screens import compare_screen

    # -q leaves out progress nobody asked for; a live view is what a terminal is for.
    write = sink.note if result.ui is None else sink.say
    screen = compare_screen(caps, write, interval_s=result.interval)
    if settings.output != "jsonl":
        return screen
    from lbctl.view.compare_lines import CompareLines
    from lbctl.view.screens import Together

    return Together([screen, CompareLines(sink.lines)])


def _stopper(compared: Compared) -> str:
    """What ended it early, in a user's words."""
    contest = compared.contest
    if contest is None or (len(contest.trials) >= contest.total and compared.signal is None):
        return ""
    if isinstance(compared.failure, Aborted):
        return f"--abort-on {compared.failure.expr}"
    if compared.failure is not None:
        return "an error"
    if compared.signal is None:
        return "q"
    return spelled(compared.signal)
