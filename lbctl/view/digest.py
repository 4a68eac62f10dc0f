"""What the screen shows of a histogram, computed once per change: percentiles, and counts per 1-2-5 bucket."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from math import ceil
from typing import NamedTuple

from lbctl.stats.histogram import BUCKETS, Histogram, bucket_of, lower_edge, middle

EDGES_US = (*(step * 10**power for power in range(2, 7) for step in (1, 2, 5)), 10_000_000)
_QUANTILES = (0.5, 0.9, 0.99)


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


def digest(histogram: Histogram) -> Digest | None:
    """Return the digest of a histogram, None for an empty one; percentiles are those of ``Histogram.quantiles``."""
    total = histogram.total
    if not total:
        return None
    counts = histogram.counts
    low, high = bucket_of(histogram.min_us), bucket_of(histogram.max_us) + 1
    sums = [sum(counts[max(a, low) : min(b, high)]) if a < high and b > low else 0 for a, b in _RANGES]
    running = list(accumulate(sums))
    values = []
    for quantile in _QUANTILES:
        rank = max(1, ceil(quantile * total))
        part = min(bisect_left(running, rank), len(sums) - 1)
        first, end = _RANGES[part]
        inside = list(accumulate(counts[first:end], initial=running[part] - sums[part]))
        bucket = first + max(bisect_left(inside, rank) - 1, 0)
        values.append(min(max(middle(bucket), histogram.min_us), histogram.max_us))
    p50, p90, p99 = values
    return Digest(total, p50, p90, p99, histogram.max_us, tuple(sums))


class Digests:
    """Digests by histogram, renewed when the histogram changed, and not more often than every ``every_s`` seconds.

    Those of many histograms fall due at different moments, so that no frame has to renew them all.
    """

    def __init__(self, every_s: float = 0.5) -> None:
        self._every_s = every_s
        self._kept: dict[Histogram, tuple[float, Digest]] = {}  # when it falls due again
        self._held: dict[Histogram, Digest | None] = {}

    def hold(self, *histograms: Histogram) -> None:
        """Take these as they are at this moment: they must add up with totals, and ``held`` returns them so."""
        self._held = {histogram: self._latest(histogram) for histogram in histograms}

    def held(self, histogram: Histogram) -> Digest | None:
        """Return the digest of a histogram as of the last ``hold``, or of now if it was not among those."""
        return self._held[histogram] if histogram in self._held else self._latest(histogram)

    def _latest(self, histogram: Histogram) -> Digest | None:
        kept = self._kept.get(histogram)
        if kept is not None and histogram.total == kept[1].total:
            return kept[1]
        fresh = digest(histogram)
        if fresh is not None:
            self._kept[histogram] = (0.0, fresh)
        return fresh

    def of(self, histogram: Histogram, now_s: float) -> Digest | None:
        """Return the digest as of ``now_s`` on the run's clock."""
        kept = self._kept.get(histogram)
        if kept is not None:
            grown = histogram.total - kept[1].total
            if not grown or (grown > 0 and now_s < kept[0]):  # where it shrank, counting has begun anew
                return kept[1]
        fresh = digest(histogram)
        if fresh is not None:
            wait = self._every_s if kept else self._every_s * (1 - len(self._kept) % 4 / 4)
            self._kept[histogram] = (now_s + wait, fresh)
        return fresh
