"""Whole runs over real servers, picked by gRPC; what lbctl says must be what the servers counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import pytest

from lbctl.balance.policies.table import ALL_POLICIES
from lbctl.clock import SystemClock
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Instance
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.stats.report import BackendRow, Report
from tests.fakes import until
from tests.rpc.grpcio.backends import PATIENCE_S, Backend, asking

RUN_S = 20.0
VERDICTS = {
    "grpc:round_robin": "balanced",
    "grpc:pick_first": "balanced",
    "grpc:weighted_round_robin": "not_applicable",
    "grpc:ring_hash": "not_applicable",
}
every_policy = pytest.mark.parametrize("policy", list(VERDICTS))


def instance(backend: Backend, weight: int = 1) -> Instance:
    return Instance(f"/services/count/{backend.endpoint}", "count", "seed", backend.endpoint, weight=weight)


def task(
    policy: str,
    *,
    requests: int | None = 600,
    concurrency: int = 20,
    method: str = "Say",
    engine: str = "grpcio",
    timeout_s: float = 5.0,
    secure: Secure | None = None,
    connect_timeout_s: float = 2.0,
) -> Task:
    """A closed loop on the test service."""
    request = asking(method, timeout_ns=int(timeout_s * 1e9))
    return Task(
        service="count",
        method=f"test.Count/{method}",
        policy=ALL_POLICIES[policy],
        seed=7,
        plan=Plan(concurrency, requests, None if requests else 60.0, timeout_s),
        request_for=lambda _: request,
        secure_for=lambda _: secure,
        connection=ConnectionOptions(connect_timeout_s=connect_timeout_s),
        engine=engine,
    )


class Drive:
    """A run in the background."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.driving: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self.driving = asyncio.create_task(self.run.drive())

    @property
    def completed(self) -> int:
        return self.run.report().completed

    async def goes_on(self, count: int = 200) -> None:
        """Wait for so many more calls."""
        wanted = self.completed + count
        await until(lambda: self.completed >= wanted, PATIENCE_S)

    async def all_waiting(self, servers: Sequence[Backend]) -> list[int]:
        """Wait until every call that may be under way is at a server, held there; returns how many at each."""
        concurrency = self.run.report().concurrency
        await until(lambda: sum(backend.calls["Wait"] for backend in servers) == concurrency, PATIENCE_S)
        return [backend.calls["Wait"] for backend in servers]

    async def told(self, word: str) -> None:
        """Wait for an event."""
        await until(lambda: any(word in event.text for event in self.run.report().events), PATIENCE_S)

    async def end(self) -> Report:
        """Let the calls end, if nobody did, and return the report."""
        assert self.driving is not None
        await asyncio.wait_for(self.driving, RUN_S)
        return self.run.report()

    async def stop(self) -> Report:
        self.run.stop()
        return await self.end()


@asynccontextmanager
async def running(wanted: Task, instances: Iterable[Instance]) -> AsyncIterator[Drive]:
    """A run that is connected and issues its calls."""
    run = Run(wanted, SystemClock())
    drive = Drive(run)
    try:
        run.apply(instances)
        await asyncio.wait_for(run.backends.settled(), PATIENCE_S)
        drive.begin()
        yield drive
    finally:
        if drive.driving is not None:
            drive.driving.cancel()
            await asyncio.wait([drive.driving])
        await asyncio.wait_for(run.aclose(), PATIENCE_S)


async def run_to_its_end(wanted: Task, backends: Iterable[Backend]) -> Report:
    async with running(wanted, [instance(backend) for backend in backends]) as drive:
        return await drive.end()


def open_all(servers: Iterable[Backend]) -> None:
    """Let the calls end that are held, and all after them."""
    for backend in servers:
        backend.gate.set()


def row(report: Report, backend: Backend) -> BackendRow:
    return next(row for row in report.backends if row.address == str(backend.endpoint))


def consistent(report: Report, backends: Iterable[Backend], *, method: str = "Say") -> None:
    """Every pick is one request that a server saw, and nothing is left open."""
    for backend in backends:
        assert row(report, backend).picks == backend.calls[method]
        assert row(report, backend).in_flight == 0
    assert report.issued == report.completed == report.ok + report.errors + report.cancelled
    assert report.attempts == report.issued + report.retries
