"""What a demo backend says of its own load, for clients that balance by it: an ORCA load report.

A backend can do so many calls a second, its capacity, and says how much of that is asked of it:

    capacity 500, 100 calls/s, 5 of them fail   application_utilization 0.2, rps_fractional 100, eps 5
    capacity 100, 100 calls/s                   application_utilization 1

Two named metrics are for clients that compare backends call by call: ``rif``, the requests in flight, and
``latency_ms``, the median of the last times to answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Final

from lbctl.balance.load_report import LoadReport

_PARTS: Final = 10  # a second slides in tenths
_PART_NS: Final = 100_000_000
_LATENCIES: Final = 15


class LoadMeter:
    """Counts the calls of the last second."""

    def __init__(self, capacity: float, now_ns: Callable[[], int]) -> None:
        self._capacity = capacity
        self._now_ns = now_ns
        self._began_ns = now_ns()
        self._in_flight = 0
        self._parts: deque[list[int]] = deque(maxlen=_PARTS + 1)  # number, calls, failures
        self._latencies: deque[int] = deque(maxlen=_LATENCIES)

    def begin(self) -> int:
        """A call came; returns when that was."""
        self._in_flight += 1
        return self._now_ns()

    def end(self, begun_ns: int, *, failed: bool) -> None:
        """It is answered."""
        now = self._now_ns()
        self._in_flight -= 1
        self._latencies.append(now - begun_ns)
        number = now // _PART_NS
        if not self._parts or self._parts[-1][0] != number:
            self._parts.append([number, 0, 0])
        self._parts[-1][1] += 1
        self._parts[-1][2] += failed

    def report(self) -> LoadReport:
        """The load as it is now."""
        now = self._now_ns()
        recent = [part for part in self._parts if part[0] > now // _PART_NS - _PARTS]
        # The last part is not over, and at the start not even one may be.
        window_ns = min((_PARTS - 1) * _PART_NS + now % _PART_NS, now - self._began_ns)
        seconds = max(window_ns, _PART_NS) / 1e9
        calls = sum(part[1] for part in recent)
        latency_ms = median(self._latencies) / 1e6 if self._latencies else 0.0
        return LoadReport(
            rps_fractional=calls / seconds,
            eps=sum(part[2] for part in recent) / seconds,
            application_utilization=calls / seconds / self._capacity,
            named_metrics={"rif": float(self._in_flight), "latency_ms": latency_ms},
        )
