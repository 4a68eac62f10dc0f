"""What streaming calls sent and received: messages in all and per call, and the time between those that came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lbctl.stats.histogram import Histogram


class Spread(NamedTuple):
    """Smallest, mean and largest of something counted once per call."""

    least: int
    mean: float
    most: int


class StreamTally:
    """Messages of calls that ended, whatever their status; ``spread`` is of those that were OK."""

    __slots__ = ("_ok", "_ranges", "gaps", "received", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.gaps = Histogram()
        self._ok = 0
        self._ranges = [[0, 0, 0], [0, 0, 0]]  # sent, received: least, sum, most

    def end(self, sent: int, received: int, *, ok: bool) -> None:
        """Count one call that ended."""
        self.sent += sent
        self.received += received
        if not ok:
            return
        for known, number in zip(self._ranges, (sent, received), strict=True):
            known[0] = min(known[0], number) if self._ok else number
            known[1] += number
            known[2] = max(known[2], number)
        self._ok += 1

    def record_gaps(self, gaps_ns: Iterable[int]) -> None:
        for gap in gaps_ns:
            self.gaps.record(gap // 1000)

    def spreads(self) -> tuple[Spread, Spread] | None:
        """Messages sent and received per OK call; None where there was none."""
        if not self._ok:
            return None
        sent, received = (Spread(low, total / self._ok, high) for low, total, high in self._ranges)
        return sent, received
