"""The end of a run: what is told of calls that were still in flight when the last one had been issued."""

from __future__ import annotations

from lbctl.stats.report import Sent
from lbctl.view.run_document import run_document
from tests.load.rig import paced, plan
from tests.load.stage import staged, task
from tests.load.test_run_open_loop import rung


async def test_the_rate_of_a_run_has_the_waiting_for_its_last_calls_in_it_and_says_what_it_was_before() -> None:
    async with staged(task(paced(20, 4, timeout_s=0.0))) as stage:
        await stage.drive(1)
        await rung(stage, 0.15)
        await stage.do(lambda: stage.end(1).answer(3))
        stage.clock.advance(0.447)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ended, report.sent) == (4, Sent(0.15, 0))  # the last was issued at 0.15s
        assert (report.elapsed_s, report.throughput) == (0.6, 4 / 0.6)


async def test_calls_that_outlast_the_grace_time_are_told_with_their_backend_and_are_in_no_rate() -> None:
    async with staged(task(plan(concurrency=4, duration_s=0.02, timeout_s=0.0), grace_s=0.01)) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(2))
        stage.clock.advance(0.399)
        report = await stage.over()
        assert (report.ok, report.cancelled, report.sent) == (2, 4, Sent(0.4, 2))
        told = report.generator.warnings[0]
        assert told.startswith(
            "4 calls were cancelled without an answer after 0.01s of grace (4 of them at 127.0.0.1:1)"
        )
        document = run_document(report)
        assert (document["requests"], document["rps"], document["duration_s"]) == (6, 5.0, 0.4)
        assert document["issuing"] == {"duration_s": 0.4, "ended": 2, "rps": 5.0}


async def test_who_ends_a_run_at_once_is_not_told_of_grace() -> None:
    async with staged(task(plan(concurrency=2, requests=9, timeout_s=0.0))) as stage:
        await stage.drive(1)
        await stage.do(stage.run.abort)
        report = await stage.over()
        assert report.cancelled == 2
        assert not any("grace" in text for text in report.generator.warnings)
