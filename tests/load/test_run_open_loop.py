"""Whole runs at a rate: their ends, the hand on them, and what their report says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lbctl.load.pacing.schedule import steady
from lbctl.load.plan import Plan
from tests.load.rig import instance, paced
from tests.load.stage import Stage, staged, task
from tests.load.test_run_servers import Scenario, on_loop, running
from tests.scripted import ScriptedServer, answering
from tests.wire.frames import reply

__all__ = ["on_loop"]  # a fixture


async def rung(stage: Stage, seconds: float) -> None:
    """Time passes, and the alarm rings as often as it is set."""
    stage.clock.advance(seconds)
    while stage.alarm.ring():
        pass
    await stage.do(lambda: None)


async def test_a_run_of_so_many_calls_ends_with_the_last_reply() -> None:
    async with staged(task(paced(100, 5))) as stage:
        await stage.drive(1)
        for _ in range(5):
            await rung(stage, 0.009)  # and a millisecond more
        assert (stage.report().issued, stage.report().end_reason) == (5, None)
        await stage.do(lambda: stage.end(1).answer(5))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.dropped) == ("completed", 5, 0)
        assert not stage.alarm.is_open


async def test_the_report_of_an_open_loop_says_so() -> None:
    async with staged(task(paced(100, 50, most=7, concurrency=9))) as stage:
        await stage.drive(1)
        await rung(stage, 0.3)
        report = stage.report()
        assert (report.load.mode, report.load.rps, report.rps, report.load.concurrency) == ("open", 100, 100, 9)
        assert (report.issued, report.dropped, report.backends[0].dropped) == (7, 24, 2)  # the rest was too much in all
        assert report.starts is not None
        assert (report.starts.late, report.starts.delays.total) == (29, 31)
        warnings = report.generator.warnings
        assert [text.partition(" ")[0] for text in warnings[:2]] == ["24", "94%"]  # the machine may add some


async def test_a_timed_run_ends_when_its_time_is_over_and_its_calls_are_done() -> None:
    async with staged(task(paced(20, duration_s=0.2))) as stage:
        await stage.drive(1)
        await rung(stage, 0.15)
        await stage.do(lambda: stage.end(1).answer(4))
        assert stage.report().end_reason is None  # nothing is in flight, and the time is not over
        stage.clock.advance(0.05)
        report = await stage.over()
        assert (report.end_reason, report.issued, report.ok) == ("duration", 4, 4)


async def test_what_is_due_when_the_time_is_over_is_still_sent() -> None:
    async with staged(task(paced(100, duration_s=0.2))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.2)  # we did not come round in time
        await stage.until(lambda: stage.report().issued == 20)
        await stage.do(lambda: stage.end(1).answer(20))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.dropped) == ("duration", 20, 0)
        assert report.latency.max_us >= 200_000


async def test_calls_that_outlive_the_time_by_more_than_the_grace_are_cancelled() -> None:
    async with staged(task(paced(20, duration_s=0.2), grace_s=0.05)) as stage:
        await stage.drive(1)
        await rung(stage, 0.199)
        report = await stage.over()
        assert (report.end_reason, report.issued, report.cancelled, report.dropped) == ("duration", 4, 4, 0)


async def test_a_stopped_run_sends_nothing_more() -> None:
    async with staged(task(paced(100, 1000))) as stage:
        await stage.drive(1)
        await rung(stage, 0.1)
        issued = stage.report().issued
        await stage.do(stage.run.stop)
        await rung(stage, 1.0)
        assert stage.report().issued == issued
        await stage.do(lambda: stage.end(1).answer(issued))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.dropped) == ("interrupted", issued, 0)


async def test_an_aborted_run_ends_at_once() -> None:
    async with staged(task(paced(100, 1000))) as stage:
        await stage.drive(1)
        await rung(stage, 0.1)
        await stage.do(stage.run.abort)
        report = await stage.over()
        assert (report.ok, report.cancelled) == (0, report.issued)


async def test_the_hand_changes_the_rate_and_pauses_leave_no_trace_in_it() -> None:
    async with staged(task(paced(100, 1000))) as stage:
        await stage.drive(1)
        hand = stage.run.hand
        await stage.do(lambda: hand.scale(2.0))
        await stage.do(hand.pause)
        issued = stage.report().issued
        await rung(stage, 60.0)
        assert stage.report().issued == issued
        await stage.do(hand.resume)
        await rung(stage, 0.099)
        report = stage.report()
        assert (report.rps, report.load.rps) == (200, 100)
        assert 19 <= report.issued - issued <= 21
        assert stage.texts()[-3:] == ["rate 100/s -> 200/s", "paused", "resumed"]


async def test_a_hand_that_is_quicker_than_the_run_does_not_end_it() -> None:
    async with staged(task(paced(100, 20))) as stage:
        await stage.apply(instance(1))
        hand = stage.run.hand
        hand.pause()
        stage.clock.advance(1.0)
        hand.resume()
        hand.scale(2.0)
        await stage.drive(1)
        await rung(stage, 0.0475)
        assert stage.report().issued == 10
        await rung(stage, 0.1)
        await stage.do(lambda: stage.end(1).answer(20))
        report = await stage.over()
        assert (report.end_reason, report.ok) == ("completed", 20)


def test_on_a_real_network_every_planned_call_is_made(on_loop: Callable[[Scenario], None]) -> None:
    async def scenario() -> None:
        async with ScriptedServer(answering(reply)) as one, ScriptedServer(answering(reply)) as two:
            async with running(Plan(0, 150, None, 5.0, steady(1000.0)), one.endpoint, two.endpoint) as run:
                await run.drive()
                report = run.report()
            assert (report.ok, report.errors, report.dropped, report.end_reason) == (150, 0, 0, "completed")
            assert [len(server.connections[0].requests) for server in (one, two)] == [75, 75]
            assert report.elapsed_s >= 0.149

    on_loop(scenario)


def test_on_a_real_network_a_timed_run_makes_exactly_the_calls_of_its_time(
    on_loop: Callable[[Scenario], None],
) -> None:
    async def scenario() -> None:
        async with ScriptedServer(answering(reply)) as server:
            async with running(Plan(0, None, 0.2, 5.0, steady(500.0)), server.endpoint) as run:
                await run.drive()
                report = run.report()
            assert (report.ok, report.errors, report.end_reason) == (100, 0, "duration")
            assert report.elapsed_s >= 0.2
            await asyncio.sleep(0)

    on_loop(scenario)
