"""LB403: a backend that is much slower than the others of its service.

A median alone would blame whoever's process was left waiting for a moment: a slow backend is slow at its best, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.probe import probes
from lbctl.doctor.finding import Check, Level, Needs, Scope, Symptom
from lbctl.model import Service
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report

FACTOR: Final = 3.0  # of the medians
BEST_FACTOR: Final = 2.0  # of its best tenth to the others' median
LEAST_US: Final = 2_000.0  # of difference: below that a machine's own noise is as large
ENOUGH: Final = 10  # calls of a backend that make a median


async def examine(case: Case) -> Sequence[Symptom]:
    """Compare the medians of every service's backends."""
    reports = await case.once(probes)
    judged = ((each, reports[each.prefix]) for each in case.services if each.prefix in reports)
    return [symptom for service, report in judged for symptom in _slow(case, service, report)]


def _slow(case: Case, service: Service, report: Report) -> Iterator[Symptom]:
    measured = {row.address: row.latency for row in report.backends if row.latency.total >= ENOUGH}
    p50 = {address: latency.quantiles([0.5])[0] for address, latency in measured.items()}
    for address, latency in measured.items():
        others = [each for other, each in p50.items() if other != address]
        usual = median(others) if others else p50[address]
        if is_slow(latency, usual):
            own = p50[address]
            what = f"p50 {own / 1e3:.1f}ms, {own / usual:.1f} times the median of the others ({usual / 1e3:.1f}ms)"
            again = case.command("hammer", service, options=("-n", str(report.issued), "--outlier-detection"))
            yield Symptom(what, address, service.name, again)


def is_slow(latency: Histogram, usual_us: float) -> bool:
    """Whether a backend is slow beside what is usual for the others."""
    best, middle = latency.quantiles([0.1, 0.5])
    enough = middle >= FACTOR * usual_us and middle - usual_us >= LEAST_US
    return enough and best >= BEST_FACTOR * usual_us and best - usual_us >= LEAST_US


CHECK = Check(
    "LB403",
    "slow backend",
    Level.WARN,
    why="With turns the slowest backend decides the tail of all calls; with any policy its callers wait.",
    fix="look at its machine; meanwhile lower its weight, or choose a policy that goes by latency",
    examine=examine,
    needs=Needs.PROBE,
    scope=Scope.BACKENDS,
)
