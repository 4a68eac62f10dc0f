"""The warm-up: issued as the run is, counted by nothing, and over before the first call that counts."""

from __future__ import annotations

from dataclasses import replace

from lbctl.load.pacing.schedule import Warmup
from lbctl.load.plan import Plan
from lbctl.model import Code
from lbctl.stats.report import Warmed
from tests.load.rig import instance, paced, plan
from tests.load.stage import Stage, staged, task
from tests.load.test_run_open_loop import rung
from tests.wire import frames as h2


def warmed(load: Plan, **how: float | int) -> Plan:
    return replace(load, warmup=Warmup(**how))  # type: ignore[arg-type]  # its own fields


async def measuring(stage: Stage) -> None:
    await stage.until(lambda: not stage.run.report().warming)


async def test_calls_of_the_warm_up_are_in_no_figure() -> None:
    async with staged(task(warmed(plan(concurrency=2, requests=3), requests=4))) as stage:
        await stage.drive(1, 2)
        assert (stage.report().warming, stage.report().issued) == (True, 2)
        for number in (1, 2, 1, 2):
            await stage.do(lambda number=number: stage.end(number).answer(1))  # type: ignore[misc]  # bound now
        await measuring(stage)
        report = stage.report()
        assert (report.issued, report.completed, report.latency.total, report.wait.total) == (2, 0, 0, 2)
        assert report.warmed == Warmed(4, 0, 0.004)
        assert sum(row.picks for row in report.backends) == 2
        for _ in range(3):
            await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        report = await stage.over()
        assert (report.ok, report.issued, report.end_reason) == (3, 3, "completed")
        assert sum(row.ok for row in report.backends) == 3
        assert sum(stage.end(number).heads for number in (1, 2)) == 7


async def test_a_warm_up_of_some_time_waits_for_its_calls_and_the_time_counts_from_then() -> None:
    async with staged(task(warmed(plan(concurrency=2, duration_s=0.02), duration_s=0.01))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.01)
        await stage.until(lambda: stage.run._loop.closed or stage.run._loop.paused or "grace" in stage.run._timers)
        assert stage.report().warming
        await stage.do(lambda: stage.end(1).answer(2))
        await measuring(stage)
        assert (stage.report().elapsed_s, stage.report().issued) == (0, 2)
        stage.clock.advance(0.02)
        await stage.until(lambda: stage.run.report().stopping)
        await stage.do(lambda: stage.end(1).answer(2))
        report = await stage.over()
        assert (report.ok, report.end_reason) == (2, "duration")
        assert abs(report.elapsed_s - 0.021) < 1e-9
        assert report.warmed == Warmed(2, 0, 0.011)


async def test_errors_of_the_warm_up_are_told_and_not_counted() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=1), requests=2))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1, lambda stream: h2.trailers_only(stream, 13)))
        await stage.do(lambda: stage.end(1).answer(1))
        await measuring(stage)
        assert stage.texts()[-1] == "warm-up of 2 calls in 2.0ms, 1 error: counting begins"
        assert stage.report().events[-1].t_s == 0
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.errors, report.error_groups, dict(report.codes)) == (0, (), {Code.OK: 1})


async def test_what_the_warm_up_had_in_flight_too_long_is_cancelled_and_the_run_goes_on() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=1), duration_s=0.001), grace_s=0.01)) as stage:
        await stage.drive(1)
        stage.clock.advance(0.001)
        await measuring(stage)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.cancelled, report.end_reason) == (1, 0, "completed")
        assert stage.end(1).heads == 2


async def test_a_run_that_is_stopped_in_its_warm_up_has_measured_nothing() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=9), requests=5))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1))
        stage.run.stop()
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.end_reason, report.issued, report.latency.total) == ("interrupted", 0, 0)
        assert report.warmed == Warmed(2, 0, 0.002)


async def test_a_run_that_is_aborted_in_its_warm_up_ends_at_once() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=9), requests=5))) as stage:
        await stage.drive(1)
        stage.run.abort()
        report = await stage.over()
        assert (report.end_reason, report.issued, report.cancelled) == ("interrupted", 0, 0)


async def test_an_open_loop_begins_its_schedule_anew() -> None:
    async with staged(task(warmed(paced(1000, 3), requests=4))) as stage:
        await stage.drive(1)
        await rung(stage, 0.003)
        await stage.do(lambda: stage.end(1).answer(4))
        await measuring(stage)
        assert (stage.report().issued, stage.report().starts.delays.total) == (1, 1)  # type: ignore[union-attr]
        await rung(stage, 0.002)
        await stage.do(lambda: stage.end(1).answer(3))
        report = await stage.over()
        assert (report.ok, report.dropped, report.latency.max_us) == (
            3,
            0,
            4000,
        )


async def test_a_backend_that_left_during_the_warm_up_is_no_part_of_the_run() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=1), requests=2))) as stage:
        await stage.drive(1, 2)
        await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        await stage.apply(instance(1))
        await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        await measuring(stage)
        assert [row.address for row in stage.report().backends] == [str(instance(1).endpoint)]
        await stage.do(lambda: stage.end(1).answer(1))
        assert (await stage.over()).ok == 1
