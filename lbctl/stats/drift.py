"""Whether a run had one latency, or several one after the other: then its percentiles are those of a mixture.

Two questions are asked of the median of each sample:

warm-up   the run of samples at the beginning, at most a third of all, that are over the upper quartile of the second
          half by three times its spread between the quartiles, and over its median by a fifth; unless so many later
          ones are as slow that the first ones may well be by chance
trend     Mann and Kendall's test of what comes after that: do later samples have the higher (or the lower) medians?
          It knows no distribution and minds no outlier. The variance is widened by how much neighbours are alike once
          a straight line or a step is taken away, since a slow wave would pass for a trend; and with enough samples any
          trend is certain, so that the medians of both halves must also differ by a tenth.

Samples that are shorter than the others, or without a call that was OK, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import erfc, sqrt
from statistics import fmean, median, quantiles
from typing import Final

from lbctl.stats.samples import Sample

LEAST: Final = 8  # samples
_CERTAIN: Final = 0.01
_MATTERS: Final = 0.1  # of the smaller median
_WARM: Final = 1.2  # of the median of the second half
_SPREADS: Final = 3.0
_WHOLE: Final = 0.9  # of the usual length of a sample
_MOST_ALIKE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Drift:
    """What became of the median latency over a run; ``before_ms`` and ``after_ms`` are those of both halves.

    The first ``warmup_s`` seconds were slower than the rest, ``warmup_ms`` in the median, and are in neither half.
    """

    verdict: str  # steady | rising | falling | too_few
    before_ms: float | None = None
    after_ms: float | None = None
    p_value: float | None = None
    warmup_s: float = 0.0
    warmup_ms: float | None = None


TOO_FEW: Final = Drift("too_few")


def drift_of(samples: Sequence[Sample]) -> Drift:
    """Judge the samples of a run, oldest first."""
    usual = max((each.seconds for each in samples), default=0.0)
    whole = [each for each in samples if each.seconds >= _WHOLE * usual]
    found = [(each.t_s, each.latency.p50_ms) for each in whole if each.latency is not None]
    if len(found) < LEAST:
        return TOO_FEW
    medians = [p50 for _, p50 in found]
    cold = _cold(medians)
    warm = medians[cold:]
    before, after = median(warm[: len(warm) // 2]), median(warm[len(warm) // 2 :])
    score, p_value = _trend(warm)
    certain = p_value < _CERTAIN and abs(after - before) >= _MATTERS * min(before, after)
    rises = score > 0
    return Drift(
        verdict=("rising" if rises else "falling") if certain and rises == (after > before) else "steady",
        before_ms=before,
        after_ms=after,
        p_value=p_value,
        warmup_s=found[cold - 1][0] if cold else 0.0,
        warmup_ms=median(medians[:cold]) if cold else None,
    )


def _cold(medians: Sequence[float]) -> int:
    """How many samples at the beginning were slow; 0 where the slow ones do not end in the first third."""
    low, middle, high = quantiles(medians[len(medians) // 2 :], n=4, method="inclusive")
    limit = max(_WARM * middle, high + _SPREADS * (high - low))
    cold = next((place for place, each in enumerate(medians) if each <= limit), len(medians))
    if cold > len(medians) // 3:
        return 0
    later = medians[cold:]
    slow = sum(each > limit for each in later) / len(later)
    return cold if slow**cold < _CERTAIN else 0


def _trend(values: Sequence[float]) -> tuple[int, float]:
    """Mann and Kendall's score, and how likely one as far from 0 is by chance."""
    number = len(values)
    score = sum((later > each) - (later < each) for place, each in enumerate(values) for later in values[place + 1 :])
    ties = sum(many * (many - 1) * (2 * many + 5) for many in Counter(values).values())
    variance = (number * (number - 1) * (2 * number + 5) - ties) / 18
    if not variance or not score:
        return score, 1.0
    alike = _alike(values)
    z = (abs(score) - 1) / sqrt(variance * (1 + alike) / (1 - alike))
    return score, erfc(z / sqrt(2))


def _alike(values: Sequence[float]) -> float:
    """The correlation of neighbours once the line, or the step, is taken away that leaves less of it; 0 at least."""
    return min(_correlation(_without_line(values)), _correlation(_without_step(values)))


def _without_line(values: Sequence[float]) -> list[float]:
    middle, mean = (len(values) - 1) / 2, fmean(values)
    square = sum((place - middle) ** 2 for place in range(len(values)))
    slope = sum((place - middle) * (each - mean) for place, each in enumerate(values)) / square
    return [each - mean - slope * (place - middle) for place, each in enumerate(values)]


def _without_step(values: Sequence[float]) -> list[float]:
    """The values around their means before and after the place where that leaves the least."""
    sums = list(accumulate(values))
    total, number = sums[-1], len(values)
    cut = max(range(1, number), key=lambda at: sums[at - 1] ** 2 / at + (total - sums[at - 1]) ** 2 / (number - at))
    before, after = sums[cut - 1] / cut, (total - sums[cut - 1]) / (number - cut)
    return [each - (before if place < cut else after) for place, each in enumerate(values)]


def _correlation(rest: Sequence[float]) -> float:
    power = sum(each**2 for each in rest)
    return min(max(sum(a * b for a, b in pairwise(rest)) / power, 0.0), _MOST_ALIKE) if power else 0.0
