"""Policies that were tried in turn, round after round: the runs, what each policy came to, and the differences.

Differences are made within a round, between runs that followed each other closely, and then taken over rounds: what
changed slowly meanwhile (a machine that warms up, others' load) is in both runs of a round and cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import expm1
from random import Random
from typing import Final

from lbctl.model import Event
from lbctl.stats.bootstrap import over_runs
from lbctl.stats.comparison import (
    METRICS,
    UNJUDGED,
    Comparison,
    Difference,
    Group,
    Metric,
    Run,
    logged,
    unlike,
    verdict_of,
)
from lbctl.stats.histogram import Histogram
from lbctl.stats.intervals import NOTHING, Estimate, apart
from lbctl.stats.report import Balance, Report

INTERLEAVED, SEQUENTIAL, PARALLEL = "interleaved", "sequential", "parallel"
ORDERS: Final = (INTERLEAVED, SEQUENTIAL, PARALLEL)
_SEED: Final = 20260101  # the same runs are always told the same intervals
_START_S: Final = 0.05  # what happened before is how the run began
COMPLETE: Final = ("completed", "duration")  # ends of runs that may be compared


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy that is tried; ``label`` tells it from the others."""

    label: str
    policy: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one policy; ``number`` is its place in the order they were made in, from 1."""

    contender: int
    round: int  # from 1
    number: int
    report: Report
    skipped: bool = False
    began_s: float = 0.0  # since the comparison began, and so is its end
    ended_s: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether it came to its end, so that it may be compared."""
        return not self.skipped and self.report.end_reason in COMPLETE and bool(self.report.ended)

    @property
    def changes(self) -> tuple[str, ...]:
        """Who joined, left or got another weight while it went on, a few words each."""
        return tuple(_changes(self.report))


def _changes(report: Report) -> Sequence[str]:
    found = [f"{row.address} joined" for row in report.backends if row.joined_s > _START_S]
    found += [f"{row.address} left" for row in report.backends if row.left_s is not None]
    seen = {event.backend for event in report.events if event.kind == "weight" and event.t_s > _START_S}
    return [*found, *(f"{address}: another weight" for address in sorted(filter(None, seen)))]


@dataclass(frozen=True, slots=True)
class Going:
    """A run that goes on."""

    contender: int
    round: int
    report: Report
    number: int = 0
    began_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison at one moment: what is compared, the runs that are over, and those that go on."""

    service: str
    method: str
    contenders: Sequence[Contender]
    rounds: int
    order: str
    pause_s: float
    seed: int
    load: str  # in words: c=50
    trials: Sequence[Trial] = ()
    going: Sequence[Going] = ()
    events: Sequence[Event] = ()
    started_at: datetime | None = None
    elapsed_s: float = 0.0
    paused: bool = False
    stopping: bool = False
    over: bool = False
    stopped_by: str = ""  # Ctrl-C | SIGTERM | SIGHUP | q; what ended it early
    command: str = ""  # what was typed, without its secrets
    limits: Sequence[str] = ()  # of --fail-on-regression, where it is read from a file

    @property
    def total(self) -> int:
        """Runs there are to be."""
        return len(self.contenders) * self.rounds

    def of(self, contender: int) -> list[Trial]:
        """The runs of a policy that count."""
        return [trial for trial in self.trials if trial.contender == contender and trial.counts]


def order_of(order: str, contenders: int, rounds: int) -> list[list[tuple[int, int]]]:
    """What is run after what, as contender and round (from 1); runs in one list are made at the same time.

    Interleaved rounds begin with another policy each: ABC BCA CAB.
    """
    if order == PARALLEL:
        return [[(each, number) for each in range(contenders)] for number in range(1, rounds + 1)]
    if order == SEQUENTIAL:
        return [[(each, number)] for each in range(contenders) for number in range(1, rounds + 1)]
    return [
        [((place + number - 1) % contenders, number)] for number in range(1, rounds + 1) for place in range(contenders)
    ]


@dataclass(frozen=True, slots=True)
class Part:
    """What one backend got of a policy's calls, and what it should have; 0..1, None where nothing was picked."""

    address: str
    share: float | None
    expected: float | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a policy came to, over its runs that count; of a policy without one, what its run that goes on has so far.

    ``max_delta`` is in 0..1, None where no share can be stated beforehand; ``by_chance``: calls are drawn, and in none
    of its runs were they judged to go elsewhere than they should.
    """

    contender: Contender
    runs: int
    live: bool  # these are figures of a run that goes on
    rps: float | None
    error_rate: float | None
    p50_us: float | None
    p90_us: float | None
    p99_us: float | None
    max_us: float | None
    max_delta: float | None
    max_over_expected: float | None
    stated: bool
    by_chance: bool
    parts: Mapping[str, Part]
    latency: Histogram


def standing(contest: Contest, contender: int) -> Standing:
    """Work out what a policy came to; figures are means of the runs' figures, the maximum is that of all calls."""
    reports = [trial.report for trial in contest.of(contender)]
    runs, live = len(reports), False
    if not reports:
        reports = [going.report for going in contest.going if going.contender == contender]
        live = bool(reports)
    times = Histogram()
    for report in reports:
        if report.latency.total:
            times.merge(report.latency)
    stated = all(report.balance.stated for report in reports)
    parts = parts_of(reports)
    known = [part for part in parts.values() if part.share is not None and part.expected is not None]
    deltas = [abs((part.share or 0.0) - (part.expected or 0.0)) for part in known]
    picks = sum(row.picks for report in reports for row in report.backends)
    over = [(part.share or 0.0) / part.expected for part in known if part.expected and part.expected * picks >= 1.0]
    return Standing(
        contender=contest.contenders[contender],
        runs=runs,
        live=live,
        **{f"{name}{unit}": _mean(name, reports) for name, unit in _FIGURES},
        max_us=float(times.max_us) if times.total else None,
        max_delta=max(deltas, default=None) if stated else None,
        max_over_expected=max(over, default=None),
        stated=stated,
        by_chance=all(_is_chance(report.balance) for report in reports),
        parts=parts,
        latency=times,
    )


def _is_chance(balance: Balance) -> bool:
    return balance.expectation == "multinomial" and balance.verdict != "skewed"


_FIGURES: Final = (("rps", ""), ("error_rate", ""), ("p50", "_us"), ("p90", "_us"), ("p99", "_us"))


def _mean(name: str, reports: Sequence[Report]) -> float | None:
    values = [METRICS[name].measure(report).value for report in reports]
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found and len(found) == len(values) else None


def parts_of(reports: Sequence[Report]) -> dict[str, Part]:
    """What each backend got in all of these runs together, by address."""
    picks: dict[str, int] = {}
    due: dict[str, float] = {}
    for report in reports:
        for row in report.backends:
            picks[row.address] = picks.get(row.address, 0) + row.picks
            due[row.address] = due.get(row.address, 0.0) + row.expected
    all_picks, all_due = sum(picks.values()), sum(due.values())
    return {
        address: Part(address, number / all_picks if all_picks else None, due[address] / all_due if all_due else None)
        for address, number in picks.items()
    }


def compared(contest: Contest) -> Comparison | None:
    """The differences of every policy from the first; None where the first has no run, or no other one has."""
    groups = [rounds_of(contest, each) for each in range(len(contest.contenders))]
    if not groups[0].runs or not any(group.runs for group in groups[1:]):
        return None
    others = [(each, group) for each, group in enumerate(groups) if each and group.runs]
    differences = tuple(
        tuple(_difference(contest, metric, each, groups[0], group) for metric in METRICS.values())
        for each, group in others
    )
    return Comparison((groups[0], *(group for _, group in others)), differences, tuple(notes_on(contest)))


def rounds_of(contest: Contest, contender: int) -> Group:
    """The runs of a policy that count, each named by its round."""
    label = contest.contenders[contender].label
    return Group(label, tuple(Run(f"{label} {trial.round}", trial.report) for trial in contest.of(contender)))


def _difference(contest: Contest, metric: Metric, contender: int, base: Group, other: Group) -> Difference:
    change = change_of(contest, metric, contender)
    single = change.low is None and change.high is None
    verdict = UNJUDGED if single else verdict_of(metric, change)
    return Difference(metric, base.estimate(metric), other.estimate(metric), change, verdict)


def change_of(contest: Contest, metric: Metric, contender: int) -> Estimate:
    """What a policy has more than the first of a metric; there is an interval from two rounds on that have both."""
    before = {trial.round: trial.report for trial in contest.of(0)}
    now = {trial.round: trial.report for trial in contest.of(contender)}
    both = sorted(before.keys() & now.keys())
    found = [_change(metric, metric.measure(before[each]), metric.measure(now[each])) for each in both]
    mean = over_runs(found, Random(_SEED)) if found else NOTHING
    if not metric.relative:
        return mean
    return Estimate(*(None if end is None else expm1(min(end, 700.0)) for end in mean))


def _change(metric: Metric, before: Estimate, now: Estimate) -> Estimate:
    """The difference of one round; of relative ones the logarithm of the ratio, which may be averaged."""
    return apart(logged(metric, before), logged(metric, now)) if metric.relative else apart(before, now)


def notes_on(contest: Contest) -> list[str]:
    """What makes the runs hard to compare, a sentence each."""
    counted = [trial for trial in contest.trials if trial.counts]
    found = list(unlike([trial.report for trial in counted]))
    if contest.order == PARALLEL:
        found.append("policies ran at the same time and shared the load and the backends: each felt the others")
    if contest.order == SEQUENTIAL and len(contest.contenders) > 1:
        found.append("policies ran one after the other: what changed meanwhile counts as a difference of theirs")
    for trial in counted:
        if trial.changes:
            label = contest.contenders[trial.contender].label
            found.append(f"backends changed during round {trial.round} of {label}: {', '.join(trial.changes[:3])}")
    if len({_members(trial.report) for trial in counted}) > 1 and not any(trial.changes for trial in counted):
        found.append("not every run had the same backends with the same weights")
    left_out = len(contest.trials) - len(counted)
    if left_out:
        found.append(f"{left_out} of {len(contest.trials)} runs did not come to their end and are left out")
    if contest.over and len({trial.round for trial in counted}) == 1:
        found.append("one round cannot tell a difference from chance: there are no intervals")
    return found


def _members(report: Report) -> frozenset[tuple[str, int]]:
    return frozenset((row.address, row.weight) for row in report.backends)
