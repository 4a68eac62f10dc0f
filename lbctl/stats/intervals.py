"""How far a measured figure may be from what it measures: 95 % intervals from nothing but a run's own counts.

A percentile   the order statistics between which it lies, whatever the distribution: of 10,000 calls the p99 lies
               between the 9,880th and the 9,920th; each is as wide as its bucket of the histogram
A part         Wilson's interval, which is right also for 0 errors of 100 calls: 0 to 3.7 %
A rate         the wider of a Poisson count's and that of the run's samples, taken as batches
A mean         the normal one

All of them take calls as independent of each other. Calls that stood in one queue are not: between two runs more may
differ than these say, which only runs that are repeated can tell (see ``bootstrap``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import atan, ceil, cos, exp, floor, lgamma, log, log1p, pi, sqrt, tan
from statistics import NormalDist, stdev
from typing import Final, NamedTuple

from lbctl.stats.histogram import Histogram, lower_edge, middle, rank

LEVEL: Final = 0.95
RESAMPLES: Final = 2000
_Z: Final = NormalDist().inv_cdf(0.5 + LEVEL / 2)
_TAIL: Final = (1 - LEVEL) / 2
_NORMAL: Final = 200.0  # expected cases on the rarer side from which a binomial count is as good as normal
_BATCHES: Final = 5
_WHOLE: Final = 0.9  # of the usual length of a sample: a shorter one is no batch
_PIECES: Final = 64  # of Simpson's rule, an even number


class Estimate(NamedTuple):
    """A figure and its 95 % interval; None is an end, or a figure, that cannot be told."""

    value: float | None
    low: float | None = None
    high: float | None = None


NOTHING: Final = Estimate(None)


def quantile_ranks(total: int, q: float) -> tuple[int, int]:
    """The ranks, from 1, between which the quantile lies; 0 and ``total`` + 1 are beyond what was measured."""
    if q > 0.5:
        low, high = quantile_ranks(total, 1 - q)
        return total + 1 - high, total + 1 - low
    if total * q >= _NORMAL:
        spread = _Z * sqrt(total * q * (1 - q))
        return max(ceil(total * q - spread - 0.5), 0), min(floor(total * q + spread + 0.5) + 1, total + 1)
    return _counted(total, q)


def _counted(total: int, q: float) -> tuple[int, int]:
    """The same where cases are few: the binomial distribution, summed from its short end."""
    part = reached = exp(total * log1p(-q))
    case, low = 0, 0 if reached >= _TAIL else None
    while reached < 1 - _TAIL and case < total:
        case += 1
        part *= (total - case + 1) / case * q / (1 - q)
        reached += part
        if low is None and reached >= _TAIL:
            low = case
    return low or 0, case + 1


def of_quantile(times: Histogram, q: float) -> Estimate:
    """A percentile in microseconds; an end that lies beyond the slowest or the fastest call is None."""
    if not times.total:
        return NOTHING
    low, high = quantile_ranks(times.total, q)
    running = list(accumulate(times.counts))
    value = min(max(middle(bisect_left(running, rank(q, times.total))), times.min_us), times.max_us)
    least = max(lower_edge(bisect_left(running, low)), times.min_us) if low >= 1 else None
    most = min(lower_edge(bisect_left(running, high) + 1) - 1, times.max_us) if high <= times.total else None
    return Estimate(value, least, most)


def of_mean(times: Histogram) -> Estimate:
    """The mean in microseconds."""
    if times.total < 2:
        return Estimate(times.mean_us if times.total else None)
    mean = times.mean_us
    squares = sum(count * (us - mean) ** 2 for us, count in times.steps())
    half = _Z * sqrt(squares / (times.total - 1) / times.total)
    return Estimate(mean, max(mean - half, 0.0), mean + half)


def of_part(cases: int, total: int) -> Estimate:
    """A part of a total, 0..1."""
    if not total:
        return NOTHING
    share = cases / total
    scale = 1 + _Z**2 / total
    centre = (share + _Z**2 / (2 * total)) / scale
    half = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2)) / scale
    return Estimate(share, 0.0 if not cases else centre - half, 1.0 if cases == total else centre + half)


def of_rate(count: int, seconds: float, batches: Sequence[tuple[float, float]] = ()) -> Estimate:
    """Events per second; ``batches`` are the rates of pieces of the time, and how long each was in seconds."""
    if seconds <= 0:
        return NOTHING
    value = count / seconds
    half = max(_Z * sqrt(count) / seconds, _of_batches(batches))
    return Estimate(value, max(value - half, 0.0), value + half)


def _of_batches(batches: Sequence[tuple[float, float]]) -> float:
    """Half the width that the batches give; 0 where there are too few."""
    usual = max((seconds for _, seconds in batches), default=0.0)
    rates = [rate for rate, seconds in batches if seconds >= _WHOLE * usual]
    if len(rates) < _BATCHES:
        return 0.0
    return student(len(rates) - 1) * stdev(rates) / sqrt(len(rates))


@lru_cache(256)
def student(freedom: float) -> float:
    """The quantile of Student's t that 95 % lie within on both sides; degrees of freedom, 1 or more, need not be whole.

    With t = sqrt(v) * tan(a) its density is a power of cos(a), which is integrated by Simpson's rule.
    """
    power = freedom - 1
    scale = 2 * exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi)
    angle = atan(_Z / sqrt(freedom))  # below the root of a concave function: Newton's steps never pass it
    for _ in range(50):
        step = (LEVEL - scale * _simpson(power, angle)) / (scale * _cosine(angle, power))
        angle += step
        if step < 1e-12:
            break
    return sqrt(freedom) * tan(angle)


def _simpson(power: float, end: float) -> float:
    """The integral of a power of the cosine from 0."""
    width = end / _PIECES
    inner = (_cosine(place * width, power) * (4 if place % 2 else 2) for place in range(1, _PIECES))
    return width / 3 * (1 + sum(inner) + _cosine(end, power))


def _cosine(angle: float, power: float) -> float:
    return exp(power * log(cos(angle)))


def apart(base: Estimate, other: Estimate) -> Estimate:
    """What ``other`` has more than ``base``, from the intervals of both (they are squared and added).

    An end is None where one that it is made of is.
    """
    if base.value is None or other.value is None:
        return NOTHING
    value = other.value - base.value
    return Estimate(value, _end(value, other, base, -1), _end(value, base, other, 1))


def _end(value: float, lowered: Estimate, raised: Estimate, sign: int) -> float | None:
    """The end of a difference: the one has less of what makes it larger, the other more."""
    if lowered.value is None or lowered.low is None or raised.value is None or raised.high is None:
        return None
    return value + sign * sqrt((lowered.value - lowered.low) ** 2 + (raised.high - raised.value) ** 2)
