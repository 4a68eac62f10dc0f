"""The options of ``lbctl hammer`` that say how much is sent, and what becomes of the result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from lbctl.cli.flags import Flags, one_of, option, switch
from lbctl.cli.policy_options import policy_opt_option, policy_option
from lbctl.cli.values import parse_count, parse_duration, parse_positive_duration, parse_rate

UIS: Final = ("auto", "live", "plain", "none")
_LOAD: Final = "Load"
_RESULT: Final = "Screen and result"


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"{text!r} is not a whole number of at most 18 digits")
    return int(text)


def _fps(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.1 <= number <= 60:
        raise ValueError(f"{text!r} is not a number from 0.1 to 60")
    return number


def _window(text: str) -> float:
    """Seconds; 0 for all of the run."""
    if text == "total":
        return 0.0
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 60:
        raise ValueError(f"{text!r} is neither total nor a time from 1s to 60s")
    return seconds


@dataclass(frozen=True, slots=True)
class AmountFlags(Flags):
    """How much is sent, and how fast."""

    requests: Annotated[
        int | None,
        option(
            "-n",
            "--requests",
            text="calls to send (default 1000, unless -z is given)",
            metavar="N",
            panel=_LOAD,
            parse=parse_count,
        ),
    ] = None
    duration: Annotated[
        float | None,
        option(
            "-z",
            "--duration",
            text="send for this long; with -n, whichever comes first",
            metavar="TIME",
            panel=_LOAD,
            parse=parse_positive_duration,
        ),
    ] = None
    concurrency: Annotated[
        int | None,
        option(
            "-c",
            "--concurrency",
            text="calls in flight (default 50); with -r, calls beyond that are dropped (default: no limit)",
            metavar="N",
            panel=_LOAD,
            parse=parse_count,
        ),
    ] = None
    rps: Annotated[
        float | None,
        option(
            "-r",
            "--rps",
            text="open loop: this many calls a second (500, 10k, 30/m), whatever becomes of them; "
            "latency counts from the planned start",
            metavar="RATE",
            panel=_LOAD,
            parse=parse_rate,
        ),
    ] = None
    max_outstanding: Annotated[
        int | None,
        option(
            "--max-outstanding",
            text="with -r: calls that may be in flight at one backend, more are dropped and counted (default 10k)",
            metavar="N",
            panel=_LOAD,
            parse=parse_count,
        ),
    ] = None
    seed: Annotated[
        int | None,
        option(
            "--seed",
            text="of every random choice (default: a new one, in the result)",
            metavar="N",
            panel=_LOAD,
            parse=_seed,
        ),
    ] = None
    grace: Annotated[
        float | None,
        option(
            "--grace",
            text="how long the end waits for calls in flight (default 5s)",
            metavar="TIME",
            panel=_LOAD,
            parse=parse_duration,
        ),
    ] = None

    def of_a_policy(self) -> LoadFlags:
        """The same load for a policy that is yet to be named."""
        return LoadFlags(**{each.name: getattr(self, each.name) for each in fields(AmountFlags)})


@dataclass(frozen=True, slots=True)
class LoadFlags(AmountFlags):
    """How much is sent, how fast, and who gets it."""

    policy: Annotated[Any, policy_option(_LOAD)] = None  # parsed: typer has no name for what a parser returns
    policy_opt: Annotated[list[Any] | None, policy_opt_option(_LOAD)] = None
    explain: Annotated[bool, switch("--explain", text="tell why the first call went where it went", panel=_LOAD)] = (
        False
    )
    explain_call: Annotated[
        int | None,
        option(
            "--explain-call",
            text="tell it of the N-th pick instead, when a policy that goes by load knows something",
            metavar="N",
            panel=_LOAD,
            parse=parse_count,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ScreenFlags(Flags):
    """What is shown and kept."""

    save: Annotated[
        str | None,
        option("--save", text="write the result as JSON; auto makes up a name", metavar="FILE", panel=_RESULT),
    ] = None
    ui: Annotated[
        str | None,
        option("--ui", text="auto, live, plain or none", metavar="KIND", panel=_RESULT, parse=one_of(*UIS)),
    ] = None
    fps: Annotated[
        float | None,
        option("--fps", text="frames a second of the live view (default 8)", metavar="N", panel=_RESULT, parse=_fps),
    ] = None
    interval: Annotated[
        float | None,
        option(
            "--interval",
            text="between two progress lines (default 5s), or two samples of -o jsonl (1s) or pushes of --otlp (10s)",
            metavar="TIME",
            panel=_RESULT,
            parse=parse_positive_duration,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ResultFlags(ScreenFlags):
    """What is shown, kept and judged."""

    window: Annotated[
        float | None,
        option(
            "--window",
            text="what the live view shows first: total (default), or the last 5s, 1s..60s; w turns to the other",
            metavar="total|TIME",
            panel=_RESULT,
            parse=_window,
        ),
    ] = None
    strict: Annotated[
        bool,
        switch("--strict", text="exit with 1 where a backend bent HTTP/2 or gRPC, and say how", panel=_RESULT),
    ] = False
