"""A run that somebody has begin anew: from its start, counted from 0, with the load as it is by then."""

from __future__ import annotations

from lbctl.stats.report import Recounted
from tests.load.rig import paced, plan
from tests.load.stage import staged, task
from tests.load.test_run_open_loop import rung
from tests.load.test_warmup import warmed


async def test_what_was_counted_is_in_no_figure_and_the_plan_begins_from_its_start() -> None:
    async with staged(task(plan(concurrency=2, requests=4))) as stage:
        await stage.drive(1, 2)
        await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        stage.run.hand.recount()
        stage.run.hand.recount()  # while it waits
        assert stage.report().issued == 4  # counts stay until nothing is in flight
        await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        await stage.until(lambda: stage.report().recounted is not None)
        report = stage.report()
        assert report.recounted == Recounted(1, 4, 0, report.recounted.seconds)  # type: ignore[union-attr]
        assert (report.issued, report.completed, report.latency.total, report.elapsed_s) == (2, 0, 0, 0)
        assert sum(row.picks for row in report.backends) == 2
        assert stage.texts()[-1] == "begun anew: 4 calls before that do not count"
        assert report.events[-1].t_s == 0
        for _ in range(2):
            await stage.do(lambda: [stage.end(number).answer(1) for number in (1, 2)])
        report = await stage.over()
        assert (report.ok, report.issued, report.end_reason) == (4, 4, "completed")
        assert report.balance.verdict != "skewed"


async def test_the_load_stays_what_it_was_made_and_so_does_a_pause() -> None:
    async with staged(task(plan(concurrency=2, requests=9))) as stage:
        await stage.drive(1, 2)
        stage.run.hand.scale(2.0)
        stage.run.hand.pause()
        stage.run.hand.recount()
        await stage.do(lambda: [stage.end(number).answer(2) for number in (1, 2)])
        await stage.until(lambda: stage.report().recounted is not None)
        report = stage.report()
        assert (report.paused, report.concurrency, report.issued) == (True, 4, 0)
        stage.clock.advance(1.0)
        assert stage.report().elapsed_s == 0  # a pause is in no rate
        await stage.do(stage.run.hand.resume)
        assert stage.report().issued == 4
        stage.run.stop()
        await stage.do(lambda: [stage.end(number).answer(2) for number in (1, 2)])
        assert (await stage.over()).ok == 4


async def test_an_open_loop_keeps_the_rate_that_it_was_given_by_hand() -> None:
    async with staged(task(paced(1000, 3))) as stage:
        await stage.drive(1)
        stage.run.hand.scale(2.0)
        stage.run.hand.recount()
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.until(lambda: stage.report().recounted is not None)
        assert stage.report().rps == 2000
        await rung(stage, 0.001)
        await stage.do(lambda: stage.end(1).answer(3))
        report = await stage.over()
        assert (report.ok, report.dropped) == (3, 0)


async def test_a_timed_run_has_all_of_its_time_again() -> None:
    async with staged(task(plan(concurrency=1, duration_s=0.02))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.015)
        stage.run.hand.recount()
        stage.clock.advance(0.015)  # the first time is over while it waits
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.until(lambda: stage.report().recounted is not None)
        assert (stage.report().elapsed_s, stage.report().stopping) == (0, False)
        stage.clock.advance(0.02)
        await stage.until(lambda: stage.report().stopping)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.end_reason) == (1, "duration")


async def test_calls_that_outlast_the_grace_time_are_cancelled_and_are_of_the_time_before() -> None:
    async with staged(task(plan(concurrency=1, requests=1), grace_s=0.01)) as stage:
        await stage.drive(1)
        stage.run.hand.recount()
        await stage.until(lambda: stage.report().recounted is not None)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.cancelled, report.end_reason) == (1, 0, "completed")
        assert not report.generator.warnings


async def test_a_run_that_is_stopped_before_it_has_begun_anew_keeps_its_figures() -> None:
    async with staged(task(plan(concurrency=1, requests=9))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1))
        stage.run.hand.recount()
        stage.run.stop()
        stage.run.hand.recount()
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.recounted, report.end_reason) == (2, None, "interrupted")


async def test_a_warm_up_is_not_begun_anew() -> None:
    async with staged(task(warmed(plan(concurrency=1, requests=1), requests=2))) as stage:
        await stage.drive(1)
        stage.run.hand.recount()
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.until(lambda: not stage.report().warming)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.recounted) == (1, None)
