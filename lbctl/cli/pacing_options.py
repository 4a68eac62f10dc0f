"""The options of ``lbctl hammer`` that say when calls come, and how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_values import begun, files, free
from lbctl.cli.flags import Flags, option
from lbctl.cli.values import parse_count, parse_positive_duration, parse_rate

if TYPE_CHECKING:
    from lbctl.load.pacing.curve import Stage
    from lbctl.load.pacing.schedule import Warmup

_LOAD: Final = "Load"
_MOST_STAGES: Final = 10_000
_FASTEST: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """How calls are spread: evenly, by chance, or so many at once."""

    kind: str = "constant"
    burst: int = 1


@dataclass(frozen=True, slots=True)
class Ramp:
    """From one rate to another; without a time, over the whole run."""

    first: float
    last: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A file of arrival times, and how many times as fast they are to be."""

    path: Path
    speed: float


def parse_arrival(text: str) -> Arrival:
    """``constant``, ``poisson`` or ``bursts:N``."""
    kind, _, size = text.strip().partition(":")
    if kind in ("constant", "poisson") and not size:
        return Arrival(kind)
    if kind == "bursts" and size:
        return Arrival(kind, parse_count(size))
    raise ValueError(f"{text!r} is not constant, poisson or bursts:N (for example bursts:100)")


def parse_ramp(text: str) -> Ramp:
    """``100:2k`` or ``100:2k:30s``."""
    parts = text.strip().split(":")
    if len(parts) not in (2, 3):
        raise ValueError(f"{text!r} is not FROM:TO or FROM:TO:TIME (for example 100:2k:30s)")
    first, last = (parse_rate(part) for part in parts[:2])
    if not first and not last:
        raise ValueError(f"{text!r} never calls anybody")
    return Ramp(first, last, parse_positive_duration(parts[2]) if len(parts) == 3 else None)


def parse_steps(text: str) -> tuple[Stage, ...]:
    """``100:500:100:10s``: from one rate to another by so much, and so long at each."""
    from lbctl.load.pacing.schedule import steps

    parts = text.strip().split(":")
    if len(parts) != 4:
        raise ValueError(f"{text!r} is not FROM:TO:STEP:TIME (for example 100:500:100:10s)")
    first, last, step = (parse_rate(part) for part in parts[:3])
    if not step:
        raise ValueError(f"{text!r}: a step of 0 leads nowhere")
    if abs(last - first) / step >= _MOST_STAGES:
        raise ValueError(f"{text!r} has more than {_MOST_STAGES:,} steps")
    if not first and not last:
        raise ValueError(f"{text!r} never calls anybody")
    return tuple(steps(first, last, step, parse_positive_duration(parts[3])))


def parse_stages(text: str) -> tuple[Stage, ...]:
    """``30s@1k,10s@1k:5k,1m@5k``: so long at a rate, or from one rate to another."""
    from lbctl.load.pacing.curve import Stage

    found = []
    for part in text.split(","):
        seconds, _, rates = part.strip().partition("@")
        first, _, last = rates.partition(":")
        if not seconds or not first:
            raise ValueError(f"{part.strip()!r} is not TIME@RATE or TIME@FROM:TO (for example 30s@1k,10s@1k:5k)")
        begin = parse_rate(first)
        found.append(Stage(parse_positive_duration(seconds), begin, parse_rate(last) if last else begin))
    if len(found) > _MOST_STAGES:
        raise ValueError(f"there are more than {_MOST_STAGES:,} stages")
    if not any(stage.calls for stage in found):
        raise ValueError(f"{text!r} never calls anybody")
    return tuple(found)


def parse_replay(text: str) -> Replay:
    """``FILE`` or ``FILE,speed=2``."""
    path, comma, rest = text.rpartition(",speed=")
    if not comma:
        return Replay(Path(text), 1.0)
    try:
        speed = float(rest)
    except ValueError:
        speed = math.nan
    if not 1 / _FASTEST <= speed <= _FASTEST:
        raise ValueError(f"speed {rest!r} is not a number from 0.001 to 1000")
    return Replay(Path(path), speed)


def parse_warmup(text: str) -> Warmup:
    """``500`` calls, or ``10s``."""
    from lbctl.load.pacing.schedule import Warmup

    try:
        return Warmup(requests=parse_count(text))
    except ValueError:
        pass
    try:
        return Warmup(duration_s=parse_positive_duration(text))
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of calls nor a time (for example 500 or 10s)") from None


@dataclass(frozen=True, slots=True)
class PacingFlags(Flags):
    """When calls come, and how long."""

    arrival: Annotated[
        Any,
        option(
            "--arrival",
            text="with a rate: constant gaps (default), poisson, gaps by chance as from many users, or bursts:N, "
            "N at once",
            metavar="HOW",
            panel=_LOAD,
            parse=parse_arrival,
            completes=begun("constant", "poisson", "bursts:"),
        ),
    ] = None
    ramp: Annotated[
        Any,
        option(
            "--ramp",
            text="open loop: from one rate to another within TIME, and on at that (100:2k:30s); "
            "without TIME over the whole of -z",
            metavar="FROM:TO[:TIME]",
            panel=_LOAD,
            parse=parse_ramp,
        ),
    ] = None
    steps: Annotated[
        Any,
        option(
            "--steps",
            text="open loop: from one rate to another by STEP, TIME at each (100:500:100:10s)",
            metavar="FROM:TO:STEP:TIME",
            panel=_LOAD,
            parse=parse_steps,
        ),
    ] = None
    stages: Annotated[
        Any,
        option(
            "--stages",
            text="open loop: rates one after another, FROM:TO for a ramp (30s@1k,10s@1k:5k,1m@5k)",
            metavar="TIME@RATE,...",
            panel=_LOAD,
            parse=parse_stages,
            completes=free,
        ),
    ] = None
    replay: Annotated[
        Any,
        option(
            "--replay",
            text="open loop: calls at the times in a file, a line each, in seconds or as 2026-01-31T12:00:00.5Z",
            metavar="FILE[,speed=N]",
            panel=_LOAD,
            parse=parse_replay,
            completes=files(),
        ),
    ] = None
    max_duration: Annotated[
        float | None,
        option(
            "-x",
            "--max-duration",
            text="end after this long even if -n were not sent",
            metavar="TIME",
            panel=_LOAD,
            parse=parse_positive_duration,
        ),
    ] = None
    warmup: Annotated[
        Any,
        option(
            "--warmup",
            text="calls, or time, before anything is counted (500 or 10s)",
            metavar="N|TIME",
            panel=_LOAD,
            parse=parse_warmup,
        ),
    ] = None
