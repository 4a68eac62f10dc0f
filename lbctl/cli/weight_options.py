"""The options of ``lbctl weight``: how weights are written, and how they are found where nobody gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from lbctl.cli.completion_sources import weighted
from lbctl.cli.completion_values import files
from lbctl.cli.flags import Flags, option, switch
from lbctl.cli.values import parse_count, parse_percent, parse_positive_duration, parse_rate
from lbctl.cli.weight_values import parse_limit, parse_weighted

_WRITE: Final = "Writing"
_AUTO: Final = "Weights by measurement"
_RULE: Final = "The rule of --auto"


@dataclass(frozen=True, slots=True)
class WriteFlags(Flags):
    """Whether weights are written, and whether somebody is asked first."""

    dry_run: Annotated[
        bool, switch("--dry-run", text="show what would be written, and write nothing", panel=_WRITE)
    ] = False
    yes: Annotated[bool, switch("-y", "--yes", text="write without asking", panel=_WRITE)] = False


@dataclass(frozen=True, slots=True)
class RevertFlags(Flags):
    """Whether what is written is only for a while."""

    revert_after: Annotated[
        float | None,
        option(
            "--revert-after",
            text="wait for so long, or until Ctrl-C, and write back what was there",
            metavar="TIME",
            panel=_WRITE,
            parse=parse_positive_duration,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class AutoFlags(Flags):
    """Where the measurements come from, how often, and what becomes of them."""

    auto: Annotated[
        bool,
        switch("--auto", text="find the weights by the error rate and latency of each instance", panel=_AUTO),
    ] = False
    apply: Annotated[
        bool, switch("--apply", text="write what is found; without it --auto only shows it", panel=_AUTO)
    ] = False
    run: Annotated[
        Path | None,
        option(
            "--from",
            text="take the figures of a saved run (hammer --save or -o json) instead of measuring",
            metavar="FILE",
            panel=_AUTO,
            completes=files("*.json"),
        ),
    ] = None
    base: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--base",
            text="the weight that the rule starts from for an instance (default: the registered one, as first seen); "
            "may be repeated",
            metavar="ADDRESS=WEIGHT",
            panel=_AUTO,
            parse=parse_weighted,
            completes=weighted,
        ),
    ] = None
    rps: Annotated[
        float | None,
        option(
            "-r",
            "--rps",
            text="calls a second to measure by, over all instances (default 20)",
            metavar="RATE",
            panel=_AUTO,
            parse=parse_rate,
        ),
    ] = None
    window: Annotated[
        float | None,
        option(
            "--window",
            text="how long one look measures (default 10s)",
            metavar="TIME",
            panel=_AUTO,
            parse=parse_positive_duration,
        ),
    ] = None
    every: Annotated[
        float | None,
        option(
            "--every",
            text="look again after this long, until Ctrl-C; a --window that is longer spans several looks",
            metavar="TIME",
            panel=_AUTO,
            parse=parse_positive_duration,
        ),
    ] = None
    once: Annotated[bool, switch("--once", text="look once, whatever the settings say of --every", panel=_AUTO)] = False
    confirm: Annotated[
        int | None,
        option(
            "--confirm",
            text="with --every: looks in a row that have to point the same way (default 2)",
            metavar="N",
            panel=_AUTO,
            parse=parse_count,
        ),
    ] = None
    min_change: Annotated[
        int | None,
        option(
            "--min-change",
            text="leave a weight that would change by less (default 1)",
            metavar="N",
            panel=_AUTO,
            parse=parse_count,
        ),
    ] = None

    @property
    def only_auto(self) -> str | None:
        """The first option given that means nothing without --auto."""
        given = {
            "--apply": self.apply or None,
            "--from": self.run,
            "--base": self.base or None,
            "--rps": self.rps,
            "--window": self.window,
            "--every": self.every,
            "--once": self.once or None,
            "--confirm": self.confirm,
            "--min-change": self.min_change,
        }
        return next((flag for flag, value in given.items() if value is not None), None)


@dataclass(frozen=True, slots=True)
class RuleFlags(Flags):
    """The thresholds of the rule."""

    min_requests: Annotated[
        int | None,
        option(
            "--min-requests",
            text="calls with fewer of which the base weight stands (default 10)",
            metavar="N",
            panel=_RULE,
            parse=parse_count,
        ),
    ] = None
    error_high: Annotated[
        float | None,
        option(
            "--error-high",
            text="part of calls that fails above which a weight is halved (default 10%)",
            metavar="P%",
            panel=_RULE,
            parse=parse_percent,
        ),
    ] = None
    error_low: Annotated[
        float | None,
        option(
            "--error-low",
            text="part of calls that fails below which it is doubled (default 1%)",
            metavar="P%",
            panel=_RULE,
            parse=parse_percent,
        ),
    ] = None
    latency_high: Annotated[
        float | None,
        option(
            "--latency-high",
            text="mean above which a weight is 1 less (default 100ms)",
            metavar="TIME",
            panel=_RULE,
            parse=parse_positive_duration,
        ),
    ] = None
    latency_low: Annotated[
        float | None,
        option(
            "--latency-low",
            text="mean below which it is 1 more (default 10ms)",
            metavar="TIME",
            panel=_RULE,
            parse=parse_positive_duration,
        ),
    ] = None
    min: Annotated[
        int | None,
        option(
            "--min",
            text="the least that a weight is lowered to (default 1)",
            metavar="N",
            panel=_RULE,
            parse=parse_limit,
        ),
    ] = None
    max: Annotated[
        int | None,
        option(
            "--max",
            text="the most that a weight is raised to (default 10)",
            metavar="N",
            panel=_RULE,
            parse=parse_limit,
        ),
    ] = None

    @property
    def any_given(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__slots__)
