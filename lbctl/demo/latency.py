"""How long a demo backend takes to answer, and which of its answers fail: pure, chance comes in as a Random.

Fixed(0.002)               every call takes 2 ms
LogNormal(0.002, 0.5)      half the calls take longer than 2 ms, and 2 in 100 longer than 2 ms * e^(2.05 * 0.5) = 5.6 ms
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every call takes the same time."""

    seconds: float

    def sample(self, _rng: Random) -> float:
        """Seconds that the next call takes."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class LogNormal:
    """The usual shape of service times: most near the median, a long tail above it."""

    median_s: float
    sigma: float

    def sample(self, rng: Random) -> float:
        """Seconds that the next call takes."""
        return self.median_s * math.exp(rng.gauss(0.0, self.sigma))


Latency = Fixed | LogNormal

# The name is what a user types before the bracket and what travels to the backend process.
MODELS: dict[str, type[Fixed] | type[LogNormal]] = {"fixed": Fixed, "lognormal": LogNormal}


def encode(latency: Latency) -> list[str | float]:
    """The model as JSON can carry it: its name, then its numbers."""
    name = next(name for name, model in MODELS.items() if isinstance(latency, model))
    return [name, *astuple(latency)]


def decode(parts: list[str | float]) -> Latency:
    """The model that :func:`encode` wrote."""
    name, *numbers = parts
    return MODELS[str(name)](*(float(number) for number in numbers))


class Behaviour:
    """What one backend does to its calls; the same seed gives the same delays and the same failures in call order."""

    def __init__(self, latency: Latency, error_rate: float, seed: str) -> None:
        self._latency = latency
        self._error_rate = error_rate
        # Two streams of chance: changing the latency model leaves the failing calls where they were.
        self._delays = Random(f"{seed}/latency")
        self._failures = Random(f"{seed}/errors")

    def delay(self) -> float:
        """Seconds that the next call takes."""
        return self._latency.sample(self._delays)

    def fails(self) -> bool:
        """Whether the next call fails."""
        return self._failures.random() < self._error_rate
