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
from lbctl.cli.regressions import parse_limits_or_default, regressed
from lbctl.cli.settings import Settings
from lbctl.cli.whole_files import write_whole
from lbctl.errors import ExitCode, UsageError
from lbctl.view.outputs import OUTPUTS

if TYPE_CHECKING:
    from lbctl.stats.comparison import Comparison, Run
    from lbctl.stats.regression import Limit
    from lbctl.stats.rounds import Contest
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
    "lbctl report new-*.json --baseline main.json --fail-on-regression 'p99<5%'",
)
FORMATS: Final = tuple(OUTPUTS)
COMPARED: Final = ("text", "json", "yaml", "csv", "html")
_PANEL: Final = "Comparison"
_NAMED: Final = 3  # files in one note
_RUNS: Final = files_like("*.json", "*.jsonl", "*.yaml", "*.yml", "*.html")


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
    exit_zero: Annotated[
        bool, switch("--exit-zero", text="exit status 0 also where something got worse", panel=_PANEL)
    ] = False
    out: Annotated[
        str | None, option("--out", text="write the result to this file", metavar="FILE", panel="Output")
    ] = None


@with_settings(registry=False, outputs=FORMATS, headers=True)
def report(
    files: Annotated[list[str], argument(metavar="FILE", text="saved runs; - is standard input", completes=_RUNS)],
    *,
    compared: CompareFlags,
    settings: Settings,
) -> int:
    """Show saved runs."""
    from lbctl.commands.report import read_files

    if compared.out is None:
        refuse_terminal(settings)
    found, base = read_files(files, compared.baseline or [])
    runs, before = ([run for each in some for run in each.runs] for some in (found, base))
    for line in _lacking([*runs, *before]):
        _note(line, settings)
    contest = found[0].contest if len(found) == 1 and not before and not compared.each else None
    if contest is not None:
        return _contested(contest, compared, settings)
    if len(runs) == 1 and not before:
        if compared.fail_on_regression:
            raise UsageError("--fail-on-regression needs a run to compare with", "--baseline FILE, or a second FILE")
        _put(_alone(runs[0], settings), compared.out)
        return ExitCode.OK
    return _compared(runs, before, compared, settings)


def _note(line: str, settings: Settings) -> None:
    """One line to standard error, unless -q."""
    if not settings.quiet:
        print(line, file=sys.stderr)  # noqa: T201


def _lacking(runs: Sequence[Run]) -> Iterator[str]:
    from lbctl.stats.saved import lacking

    found: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        found.setdefault(lacking(run.report), []).append(run.name)
    for missing, names in found.items():
        if missing:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            have = f"{', '.join(names[:_NAMED])}{more} {'has' if len(names) == 1 else 'have'}"
            what = " and ".join(missing)
            yield f"note: {have} no {what}, an older lbctl saved it: what is made of them is left out"


def _contested(contest: Contest, flags: CompareFlags, settings: Settings) -> int:
    """Show a comparison that ``compare`` made as it was shown at its end, with its rounds."""
    from lbctl.stats.regression import parse_limits
    from lbctl.stats.rounds import compared
    from lbctl.view.compare_output import written

    output = _allowed(settings, (*COMPARED, "jsonl"), len(contest.trials))
    asked = flags.fail_on_regression or ()
    limits = asked or (parse_limits(",".join(contest.limits)) if contest.limits else ())
    _put(written(contest, limits, output, _look(settings), headers=not settings.no_headers), flags.out)
    return _judged(compared(contest), asked, flags, settings)


def _allowed(settings: Settings, formats: Sequence[str], runs: int) -> str:
    """The output format; raises UsageError for one that several runs do not have."""
    output = settings.output or "text"
    if output not in formats:
        raise UsageError(f"-o: {output} is of one run, and there are {runs}", f"use one of: {', '.join(formats)}")
    return output


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

    _allowed(settings, COMPARED, len(runs) + len(before))
    policies = sorted({run.report.policy for run in before})
    if len(policies) > 1:
        raise UsageError(
            f"--baseline: these are runs of several policies, {', '.join(policies)}, and no repetitions",
            "name files of one policy, or leave --baseline out: the first FILE is the base",
        )
    found = compare(grouped(runs, before, each=flags.each))
    limits = flags.fail_on_regression or ()
    _put(_comparison(found, limits, settings), flags.out)
    return _judged(found, limits, flags, settings)


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


def _judged(found: Comparison | None, limits: tuple[Limit, ...], flags: CompareFlags, settings: Settings) -> int:
    """Return the exit status; raises Regressed where a limit does not hold."""

    def note(line: str) -> None:
        _note(line, settings)

    failure = regressed(found, limits, note)
    if failure is None:
        return ExitCode.OK
    if not flags.exit_zero:
        raise failure
    for sentence in str(failure).split("\n"):
        note(f"warning: {sentence}")
    return ExitCode.OK


def _put(text: str, out: str | None) -> None:
    """Write the result to standard output, or to the file."""
    if out is None:
        print(text, flush=True)  # noqa: T201
        return
    try:
        write_whole(Path(out), text + "\n")
    except OSError as error:
        raise UsageError(f"--out: cannot write {out}: {(error.strerror or str(error)).lower()}") from None


COMMAND = Command(report, ABOUT, EXAMPLES)
