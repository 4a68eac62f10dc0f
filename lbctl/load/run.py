"""One run: the engine, the backends and the counts put together, the hand on them, and the report of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.policies import POLICIES
from lbctl.clock import Clock
from lbctl.load.backends import Backends, Dialling
from lbctl.load.engine import Engine
from lbctl.load.lane import Lane
from lbctl.load.plan import Plan
from lbctl.load.pulse import Pulse
from lbctl.model import Endpoint, Event, Instance
from lbctl.rpc.dial import TCP, Network
from lbctl.rpc.link import Flusher
from lbctl.stats.events import EventLog
from lbctl.stats.fairness import judge
from lbctl.stats.report import BackendRow, Balance, Load, Report
from lbctl.stats.tally import Tally
from lbctl.wire.request import Request

_ENGINE: Final = "wire"
_COMPLETED: Final = "completed"
_BALANCE_AGE_NS: Final = 200_000_000  # a verdict is looked at, not measured with: 5 a second are enough


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is about: the names shown, the policy, the seed of every random choice, and the load."""

    service: str
    method: str
    policy: str
    seed: int
    plan: Plan
    request_for: Callable[[Endpoint], Request]
    connect_timeout_s: float = 10.0
    grace_s: float = 5.0
    policy_options: Mapping[str, str] = field(default_factory=dict)


class Run:
    """A run from its first backend to its last reply; implements the Controls of a screen."""

    def __init__(self, task: Task, clock: Clock, network: Network = TCP) -> None:
        rng = Random(task.seed)
        flusher = Flusher()
        self._task = task
        self._clock = clock
        self._policy = task.policy
        self._events = EventLog()
        self._tally = Tally()
        self._balancer = Balancer(POLICIES[task.policy], rng)
        self._engine = Engine(task.plan, self._balancer, self._tally, flusher, clock)
        # Jitter of reconnects has its own source: picks must not depend on how often a connection failed.
        dialling = Dialling(task.request_for, task.connect_timeout_s, flusher, clock, Random(task.seed), network)
        self.backends = Backends(self._balancer, self._engine, self._tally, dialling, self.note, self.elapsed_s)
        self._pulse = Pulse(clock)
        self._balancer.on_change = self._engine.repicked
        self._engine.on_idle = self._idle
        self._began_ns = 0
        self._ended_ns = 0
        self._started_at = clock.wall()
        self._end_reason: str | None = None
        self._why = _COMPLETED
        self._over = asyncio.Event()  # nothing is in flight and nothing will be
        self._timers: list[asyncio.TimerHandle] = []
        self._sweeper: asyncio.TimerHandle | None = None
        self._balance: Balance | None = None
        self._balance_ns = 0

    def elapsed_s(self) -> float:
        """Seconds since the first call was issued; 0 before, and standing still once the run is over."""
        if not self._began_ns:
            return 0.0
        return ((self._ended_ns or self._clock.now_ns()) - self._began_ns) / 1e9

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        """Add an event to the report."""
        self._events.add(Event(self.elapsed_s(), kind, backend, text, level))

    def apply(self, instances: Iterable[Instance]) -> None:
        """Follow a full snapshot of the registry."""
        self.backends.apply(instances)

    async def drive(self) -> None:
        """Issue the load and wait for its end; every call issued is accounted for afterwards."""
        loop = asyncio.get_running_loop()
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            self._started_at = self._clock.wall()
            self._pulse.start()
            self._began_ns = self._clock.now_ns()
            if self._task.plan.duration_s is not None:
                self._timers.append(loop.call_later(self._task.plan.duration_s, self._close, "duration"))
            self._begin()
            await self._over.wait()
        finally:
            if not self._over.is_set():
                # Cancelled: nobody waits for what is in flight.
                self.abort()
            self._pulse.stop()
            for timer in (*self._timers, self._sweeper):
                if timer is not None:
                    timer.cancel()
            gc.enable()
            gc.unfreeze()
            self._end_reason = self._why

    def _begin(self) -> None:
        """Issue the first calls, unless somebody stopped the run before."""
        if self._why != _COMPLETED:
            return self._idle()
        self._engine.begin()
        if self._task.plan.timeout_ns:
            self._sweep()
        return None

    async def aclose(self) -> None:
        """Close every connection."""
        await self.backends.aclose()

    def _sweep(self) -> None:
        """Look for passed deadlines often enough to end a call within 2 % of its time-out, at most each millisecond."""
        period = min(max(self._task.plan.timeout_s / 50, 0.001), 0.5)
        self._engine.expire(self._clock.now_ns())
        self._sweeper = asyncio.get_running_loop().call_later(period, self._sweep)

    def _close(self, why: str) -> None:
        """Issue nothing more; after the grace time cancel what is still in flight."""
        if self._why != _COMPLETED or self._over.is_set():
            return
        self._why = why
        if not self._began_ns:
            return
        self._timers.append(asyncio.get_running_loop().call_later(self._task.grace_s, self._engine.cancel))
        self._engine.close()

    def _idle(self) -> None:
        if not self._over.is_set():
            self._ended_ns = self._clock.now_ns()
            self._over.set()

    @property
    def _going(self) -> bool:
        """Whether calls may still be issued."""
        return self._why == _COMPLETED and not self._over.is_set()

    # The hand on the run.

    def pause(self) -> None:
        if not self._engine.paused and self._going:
            self._engine.paused = True
            self.note("rate", None, "paused", "change")

    def resume(self) -> None:
        if self._engine.paused and self._going:
            self._engine.paused = False
            self.note("rate", None, "resumed", "change")
            self._engine.refill()

    def stop(self) -> None:
        self._close("interrupted")

    def abort(self) -> None:
        if self._over.is_set():
            return
        self._why = "interrupted"
        if self._began_ns:
            self._engine.cancel()

    def scale(self, factor: float) -> None:
        before = self._engine.concurrency
        after = round(before * factor)
        if factor > 1:
            after = max(after, before + 1)  # a small number changes by at least one
        elif factor < 1:
            after = max(1, min(after, before - 1))
        if after != before and self._going:
            self._engine.concurrency = after
            self.note("rate", None, f"concurrency {before} -> {after}", "change")
            self._engine.refill()

    def next_policy(self, step: int) -> None:
        if self._over.is_set():
            return
        names = list(POLICIES)
        self._policy = names[(names.index(self._policy) + step) % len(names)]
        self._balancer.switch(POLICIES[self._policy])
        self.note("policy", None, f"policy -> {self._policy}", "change")

    def drain(self, key: str, address: str) -> None:
        if not self._over.is_set():
            self.backends.drain(key, address)

    def log(self, text: str) -> None:
        self.note("log", None, text, "info")

    # The report.

    def report(self) -> Report:
        """Everything measured so far; cheap enough for every frame."""
        task, engine, tally = self._task, self._engine, self._tally
        return Report(
            service=task.service,
            method=task.method,
            policy=self._policy,
            policy_options=task.policy_options,
            seed=task.seed,
            load=_load(task.plan),
            started_at=self._started_at,
            elapsed_s=self.elapsed_s(),
            end_reason=self._end_reason,
            paused=engine.paused,
            stopping=engine.closed and self._began_ns > 0 and self._end_reason is None,
            concurrency=engine.concurrency,
            issued=engine.issued,
            completed=engine.completed,
            ok=tally.ok,
            errors=tally.errors,
            cancelled=tally.cancelled,
            dropped=0,
            attempts=sum(lane.peer.picks for lane in self.backends.lanes.values()) - engine.given_back,
            retries=engine.retries,
            in_flight=engine.in_flight,
            codes=tally.codes,
            error_groups=tally.error_groups(),
            latency=tally.latency,
            service_time=tally.service_time,
            wait=tally.wait,
            balance=self._judged(),
            backends=tuple(self._rows()),
            events=self._events,
            generator=self._pulse.generator(_ENGINE, tally.latency),
        )

    def _judged(self) -> Balance:
        now = self._clock.now_ns()
        if self._balance is None or now - self._balance_ns > _BALANCE_AGE_NS or self._end_reason is not None:
            self._balance = judge(self._balancer.evidence())
            self._balance_ns = now
        return self._balance

    def _rows(self) -> Sequence[BackendRow]:
        expectations = self._balancer.expectations()
        return [_row(lane, expectations.get(lane.peer, 0.0)) for lane in self.backends.lanes.values()]


def _row(lane: Lane, expected: float) -> BackendRow:
    peer, row = lane.peer, lane.row
    return BackendRow(
        key=row.key,
        address=row.address,
        weight=peer.weight,
        state=lane.state,
        reason=lane.subchannel.reason,
        picks=peer.picks,
        expected=expected,
        ok=row.ok,
        errors=row.errors,
        cancelled=row.cancelled,
        in_flight=peer.in_flight,
        codes=row.codes,
        latency=row.latency,
        joined_s=lane.joined_s,
        left_s=lane.left_s,
    )


def _load(plan: Plan) -> Load:
    return Load(
        mode="closed",
        requests=plan.requests,
        duration_s=plan.duration_s,
        concurrency=plan.concurrency,
        connections=1,
        rps=None,
        timeout_s=plan.timeout_s,
    )
