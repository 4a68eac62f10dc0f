"""One run: the engine, the backends and the counts put together, and driven from the first call to the last reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.moved import moved
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Picker, Why
from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.clock import Clock
from lbctl.errors import UsageError
from lbctl.load.alarm import Alarms, best_alarm
from lbctl.load.backends import Backends
from lbctl.load.collector import without_collector
from lbctl.load.delegation import Delegation
from lbctl.load.engines import ENGINES, Dialling
from lbctl.load.explanation import explanation
from lbctl.load.guarding import Guarding
from lbctl.load.hand import Hand, rotation
from lbctl.load.health_watch import HealthWatch
from lbctl.load.load_reports import LoadReports, beside
from lbctl.load.loops import Loop, loop_for
from lbctl.load.parts import dialling_of, engine_of
from lbctl.load.plan import Plan, Task
from lbctl.load.pulse import Pulse
from lbctl.load.repeating import attempts_of
from lbctl.load.reporter import Reporter
from lbctl.load.requests.accounts import accounts_of
from lbctl.load.sampling import Sampling
from lbctl.load.stopwatch import Stopwatch
from lbctl.load.warnings import warm_up_of
from lbctl.model import Event, Instance
from lbctl.rpc.dial import TCP, Network
from lbctl.rpc.link import Flusher
from lbctl.stats.events import EventLog
from lbctl.stats.report import Recounted, Report, Sent, Warmed
from lbctl.stats.tally import Tally

_COMPLETED: Final = "completed"
_LOOK_FOR_BACKENDS_S: Final = 0.1
_LOOK_S: Final = 0.02  # how exact the end of a timed run is that was paused


class Run:
    """A run from its first backend to its last reply; ``hand`` is what a screen may do to it."""

    def __init__(self, task: Task, clock: Clock, network: Network = TCP, alarms: Alarms = best_alarm) -> None:
        flusher, tally = Flusher(), Tally()
        self._task = task
        self._clock = clock
        self._alarms = alarms
        self._stopwatch = Stopwatch(clock)
        self._events = EventLog()
        self._started_at = clock.wall()
        self._end_reason: str | None = None
        self._why = _COMPLETED
        self.was_stopped = False  # by somebody, whenever that was
        self._begins_anew = False  # once nothing is in flight
        self._over = asyncio.Event()  # nothing is in flight and nothing will be
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._balancer = balancer = Balancer(task.policy, Random(task.seed), task.keys)
        self._attempts = attempts_of(task.repeating, Random(task.seed), clock)
        self._guarding = Guarding(task.guards, balancer, clock, task.seed, self.note)
        accounts = accounts_of(task.varying, tally, clock)
        self._engine = engine_of(task, balancer, accounts, flusher, clock, self._attempts, self._guarding)
        self._plan = task.plan.warming or task.plan  # what is issued now
        self._tries = 0  # how often it was driven anew
        self._loop = self._made_loop()
        self._delegation: Delegation | None = None
        self.backends = self._made_backends(tally, dialling_of(task, flusher, clock, network))
        self._pulse = Pulse(clock)
        self._reporter = Reporter(
            task, clock, self._engine, self._loop, accounts, balancer, self.backends, self._pulse, self._events
        )
        self._reporter.attempts = self._attempts
        self._reporter.guarding = self._guarding
        self._sampling = Sampling(self._stopwatch.elapsed_s, self._reporter.totals, tally.latency)
        self._reporter.samples = lambda: self._sampling.sampler.samples
        self._health: HealthWatch | None = None
        self._listen()
        if self._is_counted:
            self._explain()
        self.hand = self._made_hand()

    def _made_backends(self, tally: Tally, dialling: Dialling) -> Backends:
        factory, policy = ENGINES[self._task.engine], self._task.policy.name
        if policy in GRPC_POLICIES:
            self._delegation = Delegation(policy, self._engine, dialling, self._renewed)
            factory = self._delegation.factory
        elapsed_s = self._stopwatch.elapsed_s
        backends = Backends(self._balancer, self._engine, tally, factory, dialling, self.note, elapsed_s)
        if self._delegation is not None:
            backends.unplaced = self._delegation.lane
        return backends

    def _listen(self) -> None:
        """Hear of what the balancer does, and have what it goes by asked for."""
        task, balancer = self._task, self._balancer
        balancer.on_change = self._engine.repicked
        balancer.on_note = self._noted
        balancer.on_rebuilt = self._moved
        reports = LoadReports(balancer, beside(task), self._clock, Random(task.seed), self.note)
        balancer.on_probe = reports.probe
        self.backends.companions.append(reports)
        if task.guards.health is not None:
            self._health = HealthWatch(task.guards.health, balancer, beside(task), Random(task.seed), self.note)
            self.backends.companions.append(self._health)

    def _made_hand(self) -> Hand:
        return Hand(
            loop=lambda: self._loop,
            balancer=self._balancer,
            policies=rotation(self._task.policy, keyed=self._task.keys is not None),
            backends=self.backends,
            stopwatch=self._stopwatch,
            note=self.note,
            going=lambda: self._why == _COMPLETED and not self._over.is_set(),
            over=self._over.is_set,
            stop=self.stop,
            abort=self.abort,
            begin_anew=self.begin_anew,
        )

    @property
    def plan(self) -> Plan:
        return self._task.plan

    @property
    def _is_counted(self) -> bool:
        """Whether what is issued now is what was asked for, and not the warm-up."""
        return self._plan is self._task.plan

    def _made_loop(self) -> Loop:
        """The loop of what is issued now."""
        task = self._task
        # What is drawn for picks must say nothing of when calls come, and to try once more is to draw once more.
        chance = Random(f"arrivals {self._tries} {task.seed}")
        loop = loop_for(self._plan, self._engine, self._clock, self._alarms, task.connection.connections, chance)
        loop.on_idle, loop.on_sent = self._idle, self._all_sent
        return loop

    def _explain(self) -> None:
        if self._task.explain:
            self._balancer.explain(self._explained, self._task.explain)

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        """Add an event to the report."""
        self._events.add(Event(self._stopwatch.elapsed_s(), kind, backend, text, level))

    def _explained(self, peer: Peer, call: Call, why: Why) -> None:
        self._reporter.explanation = explanation(self._reporter.balancer.policy, peer, call, why, self._task.explain)

    def _noted(self, kind: str, peer: Peer, text: str, level: str) -> None:
        self.note(kind, peer.instance.address, text, level)

    def _moved(self, before: Picker, after: Picker) -> None:
        found = moved(before, after, self._task.keys)
        if found is not None:
            self.note("policy", None, str(found), "change")

    def _renewed(self, text: str) -> None:
        self.note("policy", None, text, "change")

    def apply(self, instances: Iterable[Instance]) -> None:
        """Follow a full snapshot of the registry."""
        self.backends.apply(instances)

    async def settled(self) -> None:
        """Wait until every backend has been connected to, or could not be, and has told its health if it is asked."""
        await self.backends.settled()
        if self._health is not None:
            await self._health.settled()

    async def drive(self) -> None:
        """Issue the load and wait for its end; every call issued is accounted for afterwards."""
        with without_collector():
            try:
                self._started_at = self._clock.wall()
                self._pulse.start()
                self._stopwatch.start()
                if self._loop.paused:
                    self._stopwatch.pause()
                self._sampling.start()
                self._guarding.begin()
                self._begin()
                await self._over.wait()
            finally:
                if not self._over.is_set():
                    # Cancelled: nobody waits for what is in flight.
                    self.abort()
                self._pulse.stop()
                self._sampling.stop()
                self._guarding.end()
                if self._attempts is not None:
                    self._attempts.rest()
                for timer in self._timers.values():
                    timer.cancel()
                self._end_reason = self._why if self.failure is None else "error"

    @property
    def failure(self) -> UsageError | None:
        """What was wrong with the contents of calls, so that the run could not go on."""
        return self._task.varying.contents.failure if self._task.varying is not None else None

    def _begin(self) -> None:
        """Issue the first calls, unless somebody stopped the run before."""
        if self._why != _COMPLETED:
            return self._idle()
        if self._plan.duration_s is not None:
            self._after("duration", self._plan.duration_s, self._look_at_the_time)
        else:
            self._look_for_backends()
        self._loop.begin()
        if self._task.shortest_timeout_s:
            self._sweep()
        return None

    async def aclose(self) -> None:
        """Close every connection."""
        if self._attempts is not None:
            self._attempts.close()
        if self._task.varying is not None:
            self._task.varying.contents.close()
        await self.backends.aclose()
        if self._delegation is not None:
            await self._delegation.aclose()

    def _after(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, then)

    def _sweep(self) -> None:
        """Look for passed deadlines often enough to end a call within 2 % of its time-out, at most each millisecond."""
        self._engine.expire(self._clock.now_ns())
        self._after("sweep", min(max(self._task.shortest_timeout_s / 50, 0.001), 0.5), self._sweep)

    def _look_at_the_time(self) -> None:
        """End a timed run, unless it was paused or the loop's timer was early, and it has some of its time left."""
        left_s = (self._plan.duration_s or 0.0) - self._stopwatch.elapsed_s()
        if left_s > 0:
            least_s = _LOOK_S if self._stopwatch.was_paused else 0.0
            self._after("duration", max(left_s, least_s), self._look_at_the_time)
        elif self._is_counted:
            self.end("duration")
        else:
            self._after("grace", self._task.grace_s, self._give_up_waiting)
            self._loop.finish()

    def _look_for_backends(self) -> None:
        """End a run that nobody can serve and no duration bounds: its calls would fail one time-out after another."""
        since_ns = self._engine.starving_since_ns
        limit_s = self._task.starve_s
        if since_ns and self._clock.now_ns() - since_ns >= limit_s * 1e9:
            why = self._guarding.all_out() or "no backend was ready"
            self._reporter.given_up = why
            self.note("health", None, f"{why} for {limit_s:g}s: the run is given up", "bad")
            self.end("error")
            self._engine.give_up()
        else:
            self._after("backends", _LOOK_FOR_BACKENDS_S, self._look_for_backends)

    def end(self, why: str) -> None:
        """Issue nothing more, and give this as the reason; after the grace time cancel what is still in flight."""
        if self._why != _COMPLETED or self._over.is_set():
            return
        self._why = why
        if self._stopwatch.began:
            self._after("grace", self._task.grace_s, self._give_up_waiting)
            # What was due before the end of the time is owed; whoever stops a run wants nothing more sent.
            (self._loop.finish if why == "duration" else self._loop.close)()

    def _all_sent(self) -> None:
        """Nothing more will be issued; what counts from here on is waiting."""
        if self._is_counted and self._stopwatch.began and self._reporter.sent is None:
            tally = self._reporter.accounts.tally
            self._reporter.sent = Sent(self._stopwatch.elapsed_s(), tally.ok + tally.errors)

    def _idle(self) -> None:
        """Nothing is in flight, and the loop will issue nothing more; one that was not begun yet is not over either."""
        if not self._stopwatch.began:
            return
        if self._is_counted and not (self._begins_anew and self._why == _COMPLETED):
            self._stopwatch.stop()
            self._over.set()
        elif "measure" not in self._timers:  # in a turn of its own: whoever noticed has still to finish
            self._after("measure", 0.0, self._measure_anew if self._is_counted else self._measure)

    def _measure(self) -> None:
        """The warm-up is over: count from here on."""
        tally = self._reporter.accounts.tally
        self._reporter.warmed = Warmed(self._engine.issued, tally.errors, self._stopwatch.elapsed_s())
        self.note("rate", None, f"{warm_up_of(self._reporter.warmed)}: counting begins", "info")
        self._plan = self._task.plan
        self._recount()
        self._explain()
        self._count_from_now()

    def begin_anew(self) -> None:
        """Have the plan begin anew and count from 0, with the load as it is by now, once nothing is in flight.

        What is still in flight after the grace time is cancelled. A warm-up goes on.
        """
        if not self._is_counted or self._why != _COMPLETED or not self._stopwatch.began or self._begins_anew:
            return
        self._begins_anew = True
        for name in ("duration", "backends"):
            if name in self._timers:
                self._timers.pop(name).cancel()
        self._after("grace", self._task.grace_s, self._give_up_waiting)
        self._loop.close()

    def _measure_anew(self) -> None:
        """Nothing is in flight any more."""
        if self._why != _COMPLETED:
            return self._idle()
        self._begins_anew = False
        reporter, errors = self._reporter, self._reporter.accounts.tally.errors
        before = reporter.recounted or Recounted()
        reporter.recounted = before.and_also(self._engine.issued, errors, self._stopwatch.elapsed_s())
        self.note("rate", None, f"begun anew: {self._engine.issued:,} calls before that do not count", "change")
        earlier = self._loop
        self._recount()
        self._loop.go_on_from(earlier)
        if reporter.explanation is None:
            self._explain()
        return self._count_from_now()

    def _count_from_now(self) -> None:
        self._started_at = self._clock.wall()
        self._stopwatch.restart()
        if self._loop.paused:
            self._stopwatch.pause()
        self._pulse.restart()
        self._sampling.restart()
        self._begin()

    def _recount(self) -> None:
        """Count anew what the plan has issued from now on."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._events.shift(self._stopwatch.elapsed_s())
        self._engine.forget()
        self.backends.forget()
        self._loop = self._reporter.loop = self._made_loop()
        self._reporter.forget()

    def again(self, plan: Plan) -> None:
        """Have ``drive`` issue this plan next, on the same connections and counted anew; nothing may be going on."""
        self._task = self._reporter.task = replace(self._task, plan=plan)
        self._plan = plan.warming or plan
        self._tries += 1
        self._why, self._end_reason, self._reporter.warmed = _COMPLETED, None, None
        self._over.clear()
        self._recount()
        self._stopwatch.reset()

    def stop(self) -> None:
        """Issue nothing more, let what is in flight finish; before the first call nothing will be issued."""
        self.was_stopped = True
        self.end("interrupted")

    def abort(self) -> None:
        """Cancel what is in flight and end now."""
        self.was_stopped = True
        if self._over.is_set():
            return
        self._why = "interrupted"
        if self._stopwatch.began:
            self._cancel()

    def _give_up_waiting(self) -> None:
        """The grace time is over."""
        self._reporter.waited_in_vain = True
        self._cancel()

    def _cancel(self) -> None:
        self._loop.close()
        self._engine.cancel()

    def report(self) -> Report:
        """Everything measured so far; cheap enough for every frame."""
        return self._reporter.report(
            started_at=self._started_at,
            elapsed_s=self._stopwatch.elapsed_s(),
            stopping=self._stopwatch.began and self._why != _COMPLETED and self._end_reason is None,
            end_reason=self._end_reason,
        )
