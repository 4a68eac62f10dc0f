"""A whole run on a network and a clock of the test's own, and what every report of it must fulfil."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lbctl.balance.policies.table import POLICIES
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Instance
from lbctl.stats.report import Report
from tests.fakes import FakeAlarm, FakeClock, MemoryHost, MemoryNetwork, ServerEnd, turns, until
from tests.load.rig import instance, request

BOUND_S = 3.0  # nothing here may hang


def task(load: Plan, policy: str = "round_robin", *, seed: int = 7, grace_s: float = 5.0) -> Task:
    wanted = request(load.timeout_s)
    return Task("echo", "pkg.Svc/Method", POLICIES[policy], seed, load, lambda _: wanted, grace_s=grace_s)


class Stage:
    """A run that can be driven, watched and interrupted; the hosts answer when they are told to."""

    def __init__(self, wanted: Task) -> None:
        self.clock = FakeClock()
        self.network = MemoryNetwork()
        self.alarm = FakeAlarm(self.clock)
        self.run = Run(wanted, self.clock, self.network.as_network(), self.alarm.made)
        self.driving: asyncio.Task[None] | None = None

    def host(self, number: int) -> MemoryHost:
        return self.network.host(number)

    def end(self, number: int) -> ServerEnd:
        return self.host(number).end

    async def apply(self, *instances: Instance) -> None:
        for each in instances:
            self.network.host(each.endpoint.port)
        self.run.apply(instances)
        await turns()
        self.report()

    async def drive(self, *numbers: int) -> None:
        """Connect to these backends and begin."""
        await self.apply(*(instance(number) for number in numbers))
        await self.run.backends.settled()
        self.driving = asyncio.create_task(self.run.drive())
        await turns()

    async def do(self, act: Callable[[], object]) -> Report:
        """Act, let a millisecond and what follows happen, and look at the report."""
        self.clock.advance(0.001)
        act()
        self.report()
        await turns()
        return self.report()

    async def until(self, what: Callable[[], object]) -> Report:
        """Wait for something that a timer will bring."""
        await until(what, BOUND_S)
        return self.report()

    async def over(self) -> Report:
        """The report of the end, which must come by itself now."""
        assert self.driving is not None
        await asyncio.wait_for(self.driving, BOUND_S)
        report = self.report()
        assert report.issued == report.completed
        assert report.in_flight == 0
        return report

    def report(self) -> Report:
        report = self.run.report()
        consistent(report)
        return report

    def texts(self) -> list[str]:
        return [event.text for event in self.report().events]


@asynccontextmanager
async def staged(wanted: Task) -> AsyncIterator[Stage]:
    stage = Stage(wanted)
    try:
        yield stage
    finally:
        if stage.driving is not None and not stage.driving.done():
            stage.driving.cancel()
            await asyncio.wait([stage.driving])
        await stage.run.aclose()


def consistent(report: Report) -> None:
    """The books of one report agree; true at any moment of any run."""
    rows = report.backends
    assert report.issued == report.completed + report.in_flight
    assert report.completed == report.ok + report.errors + report.cancelled
    assert report.ok == report.latency.total == report.service_time.total == sum(row.ok for row in rows)
    assert sum(report.codes.values()) == report.ok + report.errors
    assert report.errors == sum(group.count for group in report.error_groups)
    assert sum(row.errors for row in rows) <= report.errors
    assert sum(row.cancelled for row in rows) <= report.cancelled
    assert 0 <= sum(row.in_flight for row in rows) <= report.in_flight
    for row in rows:
        assert row.latency.total == row.ok
        assert sum(row.codes.values()) == row.ok + row.errors
        assert row.in_flight >= 0
        assert row.left_s is None or row.left_s >= row.joined_s
    assert report.first_byte.total_us <= report.service_time.total_us
    if report.end_reason is not None:
        assert report.first_byte.total == sum(report.first_byte.counts) == report.service_time.total
    assert report.dropped >= sum(row.dropped for row in rows)
    assert report.retries == sum(report.retried.values())
    assert all(0 <= wait.share <= 1 for wait in report.waits.values())
    assert report.service_time.total_us <= report.latency.total_us
    assert report.wait.total <= report.attempts == sum(row.attempts for row in rows)
    assert all(0 <= row.given_back <= row.picks for row in rows)
    assert abs(sum(row.expected for row in rows) - sum(row.picks for row in rows)) < 1e-6 * max(1, report.issued)
    assert len({(row.key, row.address) for row in rows}) == len(rows)
    times = [event.t_s for event in report.events]
    assert times == sorted(times)
    assert report.end_reason is None or report.in_flight == 0
