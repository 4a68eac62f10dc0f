"""``lbctl compare``: several policies under the same load, run after run, each with connections of its own.

Every run makes its connections anew, and is warmed up anew if that was asked for: what one policy left behind, on
connections or in what it had learned, is not there for the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, NamedTuple

from lbctl.clock import Clock
from lbctl.commands.aborted import Aborted
from lbctl.commands.caution import caution, hesitate
from lbctl.commands.error_limit import MAX_ERRORS, watched
from lbctl.commands.hammer import Hammer, Target, Tell, connected, load_of, notes_of, targeted
from lbctl.commands.judging import ABORTED, Judge
from lbctl.commands.screen import CompareScreen
from lbctl.commands.signals import Interrupts
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.load.engines import require
from lbctl.load.load_reports import wants_trailers
from lbctl.load.plan import Plan
from lbctl.load.run import Run
from lbctl.model import Event
from lbctl.stats.events import EventLog
from lbctl.stats.report import Report
from lbctl.stats.rounds import COMPLETE, Contender, Contest, Going, Trial, order_of

_SLOW: Final = 2.0  # times the p99 of the median backend
_ENOUGH: Final = 100  # calls of a backend of which a p99 means anything


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison as it was asked for: a request for each policy, alike in all else; the first is the baseline."""

    requests: tuple[Hammer, ...]
    contenders: tuple[Contender, ...]
    rounds: int = 3
    order: str = "interleaved"
    pause_s: float = 1.0
    notes: tuple[str, ...] = ()  # what is worth telling before anything is sent


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that is over; ``signal`` is the number of the signal that ended it, ``failure`` what else did.

    There is no contest where the signal came before the first call.
    """

    contest: Contest | None
    signal: int | None
    failure: LbctlError | None = None


async def run(etcd: Etcd | None, clock: Clock, wanted: Compare, screen: CompareScreen, tell: Tell) -> Compared:
    """Make all runs, or those until somebody stops it; raises what ``hammer.run`` does where nothing was run yet."""
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel)  # nothing was sent yet: there is nothing to wait for
        try:
            for request in wanted.requests:
                await require(request.policy.name, request.engine, trailers=wants_trailers(request.policy))
            target = await targeted(etcd, wanted.requests[0], tell)
            for note in dict.fromkeys(note for request in wanted.requests for note in notes_of(request, target)):
                tell.note(note)
            words = caution(wanted.requests[0].plan, target.service.instances)
            await hesitate(words, tell.note, waits=wanted.requests[0].waits)
            contesting = Contesting(etcd, clock, wanted, target, tell)
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            this.uncancel()
            return Compared(None, interrupts.first)
        interrupts.mean(contesting.interrupt, contesting.abort)
        async with screen.showing(contesting.contest, contesting):
            await contesting.drive()
        interrupts.mean()
        return Compared(contesting.contest(), interrupts.first, contesting.failure)


class _Live(NamedTuple):
    contender: int
    round: int
    number: int
    began_s: float
    load: Run
    judge: Judge


class Contesting:
    """Makes the runs, one after the other or those of a round at once; is its own controls."""

    def __init__(self, etcd: Etcd | None, clock: Clock, wanted: Compare, target: Target, tell: Tell) -> None:
        self._etcd = etcd
        self._clock = clock
        self._wanted = wanted
        self._first = wanted.requests[0]  # of which the others differ by their policies
        self._target = target
        self._tell = tell
        self._quiet = Tell(_unsaid, _unsaid)
        self._began_ns, self._started_at = clock.now_ns(), clock.wall()
        self._events = EventLog()
        self._trials: list[Trial] = []
        self._live: list[_Live] = []
        self._skipping = False
        self._stopping = False
        self._over = False
        self._paused = False
        self._changed = asyncio.Event()  # something was asked for while nothing runs
        self._work: asyncio.Task[None] | None = None
        self.failure: LbctlError | None = None

    def contest(self) -> Contest:
        """Everything so far; cheap enough for every frame."""
        wanted, first = self._wanted, self._first
        return Contest(
            service=self._target.service.name,
            method=self._target.calling.method,
            contenders=wanted.contenders,
            rounds=wanted.rounds,
            order=wanted.order,
            pause_s=wanted.pause_s,
            seed=first.seed,
            load=load_words(first.plan),
            trials=tuple(self._trials),
            going=tuple(
                Going(each.contender, each.round, each.load.report(), each.number, each.began_s) for each in self._live
            ),
            events=self._events,
            started_at=self._started_at,
            elapsed_s=self._elapsed_s(),
            paused=self._paused,
            stopping=self._stopping and not self._over,
            over=self._over,
        )

    def _elapsed_s(self) -> float:
        return (self._clock.now_ns() - self._began_ns) / 1e9

    async def drive(self) -> None:
        """Make all runs; raises LbctlError where the first could not be made, and keeps a later one as ``failure``."""
        self._work = asyncio.create_task(self._drive())
        try:
            await asyncio.wait({self._work})
            with suppress(asyncio.CancelledError):
                self._work.result()
        except asyncio.CancelledError:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
            raise
        finally:
            self._over = True

    async def _drive(self) -> None:
        wanted = self._wanted
        for place, batch in enumerate(order_of(wanted.order, len(wanted.requests), wanted.rounds)):
            await self._rest(wanted.pause_s if place else 0.0)
            if self._stopping:
                return
            try:
                await self._batch(batch, self._quiet if place else self._tell)
            except LbctlError as error:
                if not isinstance(error, Aborted) and not any(trial.counts for trial in self._trials):
                    raise
                self._note(f"the comparison ends: {error}", "bad")
                self.failure = error
                return

    async def _rest(self, seconds: float) -> None:
        """Wait so long, and while somebody wants a pause; whoever stops it need not wait."""
        while not self._stopping:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._paused else seconds):
                    await self._changed.wait()
                    continue
            return

    async def _batch(self, batch: Sequence[tuple[int, int]], tell: Tell) -> None:
        """Make these runs at the same time; every one that began leaves a trial."""
        async with AsyncExitStack() as stack:
            live: list[_Live] = []
            for contender, number in batch:
                request = self._request(contender, number)
                load = await load_of(request, self._target, self._clock, replay=False)
                stack.push_async_callback(load.aclose)
                await stack.enter_async_context(connected(self._etcd, request, self._target, load, tell))
                place = len(self._trials) + len(live) + 1
                live.append(_Live(contender, number, place, 0.0, load, Judge((), request.abort_on)))
            await self._rest(0.0)
            if self._stopping:
                return
            live = [each._replace(began_s=self._elapsed_s()) for each in live]
            for each in live:
                self._note(f"round {each.round} {self._label(each.contender)} started")
            self._live, self._skipping = live, False
            with ExitStack() as watching:
                for each in live:
                    watching.enter_context(watched(self._first.max_errors, each.load))
                    watching.enter_context(each.judge.watching(each.load))
                try:
                    await asyncio.gather(*(self._drive_one(each) for each in live))
                finally:
                    self._live = []
                    trials = [self._keep(each) for each in live]
        for each, trial in zip(live, trials, strict=True):
            failure = each.load.failure or self._too_many(trial) or self._aborted(trial)
            if failure is not None:
                raise failure

    async def _drive_one(self, live: _Live) -> None:
        """See a run through; one that was too bad ends those beside it."""
        await live.load.drive()
        if live.load.report().end_reason in (ABORTED, MAX_ERRORS):
            for each in self._live:
                each.load.stop()

    def _aborted(self, trial: Trial) -> LbctlError | None:
        """What --abort-on makes of a run."""
        broken = next((each for each in trial.report.abort_on if not each.ok), None)
        return None if broken is None else Aborted(broken, f"round {trial.round} of {self._label(trial.contender)}")

    def _too_many(self, trial: Trial) -> LbctlError | None:
        """What --max-errors makes of a run."""
        limit = self._first.max_errors
        return limit.failure(trial.report) if limit is not None else None

    def _request(self, contender: int, number: int) -> Hammer:
        """The request of one run. Runs of a round have one seed: where load comes by chance, it is the same chance."""
        request = self._wanted.requests[contender]
        return replace(request, seed=request.seed + number - 1)

    def _keep(self, live: _Live) -> Trial:
        """Put down what a run came to."""
        report, label = live.judge.judged(live.load.report()), self._label(live.contender)
        report = replace(report, name=self._first.name, tags=self._first.tags)
        times = live.began_s, self._elapsed_s()
        trial = Trial(live.contender, live.round, live.number, report, self._skipping, *times)
        self._trials.append(trial)
        if not trial.counts:
            why = (
                "skipped" if trial.skipped else "nothing answered" if report.end_reason in COMPLETE else "not finished"
            )
            self._note(f"round {live.round} {label} {why}: it does not count", "change")
            return trial
        for change in trial.changes:
            self._note(f"round {live.round} {label}: {change} meanwhile", "change")
        slow = slow_backend(report)
        if slow:
            self._note(slow, "change")
        self._note(f"round {live.round} {label} done: {report.completed:,} requests in {report.elapsed_s:.1f}s")
        return trial

    def _label(self, contender: int) -> str:
        return self._wanted.contenders[contender].label

    def _note(self, text: str, level: str = "info") -> None:
        self._events.add(Event(self._elapsed_s(), "compare", None, text, level))

    def pause(self) -> None:
        """Send nothing more until ``resume``."""
        if self._paused or self._over:
            return
        self._paused = True
        self._note("paused", "change")
        self._pause_all()
        self._changed.set()

    def _pause_all(self) -> None:
        for each in self._live:
            each.load.hand.pause()

    def resume(self) -> None:
        """Go on."""
        if not self._paused:
            return
        self._paused = False
        self._note("resumed", "change")
        for each in self._live:
            each.load.hand.resume()
        self._changed.set()

    def stop(self) -> None:
        """Begin no other run; the one that goes on is seen through."""
        if self._stopping:
            return
        self._stopping = True
        if self._live:
            self._note("stopping once this run is over", "change")
        self.resume()
        self._changed.set()

    def interrupt(self) -> None:
        """Stop, and send nothing more: the run that goes on does not count. Who has been asked already ends at once."""
        if self._stopping:
            self.abort()
            return
        self.stop()
        for each in self._live:
            each.load.stop()

    def abort(self) -> None:
        """End now: the run that goes on is cut off and does not count."""
        self._stopping = True
        self._changed.set()
        for each in self._live:
            each.load.abort()
        if not self._live and self._work is not None:
            self._work.cancel()  # it connects

    def skip(self) -> None:
        """Cut the run that goes on off, and begin the next."""
        if self._live and not self._skipping:
            self._skipping = True
            self.resume()
            for each in self._live:
                each.load.stop()

    def log(self, text: str) -> None:
        """Note a line of somebody else's."""
        self._events.add(Event(self._elapsed_s(), "log", None, text))


def _unsaid(line: str) -> None:
    """What was said before the first run is not said again."""


def load_words(plan: Plan) -> str:
    """How much load each run is: ``c=50``, ``500/s``."""
    if plan.schedule is None:
        return f"c={plan.concurrency}"
    return f"{plan.schedule.rps:g}/s" if plan.schedule.rps is not None else "open loop"


def slow_backend(report: Report) -> str:
    """Say which backend's slowest calls were far slower than those of the others; "" for none."""
    known = {row.address: row.latency.quantiles([0.99])[0] for row in report.backends if row.latency.total >= _ENOUGH}
    if len(known) < 3:
        return ""
    middle, worst = median(known.values()), max(known, key=known.__getitem__)
    if middle <= 0 or known[worst] < _SLOW * middle:
        return ""
    return f"{worst} slow: p99 {known[worst] / 1e3:.3g}ms, {known[worst] / middle:.1f}x the median backend"
