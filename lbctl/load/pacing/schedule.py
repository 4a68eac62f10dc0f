"""What an open loop is asked for: stages of a rate and how calls are spread by it, or times that were recorded."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lbctl.load.pacing.arrivals import Bursts, Even, Poisson
from lbctl.load.pacing.base import Pacer
from lbctl.load.pacing.constant import Constant
from lbctl.load.pacing.curve import Curve, Stage
from lbctl.load.pacing.recorded import Recorded

ARRIVALS: Final = ("constant", "poisson", "bursts")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Stages, one after another; or, with ``times_ns``, calls at these times, ``speed`` times as fast as recorded.

    ``burst`` is how many calls come at once where ``arrival`` is bursts.
    """

    stages: tuple[Stage, ...] = ()
    arrival: str = "constant"
    burst: int = 1
    times_ns: array[int] | None = None
    speed: float = 1.0

    @property
    def rps(self) -> float | None:
        """The rate in calls/s, where it is one all the time."""
        rates = {rate for stage in self.stages for rate in (stage.first, stage.last)}
        return rates.pop() if len(rates) == 1 else None

    @property
    def seconds(self) -> float:
        """When it is over; ``math.inf`` for never."""
        if self.times_ns is not None:
            return self.times_ns[-1] / 1e9 / self.speed if len(self.times_ns) else 0.0
        return sum(stage.seconds for stage in self.stages)

    @property
    def is_even(self) -> bool:
        """Whether every gap between two calls is the same."""
        return self.rps is not None and self.arrival == "constant"

    @property
    def spelled(self) -> str:
        """How calls are spread: constant, poisson, bursts:N or recorded."""
        if self.times_ns is not None:
            return "recorded"
        return f"bursts:{self.burst}" if self.arrival == "bursts" else self.arrival

    def pacer(self, random: Random) -> Pacer:
        """When each call is due."""
        if self.times_ns is not None:
            return Recorded(self.times_ns, self.speed)
        rps = self.rps
        if rps and self.arrival == "constant" and self.seconds == math.inf:
            return Constant(rps)
        curve = Curve(self.stages)
        match self.arrival:
            case "poisson":
                return Poisson(curve, random)
            case "bursts":
                return Bursts(curve, self.burst)
        return Even(curve)


@dataclass(frozen=True, slots=True)
class Warmup:
    """What is issued before anything is counted: so many calls, or for so many seconds."""

    requests: int | None = None
    duration_s: float | None = None


def steady(rps: float) -> Schedule:
    """One rate for ever, and the same gap after every call."""
    return Schedule((Stage(math.inf, rps, rps),))


def ramp(first: float, last: float, seconds: float) -> tuple[Stage, ...]:
    """From one rate to another in so many seconds, and then on at that."""
    return Stage(seconds, first, last), Stage(math.inf, last, last)


def steps(first: float, last: float, step: float, seconds: float) -> Sequence[Stage]:
    """From one rate to another, ``step`` more or less each time, so many seconds at each; the last one counts too."""
    count = math.floor(abs(last - first) / step + 1e-9)
    rates = [first + math.copysign(step * number, last - first) for number in range(count + 1)]
    if abs(rates[-1] - last) > 1e-9 * max(1.0, abs(last)):
        rates.append(last)
    return [Stage(seconds, rate, rate) for rate in rates]
