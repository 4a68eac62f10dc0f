"""How long failed calls took, by status code and apart from those that were OK, in memory that is bounded.

A code of one backend has few different durations, so that only buckets that have any are kept. A call that ended at its
own deadline took at least so long: of DEADLINE_EXCEEDED the figures are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lbctl.model import Code
from lbctl.stats.histogram import Histogram, bucket_of

_LONGEST_US = (1 << 32) - 1


class _Times:
    """Counts of durations by bucket."""

    __slots__ = ("counts", "max_us", "min_us", "total_us")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.total_us = self.max_us = 0
        self.min_us = _LONGEST_US

    def record(self, us: int) -> None:
        bucket = bucket_of(us)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.total_us += us
        self.min_us = min(self.min_us, us)
        self.max_us = max(self.max_us, us)

    def add_to(self, times: Histogram) -> None:
        for bucket, count in self.counts.items():
            times.counts[bucket] += count
        if self.counts:
            times.fold(sum(self.counts.values()), self.total_us, self.min_us, self.max_us)


class FailedTimes(Mapping[Code, Histogram]):
    """A histogram for each code that calls failed with; it is made when it is asked for."""

    __slots__ = ("_answered", "_times")

    def __init__(self) -> None:
        self._times: dict[Code, _Times] = {}
        self._answered = _Times()

    def record(self, code: Code, us: int, *, answered: bool = False) -> None:
        """Add one failed call that took so many microseconds; it may have been answered, if not well."""
        us = max(us, 0)
        found = self._times.get(code)
        if found is None:
            found = self._times[code] = _Times()
        found.record(us)
        if answered:
            self._answered.record(us)

    def clear(self) -> None:
        """Forget everything."""
        self._times.clear()
        self._answered = _Times()

    def add_answered_to(self, times: Histogram) -> None:
        """Add those calls that were answered, whatever their code."""
        self._answered.add_to(times)

    def __getitem__(self, code: Code) -> Histogram:
        made = Histogram()
        self._times[code].add_to(made)
        return made

    def __iter__(self) -> Iterator[Code]:
        """The codes, those that came first at first."""
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)
