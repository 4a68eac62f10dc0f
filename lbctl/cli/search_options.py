"""The options of ``lbctl hammer`` that search for the highest rate, and what they leave of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_figures import expressions
from lbctl.cli.flags import Flags, option
from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.pacing_options import PacingFlags
from lbctl.cli.values import parse_percent, parse_positive_duration
from lbctl.cli.verdict_options import VerdictFlags, parse_threshold
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.commands.searching import Searching

PANEL: Final = "Search for the highest rate"


def parse_precision(text: str) -> float:
    """A percentage above 0."""
    share = parse_percent(text)
    if not share:
        raise ValueError(f"{text!r}: must be above 0 (for example 5%)")
    return share


@dataclass(frozen=True, slots=True)
class SearchFlags(Flags):
    """What the rate is searched by."""

    find_max: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--find-max",
            text="find the highest rate at which this holds: p99<20ms, error_rate<0.1% ... (as --threshold); begins at "
            "-r (default 100), doubles it, then halves the gap; may be repeated",
            metavar="EXPR",
            panel=PANEL,
            parse=parse_threshold,
            completes=expressions,
        ),
    ] = None
    probe_time: Annotated[
        float | None,
        option(
            "--probe-time",
            text="how long each rate is tried (default 5s), after a --warmup (default 1s)",
            metavar="TIME",
            panel=PANEL,
            parse=parse_positive_duration,
        ),
    ] = None
    find_precision: Annotated[
        float | None,
        option(
            "--find-precision",
            text="end when the highest rate is known this well (default 5%)",
            metavar="PERCENT",
            panel=PANEL,
            parse=parse_precision,
        ),
    ] = None


def searching_of(
    flags: SearchFlags, load: LoadFlags, pacing: PacingFlags, verdict: VerdictFlags, order: str | None = None
) -> tuple[Searching | None, LoadFlags]:
    """What is searched for, and the load that begins it; raises UsageError for what a search decides itself."""
    if flags.find_max is None:
        for alone, given in (("--probe-time", flags.probe_time), ("--find-precision", flags.find_precision)):
            if given is not None:
                raise UsageError(f"{alone} is for a search", "say what must hold: --find-max 'p99<20ms'")
        return None, load
    from lbctl.commands.searching import PRECISION, PROBE_S, START, Searching
    from lbctl.load.requests.given import Order

    others: Mapping[str, object] = {
        "-n": load.requests, "-z": load.duration, "-x": pacing.max_duration, "--ramp": pacing.ramp,
        "--steps": pacing.steps, "--stages": pacing.stages, "--replay": pacing.replay, "--abort-on": verdict.abort_on,
    }  # fmt: skip
    for name, value in others.items():
        if value is not None:
            raise UsageError(
                f"{name}: --find-max decides itself which calls to send, and until when",
                "--probe-time says how long each rate is tried, -r which is the first",
            )
    if order == Order.ONCE:
        raise UsageError(
            "--data-order once: a search sends as many requests as it takes", "sequential begins at the start again"
        )
    if load.rps == 0:
        raise UsageError("-r 0: a search needs a rate to begin with", "leave it out to begin at 100/s")
    wanted = Searching(
        tuple(flags.find_max),
        PROBE_S if flags.probe_time is None else flags.probe_time,
        PRECISION if flags.find_precision is None else flags.find_precision,
    )
    return wanted, replace(load, rps=load.rps or START, duration=wanted.probe_s)
