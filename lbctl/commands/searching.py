"""A search for the highest rate that holds an objective: one run driven again and again, each time at another rate."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from lbctl.commands.error_limit import MAX_ERRORS
from lbctl.load.controls import Controls, RegistryControls
from lbctl.load.pacing.curve import Stage
from lbctl.load.pacing.schedule import Schedule, Warmup
from lbctl.load.plan import Plan
from lbctl.load.run import Run
from lbctl.load.search import Search
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.stats.searched import FAILS, HOLDS, LIMITED, Probe, RateSearch
from lbctl.stats.thresholds import Threshold, parse_threshold

START: Final = 100.0  # calls/s
PROBE_S: Final = 5.0
PRECISION: Final = 0.05
WARM_S: Final = 1.0

_WHOLE: Final = ("duration", MAX_ERRORS)  # ends of a run that tell what a rate is like
_CLOSE: Final = 0.1  # of a limit
_BUSY: Final = 0.8
_LATE: Final = 0.05  # of the calls
_MATTERS: Final = 0.1  # of a limit
_FEW: Final = 20  # calls, of which a share says little
_ERRORS: Final = parse_threshold("error_rate<1%")
_ABOUT_ERRORS: Final = ("error_rate", "success_rate", "errors", "ok", "code.")


@dataclass(frozen=True, slots=True)
class Searching:
    """What is searched for. Calls that fail count: without an expression about them 1 % may, at most."""

    objective: tuple[Threshold, ...]
    probe_s: float = PROBE_S
    precision: float = PRECISION
    rest_s: float = 0.0  # between two probes, for whoever looks on at times and has to see how each ended

    @property
    def whole(self) -> tuple[Threshold, ...]:
        """Every expression that must hold."""
        about = any(each.expr.removeprefix("backend.").startswith(_ABOUT_ERRORS) for each in self.objective)
        return self.objective if about else (*self.objective, _ERRORS)


class _Verdict(NamedTuple):
    verdict: str
    reason: str
    is_close: bool


class Probing:
    """Drives a run through a search as ``Run.drive`` would through its plan; the plan's rate is where it starts."""

    def __init__(self, load: Run, wanted: Searching) -> None:
        self._load = load
        self._wanted = wanted
        self._plan = load.plan
        self._search = Search(load.plan.rps or START, wanted.precision)
        self._probes: list[Probe] = []
        self._shown: Report | None = None  # the highest rate that held; where none did, what was tried last
        self._held: Report | None = None  # the last probe that held
        self._best = 0.0
        self.hand: Controls = _Hand(load)

    def report(self) -> Report:
        """The probe that goes on, or was the last."""
        return self._load.report()

    async def drive(self) -> None:
        """Make probes until the search is over, or somebody stops it."""
        while (rate := self._search.next_rate()) is not None and not self._load.was_stopped:
            report = await self._driven(rate)
            if report.end_reason not in _WHOLE:
                return
            self._take(rate, report)
            if self._wanted.rest_s:
                await asyncio.sleep(self._wanted.rest_s)

    async def _driven(self, rate: float) -> Report:
        self._load.again(self._planned(rate))
        await self._load.drive()
        return self._load.report()

    def found(self) -> Report:
        """The report of the highest rate that held, of the last one where none did, with all that was tried."""
        search = self._search
        result = RateSearch(
            objective=tuple(each.expr for each in self._wanted.whole),
            probe_s=self._wanted.probe_s,
            precision=self._wanted.precision,
            ended=search.ended,
            low=search.low,
            high=search.high,
            probes=tuple(self._probes),
        )
        return replace(self._shown or self._load.report(), search=result)

    def _planned(self, rate: float) -> Plan:
        plan = self._plan
        schedule = plan.schedule or Schedule()
        return replace(
            plan,
            requests=None,
            duration_s=self._wanted.probe_s,
            schedule=replace(schedule, stages=(Stage(math.inf, rate, rate),)),
            warmup=plan.warmup or Warmup(duration_s=min(WARM_S, self._wanted.probe_s / 2)),
        )

    def _take(self, rate: float, report: Report) -> None:
        outcomes = tuple(each.judge(report) for each in self._wanted.whole)
        found = _judged(report, outcomes)
        probe = _probe(report, rate, outcomes, found)
        self._probes.append(probe)
        self._search.take(found.verdict, close=found.is_close)
        if probe.verdict == HOLDS:
            self._held = _kept(report)
        if self._search.low is not None:
            if self._search.low > self._best:  # only now is it known, perhaps after another probe that failed
                self._best, self._shown = self._search.low, self._held
        else:
            self._shown = _kept(report)
        why = f": {probe.reason}" if probe.reason else ""
        self._load.note("rate", None, f"probe {len(self._probes)}: {rate:,g}/s {probe.verdict}{why}")


class _Hand:
    """The hand on a search: what it tries is its own business, everything else can be done as to any run."""

    def __init__(self, load: Run) -> None:
        self._load = load
        self._told = False

    @property
    def registry(self) -> RegistryControls:
        return self._load.hand.registry

    def stop(self) -> None:
        self._load.stop()

    def abort(self) -> None:
        self._load.abort()

    def drain(self, key: str, address: str) -> None:
        self._load.hand.drain(key, address)

    def log(self, text: str) -> None:
        self._load.hand.log(text)

    def recount(self) -> None:
        self._tell()

    def pause(self) -> None:
        self._tell()

    def resume(self) -> None:
        """It is never paused."""

    def scale(self, factor: float) -> None:
        self._tell()

    def next_policy(self, step: int) -> None:
        self._tell()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self._load.note("rate", None, "--find-max: rate, policy and pauses are the search's own", "info")


def _judged(report: Report, outcomes: Sequence[Outcome]) -> _Verdict:
    """Whether it holds; what fails while the generator could not keep up says nothing about the servers."""
    broken = [each for each in outcomes if not each.ok]
    lost = [f"{count:,} {what}" for count, what in _lost(report) if count]
    lost += ["ended by --max-errors"] if report.end_reason == MAX_ERRORS else []
    if not broken and not lost:
        return _Verdict(HOLDS, "", any(_is_close(each) for each in outcomes))
    why = next(_too_slow(report, broken), "") if lost or not all(map(_is_about_errors, broken)) else ""
    reasons = [*map(_spelled, broken), *lost]
    if why:
        return _Verdict(LIMITED, ", ".join([*reasons, why]), is_close=True)
    return _Verdict(FAILS, ", ".join(reasons), not lost and all(_is_close(each) for each in broken))


def _spelled(found: Outcome) -> str:
    """What was measured: ``p99 35.1ms``."""
    name = re.split("[<>=]", found.expr)[0]
    return f"{name} {found.figure}" if found.value is not None else f"{name}: {found.reason}"


def _lost(report: Report) -> Sequence[tuple[int, str]]:
    """Calls that had no end of their own."""
    return (report.dropped, "dropped"), (report.cancelled, "without an answer")


def _is_close(found: Outcome) -> bool:
    return found.value is not None and abs(found.value - found.limit) <= _CLOSE * abs(found.limit)


def _is_about_errors(found: Outcome) -> bool:
    return found.expr.startswith("error")


def _too_slow(report: Report, broken: Sequence[Outcome]) -> Iterator[str]:
    """What of the generator's health makes a failure its own: starts that were late by what matters to the limits."""
    busy = report.generator.busy
    if busy > _BUSY:
        yield f"generator {busy:.0%} busy"
    matters_ms = max(1.0, min((_MATTERS * each.limit for each in broken if each.unit == "ms"), default=1.0))
    late = _late(report, matters_ms)
    if late > _LATE:
        yield f"{late:.0%} started over {matters_ms:.3g}ms late"


def _late(report: Report, over_ms: float = 1.0) -> float:
    """The share of the calls that were started later than planned by more than that."""
    starts = report.starts
    if starts is None or starts.delays.total < _FEW:
        return 0.0
    late = sum(count for us, count in starts.delays.steps() if us > over_ms * 1000)
    return late / starts.delays.total


def _probe(report: Report, rate: float, outcomes: tuple[Outcome, ...], found: _Verdict) -> Probe:
    times = report.latency
    p50, p99 = (each / 1000 for each in times.quantiles((0.5, 0.99))) if times.total else (None, None)
    return Probe(
        rate=rate,
        done=report.ended / report.elapsed_s if report.elapsed_s else 0.0,
        requests=report.issued,
        ok=report.ok,
        errors=report.errors,
        cancelled=report.cancelled,
        dropped=report.dropped,
        p50_ms=p50,
        p99_ms=p99,
        busy=report.generator.busy,
        late=_late(report),
        verdict=found.verdict,
        reason=found.reason,
        is_close=found.is_close,
        outcomes=outcomes,
    )


def _kept(report: Report) -> Report:
    """The report as it is now, whatever the run does next."""
    return replace(
        report,
        latency=report.latency.copy(),
        service_time=report.service_time.copy(),
        wait=report.wait.copy(),
        first_byte=report.first_byte.copy(),
        backends=tuple(replace(row, latency=row.latency.copy()) for row in report.backends),
        methods=tuple(replace(row, latency=row.latency.copy()) for row in report.methods),
        events=tuple(report.events),
        samples=tuple(report.samples),
    )
