"""``lbctl weight --auto``: measure every instance, find its weight by thresholds, write it where that was asked for.

Every look reads the registry anew, after measuring: what is written goes over what is there now.
"""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final, Protocol, TypeVar

from lbctl.balance.adjuster import Adjuster, Sample
from lbctl.balance.dynamic import Thresholds
from lbctl.clock import Clock
from lbctl.commands import hammer
from lbctl.commands.rewriting import LostRace, Registered, Where, instance_of, registered, write
from lbctl.commands.screen import Screen
from lbctl.commands.signals import Interrupts
from lbctl.commands.weight import report, rewrites
from lbctl.discovery.weight_report import DRY_RUN, LOST, WRITTEN, Measured, WeightReport
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.stats.report import Report

Samples = Mapping[str, Sample]
Show = Callable[[WeightReport], None]
T = TypeVar("T")

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


class _Signalled(Exception):
    """A signal ended the looks."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


async def run(etcd: Etcd, clock: Clock, request: Auto, meter: Meter, show: Show, note: Callable[[str], None]) -> int:
    """Look once, or until a signal; returns the number of the signal that ended it, 0 for none.

    Raises what measuring, reading and writing raise; from the second look on that is noted, and the next look made. A
    lost race is shown as well; it is noted where there is a next look.
    """
    looks = _Looks(etcd, clock, request, meter)
    try:
        if request.every_s is None:
            await looks.one(show)
        else:
            await _go_on(looks, clock, request.every_s, show, note)
    except _Signalled as signalled:
        return signalled.number
    return 0


async def _go_on(looks: _Looks, clock: Clock, every_s: float, show: Show, note: Callable[[str], None]) -> None:
    first = True
    while True:
        began_ns = clock.now_ns()
        try:
            await looks.one(show)
        except LbctlError as error:
            if first and not isinstance(error, LostRace):
                raise
            note(f"this look came to nothing: {error}")
        first = False
        spent_s = (clock.now_ns() - began_ns) / 1e9
        await _unless_signalled(asyncio.sleep(max(every_s - spent_s, 0.0)))


async def _unless_signalled(work: Coroutine[object, object, T]) -> T:
    """Await the work; raises _Signalled, with the work cancelled, where a signal comes first."""
    task = asyncio.ensure_future(work)
    with Interrupts() as interrupts:
        interrupts.mean(task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            raise _Signalled(interrupts.first) from None


class _Looks:
    """One look after the other, and what is remembered between them."""

    def __init__(self, etcd: Etcd, clock: Clock, request: Auto, meter: Meter) -> None:
        self._etcd = etcd
        self._clock = clock
        self._request = request
        self._meter = meter
        self._slices: deque[Samples] = deque(maxlen=request.slices)
        self._adjuster: Adjuster | None = None

    async def one(self, show: Show) -> None:
        """Measure, find, write if asked to, show."""
        # A wrong name is told before anything is measured.
        found = await _unless_signalled(registered(self._etcd, self._request.where))
        adjuster = self._adjuster = self._adjuster or self._new_adjuster(found)
        samples = await self._meter.look()
        if samples is None:
            raise _Signalled(self._meter.signal or signal.SIGINT)
        self._slices.append(samples)
        found = await _unless_signalled(registered(self._etcd, self._request.where))
        with Interrupts() as interrupts:  # a signal waits until what is written is written and shown
            await self._settle(found, adjuster, show)
        if interrupts.first is not None:
            raise _Signalled(interrupts.first)

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
                adjuster.wrote(rewrite.instance.key, weights[rewrite.instance.key])
        show(replace(shown, state=WRITTEN, revision=revision))


def _summed(slices: deque[Samples]) -> defaultdict[str, Sample]:
    total: defaultdict[str, Sample] = defaultdict(Sample)
    for samples in slices:
        for key, sample in samples.items():
            total[key] = total[key].plus(sample)
    return total
