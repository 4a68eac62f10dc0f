"""A run that is driven again with another plan: the same connections, and nothing counted twice."""

from __future__ import annotations

from dataclasses import replace

from lbctl.load.pacing.schedule import Warmup, steady
from lbctl.load.plan import Plan
from lbctl.model import Code
from tests.load.retries import retrying
from tests.load.rig import paced, plan
from tests.load.stage import Stage, staged, task
from tests.wire import frames as h2


async def once_more(stage: Stage, wanted: Plan) -> None:
    stage.run.again(wanted)
    assert stage.report().issued == 0
    stage.driving = None
    await stage.drive(1)


async def test_the_next_plan_uses_the_connections_there_are_and_counts_anew() -> None:
    async with staged(task(plan(concurrency=2, requests=4))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(2, lambda stream: h2.trailers_only(stream, 14)))
        await stage.do(lambda: stage.end(1).answer(2))
        first = await stage.over()
        await once_more(stage, plan(concurrency=1, requests=3))
        for _ in range(3):
            await stage.do(lambda: stage.end(1).answer(1))
        second = await stage.over()
        assert (first.ok, first.errors) == (2, 2)
        assert (second.ok, second.errors, dict(second.codes), second.load.requests) == (3, 0, {Code.OK: 3}, 3)
        assert (second.end_reason, len(second.error_groups), second.backends[0].picks) == ("completed", 0, 3)
        assert abs(second.elapsed_s - 0.003) < 1e-9
        assert (len(stage.host(1).ends), stage.end(1).heads) == (1, 7)


async def test_an_open_loop_after_another_has_its_own_rate_and_warm_up() -> None:
    async with staged(task(paced(100, 2))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.02)
        stage.alarm.ring()
        await stage.do(lambda: stage.end(1).answer(2))
        await stage.over()
        stage.run.again(replace(paced(1000, 2), warmup=Warmup(requests=1), schedule=steady(1000.0)))
        await stage.drive(1)
        assert stage.report().warming
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.until(lambda: not stage.report().warming)
        stage.clock.advance(0.001)
        stage.alarm.ring()
        await stage.do(lambda: stage.end(1).answer(2))
        report = await stage.over()
        assert (report.ok, report.load.rps, report.warmed and report.warmed.requests) == (2, 1000, 1)
        assert [event.text for event in report.events][-1] == "warm-up of 1 call in 1.0ms: counting begins"


async def test_what_was_stopped_stays_known_to_have_been() -> None:
    async with staged(task(plan(concurrency=1, requests=9))) as stage:
        await stage.drive(1)
        assert not stage.run.was_stopped
        stage.run.stop()
        await stage.do(lambda: stage.end(1).answer(1))
        assert (await stage.over()).end_reason == "interrupted"
        stage.run.stop()
        assert stage.run.was_stopped


async def test_calls_are_retried_in_the_second_run_as_in_the_first() -> None:
    wanted = replace(task(plan(concurrency=1, requests=1)), repeating=retrying(2, initial_ms=1))
    async with staged(wanted) as stage:
        for number in range(2):
            if number:
                stage.run.again(plan(concurrency=1, requests=1))
            await stage.drive(1)
            await stage.do(lambda: stage.end(1).answer(1, lambda stream: h2.trailers_only(stream, 14)))
            stage.clock.advance(1.0)
            await stage.until(lambda: stage.end(1).waiting)
            await stage.do(lambda: stage.end(1).answer(1))
            report = await stage.over()
            assert (report.ok, report.attempts, report.repeated and report.repeated.sent) == (1, 2, 1)


async def test_to_try_a_rate_once_more_is_to_draw_other_arrivals_and_a_seed_draws_them_again() -> None:
    async def first_gaps(seed: int) -> list[int]:
        load = replace(paced(100, 1), schedule=replace(steady(100.0), arrival="poisson"))
        gaps = []
        async with staged(task(load, seed=seed)) as stage:
            for number in range(3):
                if number:
                    stage.run.again(load)
                await stage.drive(1)
                gaps.append((stage.alarm.due_ns or 0) - stage.clock.now_ns())
                stage.clock.advance(gaps[-1] / 1e9)
                stage.alarm.ring()
                await stage.do(lambda: stage.end(1).answer(1))
                await stage.over()
        return gaps

    gaps = await first_gaps(7)
    assert len(set(gaps)) == 3
    assert all(gap > 0 for gap in gaps)
    assert await first_gaps(7) == gaps
    assert await first_gaps(8) != gaps
