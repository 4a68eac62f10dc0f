"""When calls are issued: in a closed loop an end makes room for the next, an open loop has a schedule.

An open loop never looks at what became of earlier calls: each is sent when it is due. One that could not be sent in
time is sent late and keeps its planned time; none is left out, and none is planned anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from lbctl.clock import Clock
from lbctl.load.alarm import Alarm, Alarms
from lbctl.load.engine import Engine
from lbctl.load.pacing.base import NEVER_NS, Pacer
from lbctl.load.plan import Plan
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Starts

_AT_ONCE: Final = 128  # calls sent in one turn when behind: replies are read in between
_LATE_NS: Final = 1_000_000
_CALLS_A_CONNECTION: Final = 16  # in flight, from where on each of its reads fills a write by itself


class Loop(Protocol):
    """Issues calls until its limit, its end or ``close``. ``on_idle``: nothing is in flight, nothing will be.

    ``on_sent``: nothing more will be issued; it may be told so several times.
    """

    on_idle: Callable[[], None]
    on_sent: Callable[[], None]
    paused: bool
    closed: bool  # nothing may be issued: not begun yet, or over
    concurrency: int  # calls that may be in flight; 0 for no bound
    factor: float  # of the rate that was asked for, by now

    @property
    def rps(self) -> float | None:
        """The rate now, of a loop that has one."""
        ...

    @property
    def dropped(self) -> int:
        """Calls that were due and not sent, because too many were in flight."""
        ...

    @property
    def starts(self) -> Starts | None:
        """How exactly calls were started, of a loop that plans when."""
        ...

    @property
    def spun_ns(self) -> int: ...

    def begin(self) -> None:
        """Allow calls and issue the first."""
        ...

    def refill(self) -> None:
        """Calls have ended."""
        ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def scale(self, factor: float) -> str:
        """Multiply the load; returns what changed, in words."""
        ...

    def go_on_from(self, earlier: Loop) -> None:
        """Before it begins: have the load of an earlier loop of this plan, and be paused if that is."""
        ...

    def finish(self) -> None:
        """The time is over: send what is due, then nothing more."""
        ...

    def close(self) -> None:
        """Issue nothing more; what is in flight goes on."""
        ...


def loop_for(
    plan: Plan, engine: Engine, clock: Clock, alarms: Alarms, connections: int = 1, random: Random | None = None
) -> Loop:
    """The loop of that plan; ``connections`` are opened to each backend, ``random`` is for calls that come by chance.

    An engine works for the loop that was made last.
    """
    if plan.schedule is None:
        return ClosedLoop(plan, engine, connections)
    return OpenLoop(plan, plan.schedule.pacer(random or Random(0)), engine, clock, alarms)


def _nothing() -> None:
    """Nobody wants to know."""


class ClosedLoop:
    """As many calls in flight as the concurrency says: every end makes room for the next call.

    Where each of many connections has few of the calls, what they finished in one turn of the event loop is started
    together at its end, so that calls for one connection share a write: with 12 connections for 96 calls that saves a
    third of the CPU. With few connections it would only cost a turn.
    """

    rps = None
    starts = None
    dropped = 0
    spun_ns = 0
    factor = 1.0

    def __init__(self, plan: Plan, engine: Engine, connections: int) -> None:
        self.concurrency = plan.concurrency
        self._connections = connections
        self.closed = True
        self.paused = False
        self.on_idle = self.on_sent = _nothing
        self._limit = plan.requests
        self._engine = engine
        self.refills_due = False  # at the end of this turn of the event loop
        engine.refill = self.refill

    def begin(self) -> None:
        self.closed = False
        self._refill()

    def refill(self) -> None:
        crowd = self._engine.backends * self._connections * _CALLS_A_CONNECTION
        if crowd <= self.concurrency or self.concurrency == 1 or self.closed:
            self._refill()
        elif not self.refills_due:
            self.refills_due = True
            asyncio.get_running_loop().call_soon(self._refill)

    def _refill(self) -> None:
        self.refills_due = False
        engine = self._engine
        if not (self.closed or self.paused):
            count = self.concurrency - engine.issued + engine.completed
            if self._limit is not None and count > self._limit - engine.issued:
                count = self._limit - engine.issued
            if count > 0:
                engine.start(count)
                self.closed = engine.ran_out
        if self.closed or engine.issued == self._limit:
            self.on_sent()
            if engine.completed == engine.issued:
                self.on_idle()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self.refill()

    def scale(self, factor: float) -> str:
        before = self.concurrency
        after = round(before * factor)
        if factor > 1:
            after = max(after, before + 1)  # a small number changes by at least one
        elif factor < 1:
            after = max(1, min(after, before - 1))
        if after == before:
            return ""
        self.concurrency = after
        self.refill()
        return f"concurrency {before} -> {after}"

    def go_on_from(self, earlier: Loop) -> None:
        self.concurrency, self.paused = earlier.concurrency, earlier.paused

    def finish(self) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self.refill()


class OpenLoop:
    """Calls are sent when the pacer says; times of the schedule count from ``begin``, pauses left out."""

    def __init__(self, plan: Plan, pacer: Pacer, engine: Engine, clock: Clock, alarms: Alarms) -> None:
        self.concurrency = plan.concurrency
        self.closed = True
        self.paused = False
        self.dropped = 0
        self.factor = 1.0
        self.on_idle = self.on_sent = _nothing
        self._limit = plan.requests
        self._end_ns = NEVER_NS if plan.duration_s is None else round(plan.duration_s * 1e9)
        self._finishing = False
        self._most = plan.max_outstanding
        self._corrected = plan.corrected
        self._pacer = pacer
        self._engine = engine
        self._now = clock.now_ns
        self._clock = clock
        self._alarms = alarms
        self._alarm: Alarm | None = None
        self._planned = 0  # calls that came due: issued or dropped
        self._origin_ns = 0  # when call 0 was due
        self._paused_ns = 0
        self._closed_ns = 0  # when nothing more was to be issued, in the schedule's time
        self._late = 0
        self._delays = Histogram()  # planned to started
        self._spun_ns = 0
        engine.refill = self.refill

    @property
    def rps(self) -> float | None:
        return self._pacer.rate(self._at_ns())

    @property
    def starts(self) -> Starts:
        return Starts(self._late, self._delays)

    @property
    def spun_ns(self) -> int:
        return self._alarm.spun_ns if self._alarm is not None else self._spun_ns

    def begin(self) -> None:
        self.closed = False
        self._origin_ns = self._paused_ns = self._now()
        self._alarm = self._alarms(self._turn, self._clock)
        self._turn()

    def refill(self) -> None:
        """An end makes nothing due; it may have been the last."""
        over = self.closed or (self._finishing and self._next_ns() is None) or self._planned == self._limit
        if over:
            self.on_sent()
            if not self._engine.in_flight:
                self._silence()
                self.on_idle()

    def _next_ns(self) -> int | None:
        """When the next call is due, in the schedule's time; None for never."""
        if self._planned == self._limit:
            return None
        due_ns = self._pacer.due_ns(self._planned)
        return None if due_ns >= self._end_ns else due_ns

    def _turn(self, most: int = _AT_ONCE) -> None:
        """Send what is due, and wait for what is due next."""
        if self.closed or self.paused:
            return
        now = self._now()
        elapsed_ns = now - self._origin_ns
        planned: list[int] = []
        engine = self._engine
        next_ns = self._next_ns()
        while next_ns is not None and next_ns <= elapsed_ns and len(planned) < most:
            planned.append(self._origin_ns + next_ns)
            self._planned += 1
            next_ns = self._next_ns()
        if planned:
            there = engine.supplied(len(planned))
            if there < len(planned):
                self._planned -= len(planned) - there
                del planned[there:]
            self._send(planned, now)
        if engine.ran_out:
            self.close()
        elif next_ns is None:
            self.refill()
        elif self._alarm is not None:
            self._alarm.set(max(0, self._origin_ns + next_ns - self._now()))

    def _send(self, planned: list[int], now_ns: int) -> None:
        engine = self._engine
        allowed = planned[: max(0, self.concurrency - engine.in_flight)] if self.concurrency else planned
        before = engine.issued
        times = allowed if self._corrected else [now_ns] * len(allowed)
        started_ns = engine.launch(times, self._most, now_ns)
        self.dropped += len(planned) - (engine.issued - before)
        for due_ns in planned:
            delay_ns = started_ns - due_ns
            self._late += delay_ns > _LATE_NS
            self._delays.record(delay_ns // 1000)

    def pause(self) -> None:
        self._turn(1 << 62)  # what is due was due before the pause
        self.paused = True
        self._paused_ns = self._now()
        if self._alarm is not None:
            self._alarm.clear()

    def resume(self) -> None:
        self.paused = False
        self._origin_ns += self._now() - self._paused_ns
        self._turn()

    def scale(self, factor: float) -> str:
        self._turn(1 << 62)  # at the rate it was due at
        at_ns = self._at_ns()
        noun, before = self._pacer.words(at_ns)
        self._pacer = self._pacer.scaled(factor, self._planned, at_ns)
        self.factor *= factor
        self._turn()
        return f"{noun} {before} -> {self._pacer.words(at_ns)[1]}"

    def go_on_from(self, earlier: Loop) -> None:
        self.paused = earlier.paused
        if earlier.factor != 1:
            self.factor = earlier.factor
            self._pacer = self._pacer.scaled(self.factor, 0, 0)

    def _at_ns(self) -> int:
        """The schedule's time now; once it is over, that of its end."""
        if self.closed:
            return self._closed_ns
        return min((self._paused_ns if self.paused else self._now()) - self._origin_ns, self._end_ns - 1)

    def finish(self) -> None:
        self._finishing = True
        self._turn()
        self.refill()

    def close(self) -> None:
        if self._finishing and self._end_ns < NEVER_NS and not self.closed:
            due = self._pacer.count(self._planned, self._end_ns)
            self.dropped += due if self._limit is None else min(due, self._limit - self._planned)
        self._closed_ns = self._at_ns()
        self.closed = True
        self._silence()
        self.refill()

    def _silence(self) -> None:
        if self._alarm is not None:
            self._spun_ns = self._alarm.spun_ns
            self._alarm.close()
            self._alarm = None
