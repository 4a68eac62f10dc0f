"""Whether a backend takes longer the more calls it has: then its times follow its load, and no simulation knows them.

in flight   1   2   3   4        in flight   1   2   3   4
took, ms   10  20  30  40        took, ms   21  19  20  22
swing    0.45: a queue           swing    0.02: times of its own
"""

from __future__ import annotations

from math import sqrt
from typing import Final

ENOUGH: Final = 100  # samples below which nothing is said


class Strain:
    """How the time of a backend's calls goes with the number of them in flight, from sums."""

    __slots__ = ("_load", "_load_squares", "_products", "_time", "_time_squares", "samples")

    def __init__(self) -> None:
        self.samples = 0
        self._load = self._load_squares = 0
        self._time = self._time_squares = self._products = 0.0

    def add(self, in_flight: int, took_s: float) -> None:
        """A call ended after so many seconds, with so many others in flight."""
        self.samples += 1
        self._load += in_flight
        self._load_squares += in_flight * in_flight
        self._time += took_s
        self._time_squares += took_s * took_s
        self._products += in_flight * took_s

    @property
    def swing(self) -> float:
        """By what part of its mean a call's time rises with one standard deviation of the calls in flight.

        That is Pearson's correlation times the coefficient of variation of the times. 0 where there are too few
        samples, or where the calls in flight never changed.
        """
        number = self.samples
        loads = number * self._load_squares - self._load * self._load
        if number < ENOUGH or loads <= 0 or not self._time:
            return 0.0
        return (number * self._products - self._load * self._time) / (sqrt(loads) * self._time)
