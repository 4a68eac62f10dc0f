"""Which backends of a set are outliers: gRFC A50's two tests, in whole numbers, so that no rounding decides.

successes   50 100 100 100 100 of 100 each, factor 1900
rates       .5   1   1   1   1                    mean .9, standard deviation .2
threshold   .9 - 1.9 x .2 = .52                   the first one is below
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm, sqrt
from typing import NamedTuple


class Sample(NamedTuple):
    """What one backend answered in one interval; ``total`` is above 0."""

    successes: int
    total: int


class Spread(NamedTuple):
    """Success rates of a set for people; what is decided is decided without them."""

    mean: float
    stdev: float

    def threshold(self, factor: int) -> float:
        return self.mean - self.stdev * factor / 1000


def spread(samples: Sequence[Sample]) -> Spread:
    """Mean and population standard deviation of the success rates."""
    rates = [sample.successes / sample.total for sample in samples]
    mean = sum(rates) / len(rates)
    return Spread(mean, sqrt(sum((rate - mean) ** 2 for rate in rates) / len(rates)))


def by_success_rate(samples: Sequence[Sample], factor: int) -> list[bool]:
    """Whether each rate is below the mean by more than ``factor`` / 1000 population standard deviations.

    All rates are put over one denominator, and squares are compared in place of roots.
    """
    common = lcm(*(sample.total for sample in samples))
    rates = [sample.successes * (common // sample.total) for sample in samples]
    count, total = len(rates), sum(rates)
    below = [total - count * rate for rate in rates]  # how far under the mean, x count x common
    limit = factor * factor * sum(gap * gap for gap in below)
    return [gap > 0 and 1_000_000 * count * gap * gap > limit for gap in below]


def by_failures(sample: Sample, threshold: int, *, inclusive: bool) -> bool:
    """Whether the percentage of failures is above the threshold, or ``inclusive``, also where it is just that."""
    failures, limit = 100 * (sample.total - sample.successes), threshold * sample.total
    return failures > limit or (inclusive and failures == limit)
