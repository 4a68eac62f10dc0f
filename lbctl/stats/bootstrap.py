"""How sure a mean over runs is: resampled (bootstrap), and never surer than so few runs, or their calls, allow.

The mean of n values drawn from the n that there are, with repetition, is distributed as the figure might have been.
Where the resamples can be listed, they are: with m of a kind left out of account there are C(2n-1, n) of them, 10 of 3
runs and 1,716 of 7, each with its multinomial chance. Beyond that 2,000 are drawn with a seed.

Of few values the spread of such means is too narrow: by the factor sqrt((n-1)/n), and since few values do not know
their own spread. So tails are cut where Student's t cuts them, and an end is at least as far out as the t interval's:

    runs                                               2      3      4      5      10
    95 % interval by percentiles alone covers         50 %   75 %   80 %   85 %    92 %
    this one                                          95 %   95 %   95 %   95 %    95 %
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb, factorial, hypot, prod, sqrt
from random import Random
from statistics import NormalDist, fmean, pvariance, stdev, variance
from typing import Final, NamedTuple

from lbctl.stats.intervals import NOTHING, RESAMPLES, Estimate, apart, student

_LISTED: Final = 2000  # resamples that are listed at most, rather than drawn
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
    return sorted(Resample(sum(rng.choices(values, k=number)) / number, 1 / RESAMPLES) for _ in range(RESAMPLES))


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
    mean, times = fmean(values), student(number - 1)
    low, high = tails(resamples(values, rng), NormalDist().cdf(-sqrt(number / (number - 1)) * times))
    half = times * stdev(values) / sqrt(number)
    return Estimate(mean, min(low, mean - half), max(high, mean + half))


def over_runs(found: Sequence[Estimate], rng: Random) -> Estimate:
    """The mean of a figure over runs, and an interval that is no narrower than what their calls leave open.

    Three runs without an error do not prove that there is none. NOTHING where a run has no figure.
    """
    values = _values(found)
    mean, low, high = of_mean(values, rng)
    if mean is None or low is None or high is None:
        return Estimate(mean)
    below, above = _within(found)
    return Estimate(mean, min(low, mean - below), max(high, mean + above))


def _values(found: Sequence[Estimate]) -> list[float]:
    """The figures of all of them; none where one is missing."""
    values = [each.value for each in found if each.value is not None]
    return values if len(values) == len(found) else []


def _within(found: Sequence[Estimate]) -> tuple[float, float]:
    """How far the mean of figures may be off because of their calls alone; 0 where the end of one cannot be told."""
    parts = [(each.value or 0.0, each.low, each.high) for each in found]
    below = sum((value - low) ** 2 for value, low, _ in parts if low is not None)
    above = sum((high - value) ** 2 for value, _, high in parts if high is not None)
    return sqrt(below) / len(parts), sqrt(above) / len(parts)


def between(base: Sequence[Estimate], other: Sequence[Estimate], rng: Random) -> Estimate:
    """What the mean over ``other`` runs is more than that over the ``base``, which are no pairs.

    Both are resampled, each by itself, and the interval is at least that of Welch. A run alone does not know how much
    runs differ: what those of the other side do is taken for both. Of one run each it is what their calls leave open.
    """
    if len(base) == len(other) == 1:
        return apart(base[0], other[0])
    before, now = _values(base), _values(other)
    if not before or not now:
        return NOTHING
    change = fmean(now) - fmean(before)
    error, freedom = _welch(before, now)
    half = student(freedom) * error
    low, high = change - half, change + half
    if min(len(before), len(now)) > 1 and half:
        found = _apart(resamples(before, rng), resamples(now, rng), rng)
        tail = NormalDist().cdf(-half / sqrt(pvariance(before) / len(before) + pvariance(now) / len(now)))
        first, last = tails(found, tail)
        low, high = min(low, first), max(high, last)
    (base_below, base_above), (below, above) = _within(base), _within(other)
    return Estimate(change, min(low, change - hypot(below, base_above)), max(high, change + hypot(above, base_below)))


def _welch(before: Sequence[float], now: Sequence[float]) -> tuple[float, float]:
    """The standard error of a difference of means, and its degrees of freedom."""
    if min(len(before), len(now)) == 1:
        many = max(before, now, key=len)
        return stdev(many) * sqrt(1 + 1 / len(many)), len(many) - 1
    first, second = variance(before) / len(before), variance(now) / len(now)
    if not first + second:
        return 0.0, len(before) + len(now) - 2
    freedom = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(now) - 1))
    return sqrt(first + second), freedom


def _apart(before: Sequence[Resample], now: Sequence[Resample], rng: Random) -> list[Resample]:
    """Resamples of a difference: every one with every other, or as many as are enough; in order."""
    if len(before) * len(now) <= _LISTED:
        pairs = product(before, now)
        return sorted(Resample(last.mean - first.mean, first.chance * last.chance) for first, last in pairs)
    drawn = (rng.choices(each, [one.chance for one in each], k=RESAMPLES) for each in (before, now))
    return sorted(Resample(last.mean - first.mean, 1 / RESAMPLES) for first, last in zip(*drawn, strict=True))
