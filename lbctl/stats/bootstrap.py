"""How sure a mean over rounds is: resampled (bootstrap), and never surer than so few rounds, or their calls, allow.

The mean of n values drawn from the n that there are, with repetition, is distributed as the figure might have been.
Where the resamples can be listed, they are: with m of a kind left out of account there are C(2n-1, n) of them, 10 of 3
rounds and 1,716 of 7, each with its multinomial chance. Beyond that 2,000 are drawn with a seed.

Of few values the spread of such means is too narrow: by the factor sqrt((n-1)/n), and since few values do not know
their own spread. So tails are cut where Student's t cuts them, and an end is at least as far out as the t interval's:

    rounds                                             2      3      4      5      10
    95 % interval by percentiles alone covers         50 %   75 %   80 %   85 %    92 %
    this one                                          95 %   95 %   95 %   95 %    95 %
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from random import Random
from statistics import NormalDist, fmean, stdev
from typing import Final, NamedTuple

from lbctl.stats.intervals import NOTHING, RESAMPLES, Estimate, student

_LISTED: Final = 2000  # resamples that are listed at most, rather than drawn
_FEW: Final = {1: 12.706, 2: 4.303, 3: 3.182}  # Student's t where its series is not exact, by degrees of freedom
_SAME: Final = 1e-12  # chances that differ by less are the same


class Resample(NamedTuple):
    """The mean of one resample and its chance."""

    mean: float
    chance: float


def resamples(values: Sequence[float], rng: Random) -> list[Resample]:
    """Every resample's mean with its chance, or as many as are enough; in order."""
    number = len(values)
    if comb(2 * number - 1, number) <= _LISTED:
        return sorted(_listed(values))
    return sorted(Resample(fmean(rng.choices(values, k=number)), 1 / RESAMPLES) for _ in range(RESAMPLES))


def _listed(values: Sequence[float]) -> Iterator[Resample]:
    number = len(values)
    orders = factorial(number)
    for places in combinations_with_replacement(range(number), number):
        alike = prod(factorial(places.count(place)) for place in set(places))
        yield Resample(fmean(values[place] for place in places), orders / alike / number**number)


def tails(found: Sequence[Resample], tail: float) -> tuple[float, float]:
    """The means that a part ``tail`` (0..0.5) of all resamples is below, and above."""
    return _cut(found, tail), _cut(found[::-1], tail)


def _cut(found: Sequence[Resample], tail: float) -> float:
    passed = 0.0
    for each in found:
        passed += each.chance
        if passed > tail + _SAME:
            return each.mean
    return found[-1].mean


def of_mean(values: Sequence[float], rng: Random) -> Estimate:
    """The mean and its 95 % interval; of one value there is none."""
    number = len(values)
    if number < 2:
        return Estimate(values[0]) if values else NOTHING
    mean, times = fmean(values), _student(number - 1)
    low, high = tails(resamples(values, rng), NormalDist().cdf(-sqrt(number / (number - 1)) * times))
    half = times * stdev(values) / sqrt(number)
    return Estimate(mean, min(low, mean - half), max(high, mean + half))


def _student(freedom: int) -> float:
    return _FEW.get(freedom) or student(freedom)


def over_rounds(found: Sequence[Estimate], rng: Random) -> Estimate:
    """The mean of a figure over rounds, and an interval that is no narrower than what their calls leave open.

    Three rounds without an error do not prove that there is none. NOTHING where a round has no figure.
    """
    values = [each.value for each in found if each.value is not None]
    if len(values) < len(found):
        return NOTHING
    mean, low, high = of_mean(values, rng)
    if mean is None or low is None or high is None:
        return Estimate(mean)
    below = sqrt(sum(_part(value, each.low) ** 2 for value, each in zip(values, found, strict=True)))
    above = sqrt(sum(_part(value, each.high) ** 2 for value, each in zip(values, found, strict=True)))
    return Estimate(mean, min(low, mean - below / len(values)), max(high, mean + above / len(values)))


def _part(value: float, end: float | None) -> float:
    """How far an end is from its figure; 0 where it cannot be told."""
    return 0.0 if end is None else end - value
