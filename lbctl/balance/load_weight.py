"""A weight made of load reports (gRFC A58), and when it counts.

first report at 5s    blackout 10s     from 15s on the weight counts
last report at 40s    expiration 180s  from 220s on it does not, and the next report begins a new blackout
connected anew        blackout 10s     the old weight does not count until 10s after the next report
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lbctl.balance.load_report import LoadReport, metric


class LoadWeight:
    """What one backend's reports have come to. ``weight`` is that of the last one that stated a load, else 0."""

    __slots__ = ("last_ns", "reports", "since_ns", "weight")

    def __init__(self) -> None:
        self.weight = 0.0
        self.last_ns: int | None = None
        self.since_ns: int | None = None  # the first report since it became ready, or since its weight expired
        self.reports = 0  # all of them, of use or not

    def take(self, report: LoadReport, now_ns: int, penalty: float, names: Sequence[str]) -> None:
        """Learn from a report."""
        self.reports += 1
        weight = weight_of(report, penalty, names)
        if weight:
            self.weight = weight
            self.last_ns = now_ns
            if self.since_ns is None:
                self.since_ns = now_ns

    def restart(self) -> None:
        """The connection is a new one: its blackout is still to come."""
        self.since_ns = None

    def judge(self, now_ns: int, blackout_s: float, expiration_s: float) -> tuple[float, str]:
        """What the weight counts for now, and why."""
        if self.last_ns is None:
            return 0.0, "reports state no load" if self.reports else "no report"
        age_s = (now_ns - self.last_ns) / 1e9
        if age_s >= expiration_s:
            self.since_ns = None
            return 0.0, f"expired, {age_s:.3g}s old"
        if blackout_s:
            if self.since_ns is None:
                return 0.0, "no report since it is back"
            left_s = blackout_s - (now_ns - self.since_ns) / 1e9
            if left_s > 0:
                return 0.0, f"blackout for {left_s:.1f}s more"
        return self.weight, f"{age_s:.3g}s old"


def weight_of(report: LoadReport, penalty: float, names: Sequence[str] = ()) -> float:
    """The weight that a report makes, 0 where it states no load: the one before stands then."""
    utilization, qps = utilization_of(report, names), report.rps_fractional
    if not (utilization > 0 and 0 < qps < math.inf):
        return 0.0
    cost = penalty * report.eps / qps if report.eps > 0 else 0.0
    weight = qps / (utilization + cost)
    return weight if 0 < weight < math.inf else 0.0


def utilization_of(report: LoadReport, names: Sequence[str] = ()) -> float:
    """How busy the server says it is, by the greatest of these metrics that is above 0, else by the usual ones."""
    named = max((value for name in names if (value := metric(report, name)) > 0), default=0.0)
    return named or (report.application_utilization if report.application_utilization > 0 else report.cpu_utilization)
