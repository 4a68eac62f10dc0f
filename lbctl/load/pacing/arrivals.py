"""How calls are spread by a curve: evenly, by chance as if from many independent users, or in bursts.

All three are the same curve, asked for other amounts of calls: call n is due when so many have come due.

    evenly        n
    by chance     the sum of n + 1 draws of an exponential distribution with mean 1 (a Poisson process)
    in bursts     n, rounded down to a multiple of the burst's size
"""

from __future__ import annotations

from math import log
from random import Random

from lbctl.load.pacing.base import counted, rate_words
from lbctl.load.pacing.curve import Curve


class Even:
    """Each call after the gap that the rate makes."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def rate(self, at_ns: int) -> float:
        return self._curve.rate(at_ns)

    def words(self, at_ns: int) -> tuple[str, str]:
        return rate_words(self._curve.rate(at_ns))

    def due_ns(self, number: int) -> int:
        return self._curve.due_ns(number)

    def count(self, number: int, end_ns: int) -> int:
        return counted(self, number, end_ns)

    def scaled(self, factor: float, number: int, now_ns: int) -> Even:
        return Even(self._curve.scaled(factor, now_ns))


class Poisson:
    """Gaps by chance, so that a call says nothing of when the next one comes; the rate is kept in the mean only."""

    def __init__(self, curve: Curve, random: Random) -> None:
        self._curve = curve
        self._random = random
        self._number = -1
        self._calls = 0.0  # at which call ``_number`` is due

    def rate(self, at_ns: int) -> float:
        return self._curve.rate(at_ns)

    def words(self, at_ns: int) -> tuple[str, str]:
        return rate_words(self._curve.rate(at_ns))

    def due_ns(self, number: int) -> int:
        while self._number < number:
            self._number += 1
            self._calls -= log(1.0 - self._random.random())
        return self._curve.due_ns(self._calls)

    def count(self, number: int, end_ns: int) -> int:
        return counted(self, number, end_ns)

    def scaled(self, factor: float, number: int, now_ns: int) -> Poisson:
        self._curve = self._curve.scaled(factor, now_ns)
        return self


class Bursts:
    """So many calls at once, and then none until as many are due again."""

    def __init__(self, curve: Curve, size: int) -> None:
        self._curve = curve
        self._size = size

    def rate(self, at_ns: int) -> float:
        return self._curve.rate(at_ns)

    def words(self, at_ns: int) -> tuple[str, str]:
        return rate_words(self._curve.rate(at_ns))

    def due_ns(self, number: int) -> int:
        return self._curve.due_ns(number - number % self._size)

    def count(self, number: int, end_ns: int) -> int:
        return counted(self, number, end_ns)

    def scaled(self, factor: float, number: int, now_ns: int) -> Bursts:
        return Bursts(self._curve.scaled(factor, now_ns), self._size)
