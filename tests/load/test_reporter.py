"""What a report of a run that goes on tells of each backend."""

from __future__ import annotations

import pytest

from tests.load.rig import plan
from tests.load.stage import staged, task


async def test_the_connections_of_each_backend_are_told_while_the_run_goes_on() -> None:
    async with staged(task(plan(concurrency=2, duration_s=60.0))) as stage:
        await stage.drive(1, 2)
        stage.clock.advance(1.5)
        report = stage.report()
        assert report.end_reason is None
        assert [(row.wire.sockets, row.wire.opened) for row in report.backends] == [(1, 1), (1, 1)]
        assert (report.wire.sockets, report.wire.opened) == (2, 2)


async def test_a_run_that_stops_tells_how_long_it_waits_for_calls_in_flight() -> None:
    async with staged(task(plan(concurrency=2, duration_s=60.0), grace_s=5.0)) as stage:
        await stage.drive(1)
        assert stage.report().grace_s is None
        stage.run.stop()
        assert stage.report().grace_s == 5.0
        stage.clock.advance(1.5)
        assert stage.report().grace_s == pytest.approx(3.5)
        stage.end(1).answer(2)
        assert (await stage.over()).grace_s is None
