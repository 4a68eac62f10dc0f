"""The time of a run: it stands still while the run is paused, and ends a run that nobody can serve any more."""

from __future__ import annotations

from lbctl.model import Code
from tests.fakes import turns
from tests.load.rig import instance, plan
from tests.load.stage import Stage, staged, task


async def looked(stage: Stage) -> None:
    """The run has looked for backends once more, and did not give up."""
    before = stage.run._timers["backends"]
    await stage.until(lambda: stage.run._timers["backends"] is not before)
    assert not stage.report().stopping


async def test_a_counted_run_that_nobody_can_serve_any_more_is_given_up() -> None:
    async with staged(task(plan(concurrency=2, requests=10))) as stage:
        await stage.drive(1)
        await stage.apply()
        await stage.do(lambda: stage.end(1).answer(2))
        stage.clock.advance(29.0)
        assert (await stage.do(lambda: None)).end_reason is None
        stage.clock.advance(1.0)
        report = await stage.over()
        assert (report.end_reason, report.issued, report.ok, report.errors) == ("error", 4, 2, 2)
        assert dict(report.codes) == {Code.OK: 2, Code.UNAVAILABLE: 2}
        assert stage.texts()[-1] == "no backend was ready for 30s: the run is given up"


async def test_a_counted_run_goes_on_with_a_backend_that_comes_in_time() -> None:
    async with staged(task(plan(concurrency=2, requests=4, timeout_s=0.0))) as stage:
        await stage.drive(1)
        await stage.apply()
        await stage.do(lambda: stage.end(1).answer(2))
        stage.clock.advance(29.0)
        await stage.apply(instance(2))
        await stage.until(lambda: stage.host(2).open)
        stage.clock.advance(29.0)
        await looked(stage)
        await stage.do(lambda: stage.end(2).answer(2))
        report = await stage.over()
        assert (report.end_reason, report.ok) == ("completed", 4)


async def test_an_outage_that_outlived_its_calls_is_forgotten_when_a_backend_is_back() -> None:
    async with staged(task(plan(concurrency=2, requests=6, timeout_s=1.0))) as stage:
        await stage.drive(1)
        await stage.apply()
        await stage.do(lambda: stage.end(1).answer(2))
        stage.run.hand.pause()
        stage.clock.advance(1.0)
        await stage.until(lambda: not stage.report().in_flight)  # both waited for a backend until their deadline
        await stage.apply(instance(2))
        await stage.until(lambda: stage.host(2).open)
        stage.clock.advance(60.0)
        await looked(stage)
        await stage.do(stage.run.hand.resume)
        await stage.do(lambda: stage.end(2).answer(2))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.errors) == ("completed", 4, 2)


async def test_the_time_of_a_run_stands_still_while_it_is_paused() -> None:
    async with staged(task(plan(concurrency=1, requests=2))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.25)
        stage.run.hand.pause()
        stage.clock.advance(60.0)
        assert stage.report().elapsed_s == 0.25
        stage.run.hand.resume()
        stage.clock.advance(0.5)
        assert stage.report().elapsed_s == 0.75
        stage.end(1).answer(1)
        await turns()
        stage.end(1).answer(1)
        assert (await stage.over()).elapsed_s == 0.75


async def test_a_timed_run_gets_its_time_although_it_was_paused() -> None:
    async with staged(task(plan(concurrency=1, duration_s=0.05))) as stage:
        await stage.drive(1)
        first = stage.run._timers["duration"]
        stage.run.hand.pause()
        await stage.do(lambda: stage.end(1).answer(1))
        stage.clock.advance(10.0)
        # The timer fires, and finds all of the run's time left.
        await stage.until(lambda: stage.run._timers["duration"] is not first)
        assert not stage.report().stopping
        stage.run.hand.resume()
        await stage.until(lambda: stage.report().in_flight)
        stage.clock.advance(0.1)
        await stage.until(lambda: stage.report().stopping)
        stage.end(1).answer(1)
        report = await stage.over()
        assert (report.end_reason, report.ok) == ("duration", 2)
