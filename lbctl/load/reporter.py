"""Everything a run has measured, put into a Report whenever somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.clock import Clock
from lbctl.load.backends import Backends
from lbctl.load.engine import Engine
from lbctl.load.lane import Lane
from lbctl.load.plan import Task
from lbctl.load.pulse import Pulse
from lbctl.model import Event
from lbctl.stats.fairness import judge
from lbctl.stats.report import BackendRow, Balance, Load, Report
from lbctl.stats.tally import Tally

_BALANCE_AGE_NS: Final = 200_000_000  # a verdict is looked at, not measured with: 5 a second are enough


@dataclass(slots=True)
class Reporter:
    """Reads the parts of a run, changes none of them, and remembers only its last verdict."""

    task: Task
    clock: Clock
    engine: Engine
    balancer: Balancer
    backends: Backends
    tally: Tally
    pulse: Pulse
    events: Sequence[Event]
    _balance: Balance | None = field(default=None, init=False)
    _balance_ns: int = field(default=0, init=False)

    def report(self, *, started_at: datetime, elapsed_s: float, stopping: bool, end_reason: str | None) -> Report:
        """Everything measured so far; cheap enough for every frame."""
        task, engine, tally = self.task, self.engine, self.tally
        return Report(
            service=task.service,
            method=task.method,
            policy=self.balancer.policy.name,
            policy_options=task.policy_options,
            seed=task.seed,
            load=_load(task),
            started_at=started_at,
            elapsed_s=elapsed_s,
            end_reason=end_reason,
            paused=engine.paused,
            stopping=stopping,
            concurrency=engine.concurrency,
            issued=engine.issued,
            completed=engine.completed,
            ok=tally.ok,
            errors=tally.errors,
            cancelled=tally.cancelled,
            dropped=0,  # a closed loop drops nothing
            attempts=sum(lane.peer.picks for lane in self.backends.lanes.values()) - engine.given_back,
            retries=engine.retries,
            in_flight=engine.in_flight,
            codes=tally.codes,
            error_groups=tally.error_groups(),
            latency=tally.latency,
            service_time=tally.service_time,
            wait=tally.wait,
            balance=self._judged(fresh=end_reason is not None),
            backends=tuple(self._rows()),
            events=self.events,
            generator=self.pulse.generator(task.engine, tally.latency),
        )

    def _judged(self, *, fresh: bool) -> Balance:
        now = self.clock.now_ns()
        if fresh or self._balance is None or now - self._balance_ns > _BALANCE_AGE_NS:
            self._balance = judge(self.balancer.evidence())
            self._balance_ns = now
        return self._balance

    def _rows(self) -> Sequence[BackendRow]:
        expectations = self.balancer.expectations()
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


def _load(task: Task) -> Load:
    plan = task.plan
    return Load(
        mode="closed" if plan.rps is None else "open",
        requests=plan.requests,
        duration_s=plan.duration_s,
        concurrency=plan.concurrency,
        connections=task.connection.connections,
        rps=plan.rps,
        timeout_s=plan.timeout_s,
    )
