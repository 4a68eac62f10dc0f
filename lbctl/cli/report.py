"""``lbctl report``: saved runs shown again, or compared with each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_figures import limits
from lbctl.cli.completion_values import files as files_like
from lbctl.cli.flags import Flags, argument, option, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.pages import refuse_terminal
from lbctl.cli.settings import Settings
from lbctl.errors import ExitCode, LbctlError, UsageError
from lbctl.view.outputs import OUTPUTS

if TYPE_CHECKING:
    from lbctl.stats.comparison import Comparison, Run
    from lbctl.stats.regression import Limit
    from lbctl.view.theme import Look

ABOUT = """\
Show a run that hammer --save wrote, as hammer showed it or in another format; several are compared.

FILE is what hammer wrote as JSON, lines of JSON, YAML or HTML, or a page that report made; - is standard input. Runs of
one command count as repetitions of each other. Differences are against the runs of --baseline, or those of the
first command, and have 95 % intervals."""
EXAMPLES = (
    "lbctl report run.json",
    "lbctl report run.json -o html > run.html",
    "lbctl report smooth_wrr.json p2c.json",
    "lbctl report new.json --baseline main.json --fail-on-regression",
    "lbctl report new-*.json --baseline main.json --fail-on-regression 'p99<5%,error_rate<0.1pp'",
)
FORMATS: Final = tuple(OUTPUTS)
COMPARED: Final = ("text", "json", "yaml", "csv", "html")
_PANEL: Final = "Comparison"
_RUNS: Final = files_like("*.json", "*.jsonl", "*.yaml", "*.yml", "*.html")


def parse_limits_or_default(text: str) -> object:
    """Limits of ``--fail-on-regression``; of the option alone the default ones."""
    from lbctl.stats.regression import DEFAULT, parse_limits

    return parse_limits(DEFAULT if text == "on" else text)


@dataclass(frozen=True, slots=True)
class CompareFlags(Flags):
    """What runs are compared with, and what of it is judged."""

    baseline: Annotated[
        list[str] | None,
        option(
            "--baseline",
            text="compare with this run; repeated for repetitions of it",
            metavar="FILE",
            panel=_PANEL,
            completes=_RUNS,
        ),
    ] = None
    fail_on_regression: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--fail-on-regression",
            text="exit with 1 where a run is worse by more than this, and its interval says so too "
            "(default p99<10%,error_rate,rps<5%)",
            metavar="[METRIC<LIMIT,...]",
            panel=_PANEL,
            parse=parse_limits_or_default,
            completes=limits,
        ),
    ] = None
    each: Annotated[
        bool, switch("--each", text="a column for each run, also for several of one command", panel=_PANEL)
    ] = False
    out: Annotated[
        str | None, option("--out", text="write the result to this file", metavar="FILE", panel="Output")
    ] = None


class Regressed(LbctlError):
    """The comparison is printed; something got worse by more than it may."""

    exit_code = ExitCode.CHECK_FAILED


@with_settings(registry=False, outputs=FORMATS, headers=True)
def report(
    files: Annotated[list[str], argument(metavar="FILE", text="saved runs; - is standard input", completes=_RUNS)],
    *,
    compared: CompareFlags,
    settings: Settings,
) -> int:
    """Show saved runs."""
    from lbctl.commands.report import read_runs

    if compared.out is None:
        refuse_terminal(settings)
    runs, before = read_runs(files, compared.baseline or [])
    if not settings.quiet:
        for line in _lacking([*runs, *before]):
            print(f"note: {line}", file=sys.stderr)  # noqa: T201
    if len(runs) == 1 and not before:
        if compared.fail_on_regression:
            raise UsageError("--fail-on-regression needs a run to compare with", "--baseline FILE, or a second FILE")
        _put(_alone(runs[0], settings), compared.out)
        return ExitCode.OK
    return _compared(runs, before, compared, settings)


def _lacking(runs: Sequence[Run]) -> Iterator[str]:
    from lbctl.stats.saved import lacking

    for run in runs:
        missing = lacking(run.report)
        if missing:
            what = " and ".join(missing)
            yield f"{run.name} has no {what}, an older lbctl saved it: what is made of them is left out"


def _alone(run: Run, settings: Settings) -> str:
    from lbctl.view.outputs import Manner, written

    manner = Manner(_look(settings), verbose=settings.verbose > 0, headers=not settings.no_headers)
    return written(run.report, settings.output or "text", manner)


def _look(settings: Settings) -> Look:
    from lbctl.cli.screens import caps_of
    from lbctl.view.theme import Look

    caps = caps_of(settings)
    return Look(caps.out_style, caps.out_glyphs)


def _compared(runs: Sequence[Run], before: Sequence[Run], flags: CompareFlags, settings: Settings) -> int:
    from lbctl.stats.comparison import compare
    from lbctl.stats.grouping import grouped

    output = settings.output or "text"
    if output not in COMPARED:
        raise UsageError(
            f"-o: {output} is of one run, and there are {len(runs) + len(before)}", f"use one of: {', '.join(COMPARED)}"
        )
    found = compare(grouped(runs, before, each=flags.each))
    limits = flags.fail_on_regression or ()
    _put(_comparison(found, limits, settings), flags.out)
    _judge(found, limits, settings)
    return ExitCode.OK


def _comparison(found: Comparison, limits: tuple[Limit, ...], settings: Settings) -> str:
    from lbctl.view import comparison, output

    match settings.output:
        case "json":
            return output.as_json(comparison.comparison_document(found, limits))
        case "yaml":
            return output.as_yaml(comparison.comparison_document(found, limits))
        case "csv":
            return comparison.comparison_csv(found, headers=not settings.no_headers)
        case "html":
            from lbctl.view.html.comparison import comparison_page

            return comparison_page(found, limits)
    return comparison.comparison_text(found, _look(settings))


def _judge(found: Comparison, limits: tuple[Limit, ...], settings: Settings) -> None:
    """Raise Regressed where a limit does not hold; what cannot be judged is told, and holds nothing up."""
    from lbctl.stats.regression import regressions, unjudged
    from lbctl.view.comparison import regression_sentence

    if not settings.quiet:
        for label, limit, difference in unjudged(found, limits):
            print(  # noqa: T201
                f"warning: {limit.metric.name} of {label} cannot be judged: {difference.verdict}", file=sys.stderr
            )
    sentences = [regression_sentence(each, found.base.label) for each in regressions(found, limits)]
    if sentences:
        raise Regressed("\n".join(sentences))


def _put(text: str, out: str | None) -> None:
    """Write the result to standard output, or to the file."""
    if out is None:
        print(text, flush=True)  # noqa: T201
        return
    try:
        Path(out).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out: cannot write {out}: {(error.strerror or str(error)).lower()}") from None


COMMAND = Command(report, ABOUT, EXAMPLES)
