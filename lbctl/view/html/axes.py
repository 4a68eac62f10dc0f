"""Axes of charts: where a value is, and which values are worth a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from lbctl.view.text import clock, count, duration, rate

_NINES: Final = (
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``low`` to ``high``, as ``scale`` sees them; ``ticks`` have labels."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    scale: Callable[[float], float] = float

    def at(self, value: float) -> float:
        """Where a value is, 0..1; what is outside is at the edge."""
        low, high = self.scale(self.low), self.scale(self.high)
        return min(max((self.scale(value) - low) / (high - low), 0.0), 1.0) if high > low else 0.0


def linear(high: float, label: Callable[[float], str], steps: int = 4) -> Axis:
    """From 0 to the next round number."""
    step = _round_step(high / steps) if high > 0 else 1.0
    most = max(ceil(high / step - 1e-9), 1) * step
    return Axis(0.0, most, [(n * step, label(n * step)) for n in range(round(most / step) + 1)])


def _round_step(least: float) -> float:
    """The next of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(least))
    return next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= least * (1 - 1e-9))


def times(low_us: float, high_us: float) -> Axis:
    """Durations in microseconds, by their logarithms."""
    low, high = max(low_us, 1.0), max(high_us, low_us * 1.05, 2.0)
    return Axis(low, high, _time_ticks(low, high), log10)


def _time_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten, or 1-2-5 steps where there are few of them, or what there is."""
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        found = [
            digit * 10.0**power
            for power in range(floor(log10(low)), ceil(log10(high)) + 1)
            for digit in digits
            if low * 0.999 <= digit * 10.0**power <= high * 1.001
        ]
        if len(found) >= 3:
            return [(value, duration(value)) for value in found]
    return [(low, duration(low)), (high, duration(high))]


def _nines(q: float) -> float:
    return -log10(max(1.0 - q, 1e-9))


def percentiles(total: int) -> Axis:
    """Percentiles by the number of their nines, up to the last that so many calls have."""
    most = max((q for q, _ in _NINES if q < 1 - 0.5 / max(total, 2)), default=0.5)
    last = min(max(1 - 1 / max(total, 2), most), _NINES[-1][0])
    return Axis(0.0, last, [(q, label) for q, label in _NINES if q <= last], _nines)


def seconds(high: float) -> Axis:
    """Time since the start."""
    axis = linear(max(high, 0.001), lambda value: clock(value) if high >= 120 else f"{value:g}s", 5)
    return Axis(0.0, max(high, 0.001), [(at, label) for at, label in axis.ticks if at <= high * 1.001])


def per_second(high: float) -> Axis:
    """Calls per second."""
    return linear(high, lambda value: count(value, 6) if value >= 10 else rate(value) if value else "0")
