"""When replies began: the service times, corrected by the few calls whose reply came in more than one read.

Most replies are read whole, so their first byte came when they ended, and the hot path has nothing to do for it.
"""

from __future__ import annotations

from lbctl.stats.histogram import BUCKETS, Histogram, bucket_of, lower_edge


class FirstByte:
    """Counts of the replies that took more than one read."""

    __slots__ = ("_earlier_us", "_min_us", "_moved")

    def __init__(self) -> None:
        self._moved: dict[int, int] = {}  # by bucket: first bytes that came, less service times that ended there
        self._earlier_us = 0  # by how much first bytes came before the ends, in all
        self._min_us = (1 << 32) - 1

    def early(self, first_us: int, service_us: int) -> None:
        """One OK call whose reply began before the read that ended it; both since it was written."""
        first_us = max(0, min(first_us, service_us))
        for us, step in ((first_us, 1), (service_us, -1)):
            bucket = bucket_of(us)
            self._moved[bucket] = self._moved.get(bucket, 0) + step
        self._earlier_us += service_us - first_us
        self._min_us = min(self._min_us, first_us)

    def histogram(self, service: Histogram) -> Histogram:
        """The time from written to the first byte, of the same calls as ``service``."""
        if not self._moved:
            return service
        found = service.copy()
        for bucket, step in self._moved.items():
            found.counts[bucket] += step
        found.total_us -= self._earlier_us
        found.min_us = min(found.min_us, self._min_us)
        highest = next((bucket for bucket in range(BUCKETS - 1, -1, -1) if found.counts[bucket]), 0)
        # The longest may have been one of those that were moved.
        found.max_us = min(found.max_us, max(found.min_us, lower_edge(highest + 1) - 1))
        return found
