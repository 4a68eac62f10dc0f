"""What the screen shows of a histogram, computed once per change: percentiles, and counts per 1-2-5 bucket."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from lbctl.stats.histogram import BUCKETS, Histogram, bucket_of, lower_edge, middle, rank
from lbctl.stats.windows import NOTHING, Held

EDGES_US = (*(step * 10**power for power in range(2, 7) for step in (1, 2, 5)), 10_000_000)
_QUANTILES = (0.5, 0.9, 0.99)
_FEW = 20  # histograms that are renewed as often as asked for; more of them half as often


def _first_bucket(edge: int) -> int:
    bucket = bucket_of(edge)
    return bucket if lower_edge(bucket) >= edge else bucket + 1


_CUTS = (0, *(_first_bucket(edge) for edge in EDGES_US), BUCKETS)
_RANGES = tuple(pairwise(_CUTS))


class Digest(NamedTuple):
    """Durations in microseconds; ``counts`` has one more entry than EDGES_US: below each edge, and above the last."""

    total: int
    p50: float
    p90: float
    p99: float
    max_us: int
    counts: tuple[int, ...]


def digest(histogram: Histogram, before: Held = NOTHING) -> Digest | None:
    """Return the digest of what a histogram counted, ``before`` left out; None for nothing.

    Percentiles are those of ``Histogram.quantiles``; with something left out the greatest is within 1 %.
    """
    total = histogram.total - before.total
    if total <= 0:
        return None
    counts, then = histogram.counts, before.counts
    sums = [0] * len(_RANGES)
    for part in range(_part(histogram.min_us), _part(histogram.max_us) + 1):
        first, end = _RANGES[part]
        sums[part] = sum(counts[first:end]) - (sum(then[first:end]) if then else 0)
    running = list(accumulate(sums, initial=0))
    values = []
    for quantile in _QUANTILES:
        wanted = rank(quantile, total)
        part = min(bisect_left(running, wanted), len(sums)) - 1
        bucket = _bucket(counts, then, _RANGES[part], wanted - running[part])
        values.append(min(max(middle(bucket), histogram.min_us), histogram.max_us))
    p50, p90, p99 = values
    return Digest(total, p50, p90, p99, _greatest(histogram, before, sums), tuple(sums))


def _part(us: int) -> int:
    """Which of the ranges a duration is in."""
    return bisect_right(_CUTS, bucket_of(us)) - 1


def _bucket(counts: list[int], then: list[int], buckets: tuple[int, int], wanted: int) -> int:
    """Return the bucket that the ``wanted``-th value, from 1, of some is in: halving is faster than to add all up."""
    first, end = buckets
    while end - first > 1:
        half = (first + end) >> 1
        lower = sum(counts[first:half])
        if then:
            lower -= sum(then[first:half])
        if wanted <= lower:
            end = half
        else:
            wanted -= lower
            first = half
    return first


def _greatest(histogram: Histogram, before: Held, sums: Sequence[int]) -> int:
    if not before.total:
        return histogram.max_us
    first, end = next(_RANGES[part] for part in range(len(sums) - 1, -1, -1) if sums[part])
    fresh = before.since(histogram.counts, first, end)
    bucket = first + max(place for place, count in enumerate(fresh) if count)
    return min(round(middle(bucket)), histogram.max_us)


class _Kept(NamedTuple):
    due_s: float  # from then on it is renewed
    counted: tuple[int, int]  # by the histogram, and before the window
    digest: Digest | None


class Digests:
    """Digests by histogram, renewed when the histogram changed, and at most every ``every_s`` seconds.

    Those of many are renewed half as often, and fall due at different moments, so that no frame has to renew them all.
    """

    def __init__(self, every_s: float = 0.5) -> None:
        self._every_s = every_s
        self._before: Mapping[Histogram, Held] = {}
        self._kept: dict[Histogram, _Kept] = {}
        self._held: dict[Histogram, Digest | None] = {}

    def after(self, before: Mapping[Histogram, Held]) -> None:
        """Leave out what histograms had counted before; what is not among these had counted nothing."""
        self._before = before

    def clear(self) -> None:
        """Have all of them made anew."""
        self._kept.clear()

    def hold(self, *histograms: Histogram) -> None:
        """Take these as they are at this moment: they must add up with totals, and ``held`` returns them so."""
        self._held = {histogram: self._latest(histogram) for histogram in histograms}

    def held(self, histogram: Histogram) -> Digest | None:
        """Return the digest of a histogram as of the last ``hold``, or of now if it was not among those."""
        return self._held[histogram] if histogram in self._held else self._latest(histogram)

    def _latest(self, histogram: Histogram) -> Digest | None:
        kept = self._kept.get(histogram)
        if kept is not None and self._counted(histogram) == kept.counted:
            return kept.digest
        return self._renew(histogram, 0.0)

    def of(self, histogram: Histogram, now_s: float) -> Digest | None:
        """Return the digest as of ``now_s`` on the run's clock."""
        kept = self._kept.get(histogram)
        if kept is not None:
            counted = self._counted(histogram)
            anew = counted[0] < kept.counted[0] or not kept.counted[0] or kept.due_s - now_s > 2 * self._every_s
            if counted == kept.counted or (now_s < kept.due_s and not anew):
                return kept.digest
        every_s = self._every_s * (1 if len(self._kept) <= _FEW else 2)
        wait = every_s if kept else every_s * (1 - len(self._kept) % 4 / 4)
        return self._renew(histogram, now_s + wait)

    def _counted(self, histogram: Histogram) -> tuple[int, int]:
        return histogram.total, self._before.get(histogram, NOTHING).total

    def _renew(self, histogram: Histogram, due_s: float) -> Digest | None:
        fresh = digest(histogram, self._before.get(histogram, NOTHING))
        self._kept[histogram] = _Kept(due_s, self._counted(histogram), fresh)
        return fresh
