"""Durations in constant memory: a log-linear histogram from 1 us to 1 h with under 1 % relative error.

Bucket of a duration of u microseconds: u itself below 256; above, with k = bit_length(u) - 8, bucket k*128 + (u >> k).
Every bucket above 256 us is 2^k wide and starts at 128 * 2^k or later, so it is at most 1/128 = 0.78 % of its value
wide, and its middle is within 0.4 % of everything in it.

    u        1   255   256   257   511    512 ... 1000
    k        -     -     1     1     1      2 ...    2
    bucket   1   255   256   256   383    384 ...  506
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

BUCKETS = 3328  # 1 h = 3.6e9 us has bit_length 32: k = 24, bucket 24 * 128 + 255
_TOP = (1 << 32) - 1
_ROUNDED = 1e-15  # relatively, by which a product may be too large


def bucket_of(us: int) -> int:
    """Return the bucket of a duration in whole microseconds; negative counts as 0, beyond 71 minutes as the last."""
    if us < 256:
        return us if us > 0 else 0
    if us > _TOP:
        return BUCKETS - 1
    k = us.bit_length() - 8
    return (k << 7) + (us >> k)


def lower_edge(bucket: int) -> int:
    """Return the smallest duration in the bucket, microseconds."""
    if bucket < 256:
        return bucket
    k = (bucket >> 7) - 1
    return (bucket - (k << 7)) << k


def middle(bucket: int) -> float:
    """Return the middle of the bucket, microseconds."""
    return (lower_edge(bucket) + lower_edge(bucket + 1) - 1) / 2


def rank(q: float, total: int) -> int:
    """Return the nearest rank, from 1, of a quantile among ``total`` > 0 values: the least that has q of them below it.

    0.55 * 100 is a little more than 55 in floating point, and the rank is 55 all the same.
    """
    return max(1, ceil(q * total * (1 - _ROUNDED)))


class Histogram:
    """Counts of durations. Hot paths may add to ``counts[bucket_of(us)]`` themselves and then call ``fold``."""

    __slots__ = ("counts", "max_us", "min_us", "total", "total_us")

    def __init__(self) -> None:
        self.counts = [0] * BUCKETS
        self.total = 0
        self.total_us = 0
        self.min_us = _TOP
        self.max_us = 0

    def clear(self) -> None:
        """Forget everything; ``counts`` stays the list it is."""
        self.counts[:] = [0] * BUCKETS
        self.total = self.total_us = self.max_us = 0
        self.min_us = _TOP

    def record(self, us: int, count: int = 1) -> None:
        """Add ``count`` durations of ``us`` microseconds."""
        us = max(us, 0)
        self.counts[bucket_of(us)] += count
        self.total += count
        self.total_us += us * count
        if us < self.min_us:
            self.min_us = us
        if us > self.max_us:
            self.max_us = us

    def fold(self, count: int, total_us: int, min_us: int, max_us: int) -> None:
        """Account for ``count`` > 0 durations whose buckets the caller has already counted in ``counts``."""
        self.total += count
        self.total_us += total_us
        if min_us < self.min_us:
            self.min_us = min_us
        if max_us > self.max_us:
            self.max_us = max_us

    def merge(self, other: Histogram) -> None:
        """Add another histogram's durations to this one."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.total += other.total
        self.total_us += other.total_us
        self.min_us = min(self.min_us, other.min_us)
        self.max_us = max(self.max_us, other.max_us)

    def state(self) -> dict[str, object]:
        """Return everything it holds as plain values, buckets by their number, for ``of_state`` to make it again."""
        return {
            "count": self.total,
            "sum_us": self.total_us,
            "min_us": self.min_us if self.total else None,
            "max_us": self.max_us if self.total else None,
            "counts": {str(bucket): count for bucket, count in enumerate(self.counts) if count},
        }

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Histogram:
        """Return the histogram that had this state; raises ValueError for a state that none can have had."""
        made = cls()
        try:
            for bucket, count in state["counts"].items():
                made.counts[_checked(int(bucket), BUCKETS - 1)] = _checked(count)
            made.total, made.total_us = _checked(state["count"]), _checked(state["sum_us"])
            if made.total:
                made.min_us, made.max_us = _checked(state["min_us"]), _checked(state["max_us"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no state of a histogram: {error}") from None
        if sum(made.counts) != made.total or (made.total and made.min_us > made.max_us):
            raise ValueError("no state of a histogram: its counts contradict each other")
        return made

    def copy(self) -> Histogram:
        """Return an independent histogram with the same durations."""
        twin = Histogram.__new__(Histogram)
        twin.counts = self.counts.copy()
        twin.total, twin.total_us = self.total, self.total_us
        twin.min_us, twin.max_us = self.min_us, self.max_us
        return twin

    @property
    def mean_us(self) -> float:
        """The exact mean, microseconds; 0 for no durations."""
        return self.total_us / self.total if self.total else 0.0

    def quantiles(self, qs: Sequence[float]) -> list[float]:
        """Nearest-rank quantiles (0 < q <= 1, ascending), microseconds, never outside the recorded min and max.

        Raises ValueError for an empty histogram: a percentile of nothing is not 0.
        """
        if not self.total:
            raise ValueError("no durations recorded")
        if not all(0 < low <= high <= 1 for low, high in pairwise((*qs[:1], *qs))):
            raise ValueError("quantiles must rise from above 0 to 1")
        found: list[float] = []
        ranks = [rank(q, self.total) for q in qs]
        seen = 0
        counts = self.counts
        for block in range(0, BUCKETS, 128):
            chunk = counts[block : block + 128]
            here = sum(chunk)
            while len(found) < len(ranks) and seen + here >= ranks[len(found)]:
                bucket = block + _position(chunk, ranks[len(found)] - seen)
                found.append(min(max(middle(bucket), self.min_us), self.max_us))
            seen += here
            if len(found) == len(ranks):
                break
        return found

    def quantile(self, q: float) -> float:
        """One nearest-rank quantile, microseconds; raises ValueError for an empty histogram."""
        return self.quantiles((q,))[0]

    def steps(self) -> list[tuple[float, int]]:
        """Return the middle of every bucket that holds anything, microseconds, and how much it holds."""
        return [(middle(bucket), count) for bucket, count in enumerate(self.counts) if count]

    def rebinned(self, edges_us: Sequence[int]) -> list[int]:
        """Return the counts at or below each ascending edge (above the one before) and, last, above the final one.

        A duration equal to an edge is always at or below it; one above it by less than 0.8 % may be, too.
        """
        counts = self.counts
        cuts = [0, *(bucket_of(edge) + 1 for edge in edges_us), BUCKETS]
        return [sum(counts[a:b]) for a, b in pairwise(cuts)]


def _position(chunk: Iterable[int], rank: int) -> int:
    """Return the index at which the running sum of the chunk reaches the rank."""
    seen = 0
    for index, count in enumerate(chunk):
        seen += count
        if seen >= rank:
            return index
    raise AssertionError("rank is beyond the chunk")


def _checked(number: object, most: int | None = None) -> int:
    """Return the number if it is a count; raises ValueError if it is not."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 0 or (most is not None and number > most):
        raise ValueError(f"{number!r} is not what stands here")
    return number
