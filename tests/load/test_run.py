"""A run from its first call to its last: how it ends, what can be done to it meanwhile, and what it reports."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import fields

import pytest

from lbctl.load.run import Run
from lbctl.model import Code
from lbctl.stats.report import Report
from tests.fakes import FakeClock, timers, turns, until
from tests.load.rig import instance, plan
from tests.load.stage import staged, task
from tests.wire import frames as h2


def numbers(report: Report) -> dict[str, object]:
    """Everything in a report that must not move any more once the run is over."""
    kept = {field.name: getattr(report, field.name) for field in fields(report)}
    kept["rows"] = [
        (row.address, row.picks, row.expected, row.ok, row.errors, row.in_flight) for row in kept.pop("backends")
    ]
    kept["events"] = list(report.events)
    return kept


# ---- how a run ends --------------------------------------------------------------------------------------------------


async def test_a_run_of_n_calls_ends_with_the_last_of_them() -> None:
    async with staged(task(plan(concurrency=3, requests=5))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(3))
        report = await stage.do(lambda: stage.end(1).answer(1))
        assert (report.end_reason, report.stopping, report.completed) == (None, False, 4)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.issued) == ("completed", 5, 5)


async def test_a_run_of_no_calls_is_over_at_once_and_reports_nothing_as_nothing() -> None:
    async with staged(task(plan(concurrency=3, requests=0))) as stage:
        await stage.drive(1)
        report = await stage.over()
        assert (report.completed, report.latency.total, dict(report.codes)) == (0, 0, {})
        assert report.balance.verdict == "too_few"
        assert [row.picks for row in report.backends] == [0]


async def test_a_run_of_some_time_waits_for_the_calls_in_flight() -> None:
    async with staged(task(plan(concurrency=3, duration_s=0.02))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.02)
        report = await stage.until(lambda: stage.run.report().stopping)
        assert (report.end_reason, report.in_flight) == (None, 3)
        await stage.do(lambda: stage.end(1).answer(3))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.issued, report.cancelled) == ("duration", 3, 3, 0)


async def test_a_timer_that_is_early_does_not_end_a_run_early() -> None:
    async with staged(task(plan(concurrency=1, duration_s=0.001))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.000_9)
        early = stage.run._timers["duration"]
        await until(lambda: stage.run._timers["duration"] is not early)
        assert not stage.report().stopping
        stage.clock.advance(0.000_1)
        await stage.until(lambda: stage.run.report().stopping)
        await stage.do(lambda: stage.end(1).answer(1))
        assert (await stage.over()).elapsed_s >= 0.001


async def test_what_has_no_reply_after_the_grace_time_is_cancelled() -> None:
    async with staged(task(plan(concurrency=3, duration_s=0.01), grace_s=0.01)) as stage:
        await stage.drive(1)
        stage.clock.advance(0.009)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.end_reason, report.ok, report.cancelled, report.errors) == ("duration", 1, 3, 0)


async def test_stop_lets_calls_finish_and_abort_does_not() -> None:
    async with staged(task(plan(concurrency=4))) as stage:
        await stage.drive(1)
        report = await stage.do(stage.run.stop)
        assert (report.stopping, report.in_flight) == (True, 4)
        report = await stage.do(lambda: stage.end(1).answer(1))
        assert (report.stopping, report.in_flight) == (True, 3)
        stage.run.stop()  # again: nothing more to stop
        stage.run.abort()
        report = await stage.over()
        assert (report.end_reason, report.ok, report.cancelled) == ("interrupted", 1, 3)


async def test_a_run_interrupted_while_it_waits_for_its_last_calls_keeps_its_first_reason_unless_aborted() -> None:
    async with staged(task(plan(concurrency=1, duration_s=0.01))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.01)
        await stage.until(lambda: stage.run.report().stopping)
        stage.run.stop()
        await stage.do(lambda: stage.end(1).answer(1))
        assert (await stage.over()).end_reason == "duration"


@pytest.mark.parametrize("early", ["stop", "abort"])
async def test_a_run_that_was_stopped_before_it_began_sends_nothing(early: str) -> None:
    async with staged(task(plan(concurrency=4))) as stage:
        await stage.apply(instance(1))
        getattr(stage.run, early)()
        await stage.drive(1)
        report = await stage.over()
        assert (report.end_reason, report.issued) == ("interrupted", 0)
        assert stage.end(1).heads == 0


async def test_a_hand_that_is_quicker_than_the_run_does_not_end_it() -> None:
    async with staged(task(plan(concurrency=1, requests=4))) as stage:
        await stage.apply(instance(1))
        stage.run.hand.pause()
        stage.run.hand.resume()
        stage.run.hand.scale(2.0)
        await stage.drive(1)
        assert stage.report().in_flight == 2
        await stage.do(lambda: stage.end(1).answer(2))
        await stage.do(lambda: stage.end(1).answer(2))
        report = await stage.over()
        assert (report.end_reason, report.ok) == ("completed", 4)


async def test_a_run_that_was_paused_before_it_began_waits_and_its_time_with_it() -> None:
    async with staged(task(plan(concurrency=2, requests=2))) as stage:
        await stage.apply(instance(1))
        stage.run.hand.pause()
        await stage.drive(1)
        stage.clock.advance(5.0)
        report = stage.report()
        assert (report.paused, report.issued, report.elapsed_s) == (True, 0, 0.0)
        await stage.do(stage.run.hand.resume)
        stage.end(1).answer(2)
        assert (await stage.over()).elapsed_s < 1.0


async def test_a_paused_run_can_be_stopped() -> None:
    async with staged(task(plan(concurrency=2, requests=10))) as stage:
        await stage.drive(1)
        stage.run.hand.pause()
        report = await stage.do(lambda: stage.end(1).answer(2))
        assert (report.paused, report.in_flight, report.end_reason) == (True, 0, None)
        stage.run.stop()
        assert (await stage.over()).ok == 2


async def test_deadlines_are_looked_for_without_anybody_asking() -> None:
    async with staged(task(plan(concurrency=2, requests=2, timeout_s=0.5))) as stage:
        await stage.drive(1)
        stage.clock.advance(0.5)
        report = await stage.over()
        assert dict(report.codes) == {Code.DEADLINE_EXCEEDED: 2}


async def test_a_run_whose_driver_is_cancelled_accounts_for_everything_and_sends_nothing_more() -> None:
    async with staged(task(plan(concurrency=4))) as stage:
        await stage.drive(1)
        assert stage.driving is not None
        stage.driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stage.driving
        report = stage.report()
        assert (report.in_flight, report.cancelled, report.end_reason) == (0, 4, "interrupted")
        await turns()
        assert stage.end(1).heads == 4


async def test_nothing_of_a_run_is_left_in_the_loop_when_it_is_over() -> None:
    async with staged(task(plan(concurrency=2, requests=4, timeout_s=1.0, duration_s=60.0))) as stage:
        await stage.drive(1)
        stage.run.stop()
        await stage.do(lambda: stage.end(1).answer(2))
        await stage.over()
    await turns()
    assert not timers()
    assert gc.isenabled()


# ---- the hand on the run ---------------------------------------------------------------------------------------------


async def test_pause_and_resume_are_told_once_each() -> None:
    async with staged(task(plan(concurrency=2))) as stage:
        await stage.drive(1)
        stage.run.hand.resume()  # not paused
        stage.run.hand.pause()
        stage.run.hand.pause()
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.do(stage.run.hand.resume)
        assert (report.paused, report.in_flight, report.issued) == (False, 2, 3)
        assert stage.texts() == ["paused", "resumed"]


@pytest.mark.parametrize(
    ("before", "factor", "after"),
    [(10, 2.0, 20), (10, 0.5, 5), (1, 1.1, 2), (2, 0.9, 1), (1, 0.5, 1), (10, 1.0, 10), (3, 1.25, 4), (5, 0.0, 1)],
)
async def test_scaling_changes_the_concurrency_by_at_least_one_and_never_below_one(
    before: int, factor: float, after: int
) -> None:
    async with staged(task(plan(concurrency=before))) as stage:
        await stage.drive(1)
        report = await stage.do(lambda: stage.run.hand.scale(factor))
        assert (report.concurrency, report.in_flight) == (after, max(before, after))
        assert stage.texts() == ([f"concurrency {before} -> {after}"] if before != after else [])


async def test_another_policy_begins_a_new_epoch_and_what_was_expected_before_stays() -> None:
    async with staged(task(plan(concurrency=1), "pick_first")) as stage:
        await stage.drive(1, 2)
        first = 1 if stage.host(1).end.heads else 2
        for _ in range(9):
            await stage.do(lambda: stage.end(first).answer(1))
        report = await stage.do(lambda: stage.run.hand.next_policy(1))
        assert (report.policy, stage.texts()) == ("round_robin", ["policy -> round_robin"])
        for _ in range(10):
            await stage.do(lambda: stage.end(1 if stage.end(1).waiting else 2).answer(1))
        stage.clock.advance(1.0)  # a verdict may be a little old
        report = stage.report()
        rows = {row.address: (row.picks, row.expected) for row in report.backends}
        assert rows[f"127.0.0.1:{first}"] == (15, 15.0)
        assert rows[f"127.0.0.1:{3 - first}"] == (5, 5.0)
        assert report.balance.verdict == "balanced"
        await stage.do(lambda: stage.run.hand.next_policy(-1))
        assert stage.report().policy == "pick_first"


async def test_draining_and_logging_through_the_run_leave_events() -> None:
    async with staged(task(plan(concurrency=1))) as stage:
        await stage.drive(1, 2)
        one = instance(1)
        stage.run.hand.drain(one.key, one.address)
        stage.run.hand.log("a line")
        report = await stage.do(lambda: None)
        assert [(event.kind, event.backend, event.text) for event in report.events] == [
            ("drain", "127.0.0.1:1", "drained in this client"),
            ("log", None, "a line"),
        ]
        assert [row.state for row in report.backends] == ["drained", "ready"]


async def test_nothing_done_after_the_end_changes_the_report() -> None:
    async with staged(task(plan(concurrency=2, requests=2))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(2))
        await stage.over()
        before = numbers(stage.report())
        stage.clock.advance(5.0, cpu_s=3.0)
        one = instance(1)
        for act in (
            stage.run.hand.pause,
            stage.run.hand.resume,
            stage.run.stop,
            stage.run.abort,
            lambda: stage.run.hand.scale(2.0),
            lambda: stage.run.hand.next_policy(1),
            lambda: stage.run.hand.drain(one.key, one.address),
        ):
            await stage.do(act)
        assert numbers(stage.report()) == before


# ---- the report ------------------------------------------------------------------------------------------------------


async def test_time_is_counted_from_the_first_call_and_stands_still_after_the_last() -> None:
    async with staged(task(plan(concurrency=1, requests=1))) as stage:
        await stage.apply(instance(1))
        stage.clock.advance(3.0)
        assert stage.report().elapsed_s == 0.0
        await stage.drive(1)
        stage.clock.advance(0.25)
        assert stage.report().elapsed_s == 0.25
        stage.end(1).answer(1)
        stage.clock.advance(1.0)  # before the driver has its turn
        assert (await stage.over()).elapsed_s == 0.25


async def test_a_backend_that_returns_has_joined_when_it_joined_first() -> None:
    async with staged(task(plan(concurrency=1))) as stage:
        await stage.drive(1)
        stage.clock.advance(1.0)
        await stage.apply(instance(1), instance(2))
        stage.clock.advance(1.0)
        await stage.apply(instance(1))
        assert [(row.joined_s, row.left_s) for row in stage.report().backends] == [(0.0, None), (1.0, 2.0)]
        stage.clock.advance(1.0)
        await stage.apply(instance(1), instance(2))
        assert [(row.joined_s, row.left_s) for row in stage.report().backends] == [(0.0, None), (1.0, None)]


async def test_a_report_before_the_first_call_says_so() -> None:
    run = Run(task(plan(concurrency=1, requests=1)), FakeClock())
    report = run.report()
    assert (report.end_reason, report.stopping, report.issued, report.elapsed_s) == (None, False, 0, 0.0)
    assert (report.generator.cpu_s, report.generator.busy, report.backends) == (0.0, 0.0, ())


async def test_a_report_says_what_was_asked_for() -> None:
    async with staged(task(plan(concurrency=2, requests=1, timeout_s=1.5, duration_s=60.0), "random", seed=3)) as stage:
        await stage.drive(1)
        report = stage.report()
        assert (report.service, report.method, report.policy, report.seed) == ("echo", "pkg.Svc/Method", "random", 3)
        load = report.load
        assert (load.mode, load.requests, load.duration_s, load.concurrency) == ("closed", 1, 60.0, 2)
        assert (load.timeout_s, load.rps, load.connections) == (1.5, None, 1)
        assert report.started_at == FakeClock.wall()


async def test_retries_and_calls_given_back_are_in_the_attempts() -> None:
    async with staged(task(plan(concurrency=4, requests=4))) as stage:
        stage.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 2}
        await stage.drive(1)
        report = await stage.do(lambda: stage.end(1).answer(1, lambda stream: h2.rst(stream, h2.REFUSED_STREAM)))
        assert (report.retries, report.attempts) == (1, 5)
        old = stage.end(1)
        report = await stage.do(lambda: old.goaway(h2.LARGEST_WINDOW))  # two waited for a slot
        assert (report.retries, report.attempts) == (1, 5)
        await stage.do(lambda: (old.answer(2), stage.end(1).answer(2)))
        report = await stage.over()
        assert (report.ok, report.attempts, report.retries, report.wait.total) == (4, 5, 1, 5)
        assert (report.backends[0].picks, report.backends[0].attempts, report.backends[0].given_back) == (7, 5, 2)


async def test_shares_follow_the_weights_exactly() -> None:
    async with staged(task(plan(concurrency=7, requests=70), "smooth_wrr")) as stage:
        await stage.apply(instance(1, 5), instance(2, 1), instance(3, 1))
        await stage.run.backends.settled()
        stage.driving = asyncio.create_task(stage.run.drive())
        await turns()
        while stage.report().in_flight:
            await stage.do(lambda: [stage.end(number).answer(7) for number in (1, 2, 3)])
        report = await stage.over()
        assert [row.picks for row in report.backends] == [50, 10, 10]
        assert [round(row.expected, 6) for row in report.backends] == [50, 10, 10]
        assert report.balance.verdict == "balanced"


async def test_the_same_seed_makes_the_same_picks_whatever_connections_do() -> None:
    picks: list[list[int]] = []
    for trouble in (False, True):
        async with staged(task(plan(concurrency=1, requests=60), "random", seed=5)) as stage:
            await stage.apply(instance(1), instance(2), instance(3))
            if trouble:
                await stage.do(stage.end(1).drop)
                await stage.do(stage.network.sleep.wake)
            await stage.drive(1, 2, 3)
            order: list[int] = []
            while stage.report().in_flight:
                number = next(n for n in (1, 2, 3) if stage.end(n).waiting)
                order.append(number)
                await stage.do(lambda number=number: stage.end(number).answer(1))  # type: ignore[misc]
            await stage.over()
            picks.append(order)
    assert picks[0] == picks[1]
