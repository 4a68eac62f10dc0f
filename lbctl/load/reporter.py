"""Everything a run has measured, put into a Report whenever somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.envelope import Band
from lbctl.clock import Clock
from lbctl.load.accounts import Accounts
from lbctl.load.attempts import Attempts
from lbctl.load.backends import Backends
from lbctl.load.engine import Engine
from lbctl.load.engines import remarks
from lbctl.load.guarding import Guarding
from lbctl.load.lane import Lane
from lbctl.load.loops import Loop
from lbctl.load.machine import descriptors, on_descriptors
from lbctl.load.plan import Task
from lbctl.load.pulse import Pulse
from lbctl.load.repeating import repeated_of, retried_of
from lbctl.load.replay import Bands, replayed
from lbctl.load.warnings import (
    on_cancelled,
    on_concurrency,
    on_connections,
    on_drift,
    on_drops,
    on_refusals,
    on_starts,
    on_tail,
    on_waits,
)
from lbctl.load.wires import sum_of, untold, wire_of
from lbctl.model import Event
from lbctl.stats.drift import Drift, drift_of
from lbctl.stats.fairness import judge
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import (
    BackendRow,
    Balance,
    Explanation,
    Load,
    MethodRow,
    Recounted,
    Report,
    Sent,
    Streams,
    Wait,
    Warmed,
    Wire,
)
from lbctl.stats.samples import Sample, Totals
from lbctl.stats.streams import StreamTally
from lbctl.stats.tally import BackendTally, MethodTally, Tally

_BALANCE_AGE_NS: Final = 200_000_000  # a verdict is looked at, not measured with: 5 a second are enough
_WIRE_AGE_NS: Final = 1_000_000_000  # adding up the connections of a hundred backends takes a millisecond
_UNTOLD: Final = Wire()


@dataclass(slots=True)
class Reporter:
    """Reads the parts of a run, changes none of them, and remembers only what is not to be added up for every frame."""

    task: Task
    clock: Clock
    engine: Engine
    loop: Loop
    accounts: Accounts
    balancer: Balancer
    backends: Backends
    pulse: Pulse
    events: Sequence[Event]
    attempts: Attempts | None = None
    guarding: Guarding | None = None
    _balance: Balance | None = field(default=None, init=False)
    _balance_ns: int = field(default=0, init=False)
    explanation: Explanation | None = field(default=None, init=False)  # written by the run
    given_up: str = field(default="", init=False)  # likewise
    warmed: Warmed | None = field(default=None, init=False)  # likewise
    recounted: Recounted | None = field(default=None, init=False)  # likewise
    sent: Sent | None = field(default=None, init=False)  # likewise
    waited_in_vain: bool = field(default=False, init=False)  # likewise: calls outlasted the grace time
    samples: Callable[[], Sequence[Sample]] = field(default=tuple, init=False)
    _final: tuple[Balance, Bands] | None = field(default=None, init=False)
    _bands: Bands = field(default_factory=dict, init=False)
    _drift: Drift | None = field(default=None, init=False)
    _both: dict[Histogram, Histogram] = field(default_factory=dict, init=False)
    _descriptors: int | None = field(default_factory=descriptors, init=False)
    _wire: Wire = field(default=_UNTOLD, init=False)
    _wires: Mapping[Lane, Wire] = field(default_factory=dict, init=False)
    _first_byte: Histogram = field(default_factory=Histogram, init=False)
    _wire_ns: int = field(default=0, init=False)
    _stopping_ns: int = field(default=0, init=False)

    def report(self, *, started_at: datetime, elapsed_s: float, stopping: bool, end_reason: str | None) -> Report:
        """Everything measured so far; cheap enough for every frame."""
        task, engine, loop, tally = self.task, self.engine, self.loop, self.accounts.tally
        over = end_reason is not None
        waits = _waits(tally)
        self._renew(fresh=over)
        wire = self._wire
        repeated = repeated_of(task.repeating, self.attempts)
        retried = retried_of(engine.retries, repeated)
        return Report(
            service=task.service,
            method=task.method,
            policy=self.balancer.policy.name,
            policy_options=self.balancer.policy.stated,
            seed=task.seed,
            load=_load(task),
            started_at=started_at,
            elapsed_s=elapsed_s,
            end_reason=end_reason,
            paused=loop.paused,
            stopping=stopping,
            concurrency=loop.concurrency,
            issued=engine.issued,
            completed=engine.completed,
            ok=tally.ok,
            errors=tally.errors,
            cancelled=tally.cancelled,
            dropped=loop.dropped,
            attempts=self.backends.attempts,
            retries=sum(retried.values()),
            in_flight=engine.in_flight,
            codes=tally.codes,
            error_groups=tally.error_groups(),
            failed_times=tally.failed_times,
            latency=self._headline(tally),
            service_time=tally.service_time,
            wait=tally.wait,
            balance=self._judged(fresh=over),
            backends=tuple(self._rows()),
            events=self.events,
            generator=self.pulse.generator(
                task.engine,
                tally.latency,
                spun_ns=loop.spun_ns,
                doubts=self._doubts(waits, wire, elapsed_s, over=over),
            ),
            rps=loop.rps,
            starts=loop.starts,
            first_byte=self._first_byte,
            streams=_streams(tally.streams) if self.backends.streaming else None,
            wire=wire,
            waits=waits,
            sent=self.sent,
            retried=retried,
            repeated=repeated,
            grace_s=self._grace_left_s() if stopping else None,
            explanation=self.explanation,
            given_up=self.given_up,
            guards=self.guarding.plan.stated if self.guarding is not None else {},
            turned_away=dict(self.guarding.turned_away) if self.guarding is not None else {},
            hash_key=None if task.keys is None else task.keys.spelled,
            described_by=task.described_by,
            samples=self.samples(),
            drift=self._drifted() if over else None,
            warmed=self.warmed,
            recounted=self.recounted,
            warming=task.plan.warmup is not None and self.warmed is None,
            methods=tuple(_method_row(each) for each in self.accounts.methods),
        )

    def forget(self) -> None:
        """Take no figure from before."""
        self._balance, self._wire_ns = None, 0
        self._final, self._bands, self._drift = None, {}, None
        self._stopping_ns = 0
        self.sent, self.waited_in_vain = None, False

    def totals(self) -> Totals:
        """The counters that samples are made of; costs next to nothing."""
        engine, tally = self.engine, self.accounts.tally
        retried = retried_of(engine.retries, repeated_of(self.task.repeating, self.attempts))
        return Totals(
            requests=engine.issued,
            ok=tally.ok,
            errors=tally.errors,
            cancelled=tally.cancelled,
            dropped=self.loop.dropped,
            retries=sum(retried.values()),
            in_flight=engine.in_flight,
        )

    def _grace_left_s(self) -> float:
        """The grace time, counted from the first report that is asked for while the run stops."""
        now = self.clock.now_ns()
        self._stopping_ns = self._stopping_ns or now
        return max(self.task.grace_s - (now - self._stopping_ns) / 1e9, 0.0)

    def _renew(self, *, fresh: bool) -> None:
        """Add up what takes long: the connections of all backends, and when replies began."""
        now = self.clock.now_ns()
        if self._wire_ns and not fresh and now - self._wire_ns <= _WIRE_AGE_NS:
            return
        self._wire_ns = now
        lanes, tally = self.backends.lanes.values(), self.accounts.tally
        self._wires = {lane: _wire(lane, self._untold) for lane in lanes}
        gauges = [transport.gauges() for lane in lanes for transport in lane.transports]
        counters = sum_of(lane.counters() for lane in lanes)
        self._wire = wire_of(
            counters, gauges, late_ok=self.accounts.late_ok, replies=self.engine.completed, untold=self._untold
        )
        self._first_byte = tally.first_byte.histogram(tally.service_time)

    def _doubts(self, waits: Mapping[str, Wait], wire: Wire, elapsed_s: float, *, over: bool) -> Iterator[str]:
        """Everything the run has to say about its figures, except what the pulse knows."""
        if over and self.task.explain and self.explanation is None:
            yield f"there is no pick {self.task.explain:,} to explain: not so many were made"
        resets = [lane.resets for lane in self.backends.lanes.values()]
        yield from on_drops(self.loop.dropped)
        if over:
            if self.waited_in_vain:
                yield from on_cancelled(self.accounts.tally.cancelled, list(self.accounts.tally), self.task.grace_s)
            yield from on_tail(self.sent, elapsed_s)
        yield from on_waits(waits, wire.stream_limit)
        yield from on_refusals(wire, self.engine.completed)
        yield from on_connections(
            wire, max((each.most for each in resets), default=0), many=any(each.are_many for each in resets)
        )
        yield from on_starts(self.loop.starts)
        backends = sum(lane.left_s is None for lane in self.backends.lanes.values())
        yield from on_descriptors(backends * self.task.connection.connections, self._descriptors)
        yield from on_drift(
            self._drifted() if over else None, self.samples(), is_open=self.task.plan.schedule is not None
        )
        if self.task.plan.schedule is None:
            backends = sum(peer.eligible for peer in self.balancer.peers.values())
            yield from on_concurrency(self.balancer.policy, self.loop.concurrency, backends)
        yield from self.balancer.doubts()
        if self.guarding is not None:
            yield from self.guarding.doubts()
        yield from remarks(self.task.policy.name, self.task.engine)

    def _headline(self, counts: Tally | BackendTally) -> Histogram:
        """The times that percentiles are of: of OK calls, unless those that failed and were answered count too."""
        if not self.task.plan.counts_errors:
            return counts.latency
        both = self._both.setdefault(counts.latency, Histogram())  # one object, since views remember what they drew
        both.clear()
        both.merge(counts.latency)
        counts.failed_times.add_answered_to(both)
        return both

    def _drifted(self) -> Drift | None:
        """What became of the latency, where the rate was meant to be one; worked out once."""
        plan = self.task.plan
        if self._drift is None and (plan.schedule is None or plan.rps is not None):
            self._drift = drift_of(self.samples())
        return self._drift

    def _judged(self, *, fresh: bool) -> Balance:
        now = self.clock.now_ns()
        if fresh or self._balance is None or now - self._balance_ns > _BALANCE_AGE_NS:
            self._balance = judge(self.balancer.evidence(over=fresh), over=fresh)
            self._balance_ns = now
            if fresh:
                self._balance, self._bands = self._replayed(self._balance)
        return self._balance

    def _replayed(self, balance: Balance) -> tuple[Balance, Bands]:
        """The verdict where the run has to be played again for one, which is done once."""
        if not self.task.replay:
            return balance, {}
        if self._final is None:
            lanes, task = list(self.backends.lanes.values()), self.task
            self._final = replayed(balance, self.balancer, lanes, self.accounts.tally, task.plan, self.loop, task.seed)
        return self._final

    def _rows(self) -> Sequence[BackendRow]:
        """One row per backend; where the run was played again, that says what was to be expected."""
        expectations = dict(self.balancer.expectations())
        due = sum(expectations[peer] for peer in self._bands) / (sum(band.middle for band in self._bands.values()) or 1)
        expectations.update((peer, due * band.middle) for peer, band in self._bands.items())
        return [
            _row(
                lane,
                expectations.get(lane.peer, 0.0),
                self._wires.get(lane, _UNTOLD),
                self._bands.get(lane.peer),
                self.guarding.counts(lane.peer) if self.guarding is not None else {},
                self._headline(lane.row),
            )
            for lane in self.backends.lanes.values()
        ]

    @property
    def _untold(self) -> frozenset[str]:
        """What of connections this run's engine cannot know."""
        return untold(self.task.engine, self.task.policy.name)


def _row(
    lane: Lane, expected: float, wire: Wire, band: Band | None, guarded: Mapping[str, int], latency: Histogram
) -> BackendRow:
    peer, row = lane.peer, lane.row
    return BackendRow(
        key=row.key,
        address=row.address,
        weight=peer.weight,
        state=lane.state,
        reason=lane.reason,
        picks=peer.picks,
        expected=expected,
        ok=row.ok,
        errors=row.errors,
        cancelled=row.cancelled,
        in_flight=peer.in_flight,
        codes=row.codes,
        latency=latency,
        failed_times=row.failed_times,
        joined_s=lane.joined_s,
        left_s=lane.left_s,
        dropped=lane.dropped,
        passed=lane.passed,
        given_back=peer.returned,
        wire=wire,
        band=None if band is None else (band.low, band.high),
        ejections=guarded.get("ejections", 0),
        trips=guarded.get("trips", 0),
        warmth=peer.warmth,
        override=None if peer.weight_used == peer.weight or lane.left_s is not None else peer.weight_used,
    )


def _method_row(row: MethodTally) -> MethodRow:
    return MethodRow(row.name, row.weight, row.ok, row.errors, row.cancelled, row.codes, row.latency)


def _wire(lane: Lane, untold: frozenset[str]) -> Wire:
    gauges = [transport.gauges() for transport in lane.transports]
    return wire_of(lane.counters(), gauges, replies=lane.row.completed + lane.row.cancelled, untold=untold)


def _waits(tally: Tally) -> Mapping[str, Wait]:
    """What calls waited for, the most costly first."""
    time_ns = tally.time_ns or 1
    causes = sorted(tally.waits.items(), key=lambda item: -item[1].ns)
    return {cause: Wait(found.calls, min(1.0, found.ns / time_ns)) for cause, found in causes}


def _streams(tally: StreamTally) -> Streams:
    sent, received = tally.spreads() or (None, None)
    return Streams(tally.sent, tally.received, sent, received, tally.gaps)


def _load(task: Task) -> Load:
    plan, schedule = task.plan, task.plan.schedule
    return Load(
        mode="closed" if schedule is None else "open",
        requests=plan.requests,
        duration_s=plan.duration_s,
        concurrency=plan.concurrency or None,
        connections=task.connection.connections,
        rps=plan.rps,
        corrected=plan.corrected,
        counts_errors=plan.counts_errors,
        timeout_s=plan.timeout_s,
        arrival=None if schedule is None else schedule.spelled,
        stages=() if schedule is None else tuple((each.seconds, each.first, each.last) for each in schedule.stages),
    )
