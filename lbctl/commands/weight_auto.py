"""``lbctl weight --auto``: measure every instance, find its weight by thresholds, write it where that was asked for.

Every look reads the registry anew, after measuring: what is written goes over what is there now.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final, Protocol

from lbctl.balance.adjuster import Adjuster, Sample
from lbctl.balance.dynamic import Thresholds
from lbctl.clock import Clock
from lbctl.commands import hammer
from lbctl.commands.screen import Screen
from lbctl.commands.signals import Interrupts
from lbctl.commands.weight import (
    LostRace,
    Registered,
    Where,
    instance_of,
    registered,
    report,
    rewrites,
    write,
)
from lbctl.discovery.weight_report import DRY_RUN, LOST, WRITTEN, Measured, WeightReport
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.stats.report import Report

Samples = Mapping[str, Sample]
Show = Callable[[WeightReport], None]

# What a window of looks may be longer than a look by and still be the same: floating-point division.
_SLACK: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Auto:
    """How weights are found. ``every_s`` None is one look; ``bases`` are by address or key."""

    where: Where
    rule: Thresholds = field(default_factory=Thresholds)
    bases: tuple[tuple[str, int], ...] = ()
    window_s: float = 10.0
    every_s: float | None = None
    confirm: int = 1
    min_change: int = 1
    apply: bool = False

    @property
    def slice_s(self) -> float:
        """How long one look measures."""
        return self.window_s if self.every_s is None else min(self.window_s, self.every_s)

    @property
    def slices(self) -> int:
        """How many looks a window spans."""
        return 1 if self.every_s is None else max(1, ceil(self.window_s / self.every_s - _SLACK))


class Meter(Protocol):
    """Where measurements come from: one look at a time. None where a signal ended it (see ``signal``)."""

    signal: int | None
    method: str | None

    async def look(self) -> Samples | None: ...


class Load:
    """A meter that puts a small load on all instances in turn; the first look may say what it does."""

    def __init__(self, etcd: Etcd, clock: Clock, request: hammer.Hammer, screen: Screen, tell: hammer.Tell) -> None:
        self.signal: int | None = None
        self.method: str | None = None
        self._etcd = etcd
        self._clock = clock
        self._request = request
        self._screen = screen
        self._tell = tell

    async def look(self) -> Samples | None:
        finished = await hammer.run(self._etcd, self._clock, self._request, self._screen, self._tell)
        self._tell = hammer.Tell(lambda line: None, self._tell.detail)
        self.signal = finished.signal
        if finished.report is None or self.signal is not None:
            return None
        self.method = finished.report.method
        return samples_of(finished.report)


class Saved:
    """A meter that has measured before."""

    def __init__(self, samples: Samples, method: str | None) -> None:
        self.signal: int | None = None
        self.method = method
        self._samples = samples

    async def look(self) -> Samples | None:
        return self._samples


def samples_of(measured: Report) -> dict[str, Sample]:
    """What a run found out about each key."""
    return {
        row.key: Sample(
            row.ok + row.errors,
            row.errors,
            row.latency.mean_us / 1e6 * row.latency.total if row.latency.total else 0.0,
            row.reason if row.state != "ready" else "",
        )
        for row in measured.backends
    }


async def run(etcd: Etcd, clock: Clock, request: Auto, meter: Meter, show: Show, note: Callable[[str], None]) -> int:
    """Look once, or until a signal; returns the number of the signal that ended it, 0 for none.

    Raises what measuring, reading and writing raise; from the second look on that is noted, and the next look made. A
    lost race is shown and noted; where there is no next look it is raised.
    """
    looks = _Looks(etcd, clock, request, meter)
    if request.every_s is None:
        return await looks.one(show) or 0
    first = True
    while True:
        began_ns = clock.now_ns()
        try:
            signal = await looks.one(show)
        except LbctlError as error:
            if first and not isinstance(error, LostRace):
                raise
            note(f"this look came to nothing: {error}")
            signal = None
        first = False
        if signal is None:
            spent_s = (clock.now_ns() - began_ns) / 1e9
            signal = await _pause(request.every_s - spent_s)
        if signal is not None:
            return signal


async def _pause(seconds: float) -> int | None:
    """Wait; returns the number of the signal that ended it before its time."""
    over = asyncio.Event()
    with Interrupts() as interrupts:
        interrupts.mean(over.set)
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await over.wait()
        except TimeoutError:
            return None
        return interrupts.first


class _Looks:
    """One look after the other, and what is remembered between them."""

    def __init__(self, etcd: Etcd, clock: Clock, request: Auto, meter: Meter) -> None:
        self._etcd = etcd
        self._clock = clock
        self._request = request
        self._meter = meter
        self._slices: deque[Samples] = deque(maxlen=request.slices)
        self._adjuster: Adjuster | None = None

    async def one(self, show: Show) -> int | None:
        """Measure, find, write if asked to, show. Returns the number of a signal that came."""
        found = await registered(self._etcd, self._request.where)  # a wrong name is told before anything is measured
        adjuster = self._adjuster = self._adjuster or self._new_adjuster(found)
        samples = await self._meter.look()
        if samples is None:
            return self._meter.signal
        self._slices.append(samples)
        with Interrupts() as interrupts:  # a signal waits until what is written is written and shown
            found = await registered(self._etcd, self._request.where)
            await self._settle(found, adjuster, show)
            return interrupts.first

    def _new_adjuster(self, found: Registered) -> Adjuster:
        request = self._request
        bases = {instance_of(found.service, where).key: weight for where, weight in request.bases}
        return Adjuster(request.rule, confirm=request.confirm, min_change=request.min_change, bases=bases)

    async def _settle(self, found: Registered, adjuster: Adjuster, show: Show) -> None:
        total = _summed(self._slices)
        adjuster.forget_all_but(set(found.entries))
        measured: dict[str, Measured] = {}
        weights: dict[str, int] = {}
        for each in found.service.instances:
            sample = total[each.key]
            proposal = adjuster.look(each.key, each.effective_weight, sample)
            weights[each.key] = proposal.weight
            measured[each.key] = Measured(proposal.base, sample.requests, sample.errors, sample.mean_s, proposal.why)
        plan = rewrites(found, weights)
        shown = replace(report(found, plan, self._clock.wall(), measured), method=self._meter.method)
        if shown.state != DRY_RUN or not self._request.apply:
            show(shown)
            return
        try:
            revision = await write(self._etcd, plan)
        except LostRace as lost:
            show(replace(shown, state=LOST, note=str(lost)))
            raise
        for rewrite in plan:
            if rewrite.changes:
                adjuster.wrote(rewrite.instance.key, rewrite.weight)
        show(replace(shown, state=WRITTEN, revision=revision))


def _summed(slices: deque[Samples]) -> defaultdict[str, Sample]:
    total: defaultdict[str, Sample] = defaultdict(Sample)
    for samples in slices:
        for key, sample in samples.items():
            total[key] = total[key].plus(sample)
    return total
