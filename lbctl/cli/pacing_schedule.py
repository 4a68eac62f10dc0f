"""What the options that say when calls come mean together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lbctl.cli.arrival_files import read_arrivals
from lbctl.cli.pacing_options import Arrival, PacingFlags, Ramp
from lbctl.errors import UsageError
from lbctl.load.pacing.curve import Stage
from lbctl.load.pacing.schedule import Schedule, ramp, steady


def schedule_of(flags: PacingFlags, rps: float | None, duration_s: float | None) -> Schedule | None:
    """What an open loop is asked for; None for a closed one. Raises UsageError for options that contradict each other.

    ``duration_s`` is the time the run may take, where that is known.
    """
    shapes: Mapping[str, object] = {
        "-r": rps, "--ramp": flags.ramp, "--steps": flags.steps, "--stages": flags.stages, "--replay": flags.replay
    }  # fmt: skip
    given = [name for name, value in shapes.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} both say when calls come", "give one of them")
    if flags.replay is not None:
        if flags.arrival is not None:
            raise UsageError("--arrival: the file of --replay says when calls come")
        return Schedule(times_ns=read_arrivals(flags.replay.path), arrival="recorded", speed=flags.replay.speed)
    stages = _stages(flags, rps, duration_s)
    arrival = flags.arrival or Arrival()
    if stages is None:
        if flags.arrival is not None:
            raise UsageError("--arrival is for an open loop", "give a rate too: -r 500")
        return None
    return Schedule(tuple(stages), arrival.kind, arrival.burst)


def _stages(flags: PacingFlags, rps: float | None, duration_s: float | None) -> Sequence[Stage] | None:
    if flags.ramp is not None:
        return _ramp(flags.ramp, duration_s)
    if rps is not None:
        return steady(rps).stages
    found: tuple[Stage, ...] | None = flags.steps or flags.stages
    return found


def _ramp(wanted: Ramp, duration_s: float | None) -> Sequence[Stage]:
    seconds = wanted.seconds or duration_s
    if seconds is None:
        raise UsageError("--ramp: in which time?", "add it, as in --ramp 100:2k:30s, or give -z")
    stages = ramp(wanted.first, wanted.last, seconds)
    return stages[:1] if seconds == duration_s or not wanted.last else stages
