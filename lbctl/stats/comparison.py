"""Saved runs side by side: every figure with its interval, and what each group of runs has more of than the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import expm1, log
from random import Random
from typing import Final

from lbctl.stats.bootstrap import between, over_runs
from lbctl.stats.intervals import NOTHING, Estimate, of_mean, of_part, of_quantile, of_rate
from lbctl.stats.report import Report

BETTER, WORSE, SAME, UNSURE, UNJUDGED = "better", "worse", "no difference", "too few calls", "not judged"
_SEED: Final = 20260101  # the same runs are always told the same intervals
_LARGEST: Final = 700.0  # logarithm of a factor that is a number still
_LEAST_US: Final = 0.5  # what is shorter counts as this: the clock of a run has microseconds


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run. ``relative``: differences are parts of the base's, else they are absolute."""

    name: str
    unit: str  # us | per_s | share
    measure: Callable[[Report], Estimate]
    more_is_better: bool = False
    relative: bool = True


def _rps(report: Report) -> Estimate:
    batches = [(sample.rps, sample.seconds) for sample in report.samples]
    return of_rate(report.ended, report.elapsed_s, batches)


def _error_rate(report: Report) -> Estimate:
    return of_part(report.errors, report.ok + report.errors)


def _quantile(report: Report, q: float) -> Estimate:
    return of_quantile(report.latency, q)


def _max(report: Report) -> Estimate:
    return Estimate(float(report.latency.max_us)) if report.latency.total else NOTHING


def _max_delta(report: Report) -> Estimate:
    return Estimate(report.balance.max_delta) if report.balance.stated else NOTHING


_QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("rps", "per_s", _rps, more_is_better=True),
        Metric("error_rate", "share", _error_rate, relative=False),
        Metric("mean", "us", lambda report: of_mean(report.latency)),
        *(Metric(name, "us", partial(_quantile, q=q)) for name, q in _QUANTILES.items()),
        Metric("max", "us", _max),
        Metric("max_delta", "share", _max_delta, relative=False),
    )
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run and where it was read from."""

    name: str
    report: Report


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of one command, which count as repetitions of each other; ``label`` tells the group from others."""

    label: str
    runs: tuple[Run, ...]

    @property
    def first(self) -> Report:
        return self.runs[0].report

    def total(self, count: Callable[[Report], int]) -> int:
        """The sum of a count over the runs."""
        return sum(count(run.report) for run in self.runs)

    def estimate(self, metric: Metric) -> Estimate:
        """The figure of the run and what its calls leave open; of several the mean, and an interval over them."""
        found = self.each(metric)
        return found[0] if len(found) == 1 else over_runs(found, Random(_SEED))

    def each(self, metric: Metric) -> list[Estimate]:
        """The figure of every run."""
        return [metric.measure(run.report) for run in self.runs]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one group has more than the base of one metric: a part of it, or of a share the difference of the shares."""

    metric: Metric
    base: Estimate
    other: Estimate
    change: Estimate
    verdict: str  # better | worse | no difference | too few calls | not judged

    @property
    def worse_by(self) -> float | None:
        """How much worse it is, as the change is measured; negative where it is better."""
        value = self.change.value
        return None if value is None else -value if self.metric.more_is_better else value


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups, the first of which is the base, and the differences of each other one by metric."""

    groups: tuple[Group, ...]
    differences: tuple[tuple[Difference, ...], ...]
    notes: tuple[str, ...] = ()  # what makes the runs hard to compare

    @property
    def base(self) -> Group:
        return self.groups[0]

    def against(self) -> Iterator[tuple[Group, tuple[Difference, ...]]]:
        """Every group but the base, with what it has more or less."""
        yield from zip(self.groups[1:], self.differences, strict=True)


def compare(groups: Sequence[Group]) -> Comparison:
    """Compare every group with the first one."""
    base, *others = groups
    differences = tuple(tuple(_difference(metric, base, other) for metric in METRICS.values()) for other in others)
    return Comparison(tuple(groups), differences, tuple(_notes(groups)))


def _difference(metric: Metric, base: Group, other: Group) -> Difference:
    before, now = base.estimate(metric), other.estimate(metric)
    change = change_of(metric, base.each(metric), other.each(metric))
    return Difference(metric, before, now, change, verdict_of(metric, change))


def change_of(metric: Metric, base: Sequence[Estimate], other: Sequence[Estimate]) -> Estimate:
    """The change from one group of runs to another; a relative one is made of the logarithms of their figures."""
    if not metric.relative:
        return between(base, other, Random(_SEED))
    before, now = ([logged(metric, each) for each in group] for group in (base, other))
    return Estimate(
        *(None if end is None else expm1(min(end, _LARGEST)) for end in between(before, now, Random(_SEED)))
    )


def logged(metric: Metric, found: Estimate) -> Estimate:
    """The logarithms of a figure and of its ends; an end of 0 is none, and neither is a figure of 0."""
    least = _LEAST_US if metric.unit == "us" else 0.0
    raised = [None if end is None else max(end, least) for end in found]
    logs = Estimate(*(None if end is None or end <= 0 else log(end) for end in raised))
    return NOTHING if logs.value is None else logs


def verdict_of(metric: Metric, change: Estimate) -> str:
    """Say what the interval of a change shows."""
    if change.value is None or (change.low is None and change.high is None):
        return UNJUDGED if metric.name in ("max", "max_delta") or change.value is None else UNSURE
    if change.low is not None and change.low > 0:
        return BETTER if metric.more_is_better else WORSE
    if change.high is not None and change.high < 0:
        return WORSE if metric.more_is_better else BETTER
    return UNSURE if change.low is None or change.high is None else SAME


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    yield from unlike([run.report for group in groups for run in group.runs])
    alone = [group.label for group in groups if len(group.runs) == 1]
    if alone and len(alone) < len(groups):
        yield (
            f"one run alone tells little: what runs of the others differ among themselves is taken for it too "
            f"({', '.join(alone)})"
        )


def unlike(reports: Sequence[Report]) -> Iterator[str]:
    """What else differs than what is compared, or is not there, a sentence each."""
    for what, values in (
        ("services", {report.service for report in reports}),
        ("methods", {report.method for report in reports}),
        ("load models", {report.load.mode for report in reports}),
        ("numbers of backends", {str(len(report.backends)) for report in reports}),
    ):
        if len(values) > 1:
            yield f"these runs differ in their {what}: {', '.join(sorted(values))}"
    cut = [report for report in reports if report.end_reason in ("interrupted", "aborted", "error", "max_errors")]
    if cut:
        yield f"{len(cut)} of {len(reports)} runs did not come to their end"
