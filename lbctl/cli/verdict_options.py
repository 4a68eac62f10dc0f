"""The options of ``lbctl hammer`` that say what a run must come to, what ends it early, and who in a CI is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_figures import expressions
from lbctl.cli.completion_values import after, either, files, words
from lbctl.cli.flags import Flags, option, switch
from lbctl.cli.values import parse_count, parse_duration

if TYPE_CHECKING:
    from lbctl.cli.settings import Settings
    from lbctl.stats.thresholds import Abort, Threshold

PANEL: Final = "Verdict"
KINDS: Final = ("github", "auto")
_OPTIONS: Final = ("after=", "calls=")


def parse_threshold(text: str) -> Threshold:
    """An expression that must hold."""
    from lbctl.stats import thresholds

    return thresholds.parse_threshold(text)


def parse_abort(text: str) -> Abort:
    """``EXPR``, ``EXPR,after=10s``, ``EXPR,calls=500``: an expression that must not become true, and from when on."""
    from lbctl.stats.thresholds import ENOUGH_CALLS, Abort

    expr, *options = text.split(",")
    condition = parse_threshold(expr)
    given: dict[str, str] = {}
    for each in options:
        name, _, value = (part.strip() for part in each.partition("="))
        if f"{name}=" not in _OPTIONS:
            raise ValueError(f"{text!r}: {each.strip()!r} is neither after=TIME nor calls=N")
        if name in given:
            raise ValueError(f"{text!r}: {name} is given twice")
        given[name] = value
    return Abort(
        condition,
        parse_duration(given["after"]) if "after" in given else 0.0,
        parse_count(given["calls"]) if "calls" in given else ENOUGH_CALLS if condition.is_estimate else 0,
    )


def parse_thresholds(text: str) -> tuple[Threshold, ...]:
    """Expressions with commas between them, as a settings file or a variable has them."""
    return tuple(parse_threshold(each) for each in text.split(",") if each.strip())


def parse_aborts(text: str) -> tuple[Abort, ...]:
    """Conditions with commas between them; ``after=`` and ``calls=`` are of the one before."""
    found: list[str] = []
    for each in text.split(","):
        if found and each.lstrip().startswith(_OPTIONS):
            found[-1] += f",{each}"
        elif each.strip():
            found.append(each)
    return tuple(map(parse_abort, found))


def parse_ci(text: str) -> str:
    """``github``, ``junit=FILE`` or ``auto``; alone it is ``auto``."""
    if text == "on":
        return "auto"
    kind, given, file = text.partition("=")
    if kind == "junit":
        if not file:
            raise ValueError("junit needs the file to write: junit=results.xml")
        return text
    if kind not in KINDS or given:
        raise ValueError(f"{text!r} is not github, junit=FILE or auto")
    return text


@dataclass(frozen=True, slots=True)
class EndFlags(Flags):
    """What ends a run because it is too bad, and whether that is a failure."""

    abort_on: Annotated[
        list[Any] | None,
        option(
            "--abort-on",
            text="end the run as soon as this is true, and exit with 1: errors>=100, error_rate>50%; looked at once a "
            "second, from the time on (default 0s), anything but counts and rates with at least N calls (default 100)",
            metavar="EXPR[,after=TIME][,calls=N]",
            panel=PANEL,
            parse=parse_abort,
            completes=expressions,
        ),
    ] = None
    exit_zero: Annotated[
        bool, switch("--exit-zero", text="exit status 0 also where something that was asked does not hold", panel=PANEL)
    ] = False


@dataclass(frozen=True, slots=True)
class VerdictFlags(EndFlags):
    """What a run must come to."""

    threshold: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--threshold",
            text="exit with 1 unless this holds: p99<50ms, error_rate<1%, rps>500, max_delta<2pp, backend.p99<80ms "
            "(every backend), backend[ADDRESS].errors<1, code.UNAVAILABLE<5 ...; may be repeated",
            metavar="EXPR",
            panel=PANEL,
            parse=parse_threshold,
            completes=expressions,
        ),
    ] = None
    ci: Annotated[
        list[str] | None,
        option(
            "--ci",
            text="tell a CI: annotations and a job summary for GitHub, a JUnit file, or auto (alone: GitHub where it "
            "runs us); may be repeated",
            metavar="[github|junit=FILE|auto]",
            panel=PANEL,
            parse=parse_ci,
            completes=either(words(*KINDS), after("junit=", files())),
        ),
    ] = None


def thresholds_of(flags: VerdictFlags, settings: Settings) -> tuple[Threshold, ...]:
    """What must hold; the options take the place of the settings."""
    return settings.threshold if flags.threshold is None else tuple(flags.threshold)


def conditions_of(flags: EndFlags, settings: Settings) -> tuple[Abort, ...]:
    """What must not become true; the options take the place of the settings."""
    return settings.abort_on if flags.abort_on is None else tuple(flags.abort_on)
