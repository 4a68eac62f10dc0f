"""Calls that are turned away: when they end, what they count as, and that nothing spins."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.breakers import KratosOptions, MaxRequestsOptions
from lbctl.balance.guards.circuit import CircuitOptions
from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.selection import Mode, Selection
from lbctl.load.admission import Gate, trial
from lbctl.load.batch import Batch
from lbctl.load.plan import Plan, Task
from lbctl.model import Code, Reply
from lbctl.stats.report import Report
from tests.balance.fleet import fleet
from tests.fakes import turns
from tests.load.rig import paced, plan
from tests.load.stage import Stage, staged, task
from tests.wire import frames as h2


def guarded(load: Plan, guards: GuardPlan, policy: str = "round_robin") -> Task:
    return replace(task(load, policy), guards=guards)


def failed(stream: int) -> bytes:
    return h2.trailers_only(stream, 14)


def limit(calls: int) -> GuardPlan:
    return GuardPlan(breakers={"max-requests": MaxRequestsOptions(limit=calls)})


def circuits(what: Mode = Mode.PANIC, **values: object) -> GuardPlan:
    return GuardPlan(circuit=CircuitOptions(**values), selection=Selection(when_all_out=what))  # type: ignore[arg-type]


def reasons(report: Report) -> dict[str, int]:
    return {f"{group.code.name} {group.origin}: {group.message}": group.count for group in report.error_groups}


DROPPED = "UNAVAILABLE client: dropped by breaker max-requests"
ALL_OUT = "UNAVAILABLE client: every backend that can be reached is out of the rotation"


async def test_a_closed_loop_ends_what_was_turned_away_in_the_next_turn() -> None:
    async with staged(guarded(plan(concurrency=10, requests=1000), limit(3))) as stage:
        await stage.apply()
        await stage.drive(1)
        await turns(400)  # two for every seven calls: nothing calls itself, nothing waits for a timer
        report = stage.report()
        assert (report.issued, report.in_flight) == (1000, 3)
        assert stage.end(1).heads == 3
        await stage.do(lambda: stage.end(1).answer(3))
        report = await stage.over()
    assert (report.ok, report.errors) == (3, 997)
    assert reasons(report) == {DROPPED: 997}
    assert report.turned_away == {"max-requests": 997}
    assert report.attempts == 3
    assert report.retries == 0


async def test_a_call_is_let_in_as_soon_as_one_has_ended() -> None:
    async with staged(guarded(paced(1000), limit(2))) as stage:
        await stage.drive(1)
        await _pass(stage, 0.005)
        assert stage.end(1).heads == 2
        await stage.do(lambda: stage.end(1).answer(1))
        await _pass(stage, 0.001)
        report = stage.report()
        assert stage.end(1).heads == 3
        assert report.issued == 1 + 2 + report.turned_away["max-requests"]
        assert report.dropped == 0  # they were due, and ended


async def _pass(stage: Stage, seconds: float) -> None:
    stage.clock.advance(seconds)
    while stage.alarm.ring():
        pass
    await turns()


async def test_after_many_failures_most_calls_never_leave() -> None:
    chosen = GuardPlan(breakers={"kratos": KratosOptions(codes="UNAVAILABLE")})
    async with staged(guarded(paced(1000), chosen)) as stage:
        await stage.drive(1)
        for _ in range(100):
            await _pass(stage, 0.01)
            await stage.do(lambda: stage.end(1).answer(100, failed))
        report = stage.report()
        assert report.turned_away["kratos"] > 900
        assert stage.end(1).heads < 100
        assert reasons(report)["UNAVAILABLE client: dropped by breaker kratos"] == report.turned_away["kratos"]


async def test_while_calls_succeed_none_is_turned_away() -> None:
    chosen = GuardPlan(breakers={"kratos": KratosOptions()})
    async with staged(guarded(plan(concurrency=20), chosen)) as stage:
        await stage.drive(1)
        for _ in range(50):
            await stage.do(lambda: stage.end(1).answer(20))
        assert stage.report().turned_away == {}
        assert stage.report().ok == 1000


async def test_replies_after_their_deadline_are_failures_to_a_breaker() -> None:
    chosen = GuardPlan(breakers={"kratos": KratosOptions(codes="DEADLINE_EXCEEDED", window=1000.0)})
    async with staged(guarded(paced(100, timeout_s=1.0), chosen)) as stage:
        await stage.drive(1)
        await _pass(stage, 0.5)
        stage.clock.advance(1.5)
        await stage.do(lambda: stage.end(1).answer(100))
        await _pass(stage, 0.0)
        assert stage.report().turned_away["kratos"] > 50


async def test_a_run_that_is_aborted_accounts_for_what_was_just_turned_away() -> None:
    async with staged(guarded(plan(concurrency=10), limit(3))) as stage:
        await stage.apply()
        await stage.drive(1)
        stage.run.abort()  # in the middle of it
        report = await stage.over()
        assert report.cancelled == 3
        assert report.errors == report.turned_away["max-requests"]


# ---- everybody is out ------------------------------------------------------------------------------------------------


async def _trip(stage: Stage, *numbers: int) -> None:
    """Have these backends fail what they have, so that their circuits open."""
    for number in numbers:
        await stage.do(lambda number=number: stage.end(number).answer(9, failed))  # type: ignore[misc]


async def test_with_fail_calls_fail_at_once_while_all_are_out() -> None:
    async with staged(guarded(plan(concurrency=2, requests=50), circuits(Mode.FAIL, failures=1))) as stage:
        await stage.drive(1, 2)
        await _trip(stage, 1, 2)
        await turns(120)
        report = await stage.over()
    assert reasons(report) == {ALL_OUT: 47, "UNAVAILABLE server: ": 3}
    assert report.turned_away == {"all-out": 47}
    assert {row.state for row in report.backends} == {"breaker_open"}
    assert [row.trips for row in report.backends] == [1, 1]


async def test_with_wait_calls_wait_and_those_that_wait_are_the_probes() -> None:
    chosen = circuits(Mode.WAIT, failures=1, open_time=2.0, probes=2)
    async with staged(guarded(plan(concurrency=6), chosen)) as stage:
        await stage.drive(1, 2)
        await stage.do(lambda: stage.end(1).answer(3))
        await stage.do(lambda: stage.end(2).answer(3))
        for _ in range(2):  # calls that were under way fail, and the new ones have nowhere to go
            for number in (1, 2):
                await stage.do(lambda number=number: stage.end(number).answer(9, failed))  # type: ignore[misc]
        heads = [stage.end(number).heads for number in (1, 2)]
        assert stage.run._engine.parked == 6
        stage.clock.advance(2)
        await stage.until(lambda: stage.end(1).heads + stage.end(2).heads == sum(heads) + 4)
        assert [stage.end(number).heads for number in (1, 2)] == [heads[0] + 2, heads[1] + 2]
        assert {row.state for row in stage.report().backends} == {"half_open"}
        await stage.do(lambda: stage.end(1).answer(2))
        report = stage.report()
        assert [row.state for row in report.backends] == ["ready", "half_open"]
        assert stage.run._engine.parked == 0
        assert stage.end(1).heads > heads[0] + 2


async def test_with_wait_a_call_ends_by_its_deadline_all_the_same() -> None:
    async with staged(guarded(plan(concurrency=1, timeout_s=0.2), circuits(Mode.WAIT, failures=1))) as stage:
        await stage.drive(1)
        await _trip(stage, 1)
        stage.clock.advance(0.5)
        report = await stage.until(
            lambda: stage.report().codes.get(Code.DEADLINE_EXCEEDED, 0) or stage.report().errors > 1
        )
        (_, message) = reasons(report)
        assert message == (
            "UNAVAILABLE client: every backend that can be reached was out of the rotation until the deadline"
        )


async def test_panic_uses_them_all_and_is_told() -> None:
    async with staged(guarded(plan(concurrency=2), circuits(failures=1))) as stage:
        await stage.drive(1, 2)
        await _trip(stage, 1, 2)
        await stage.until(lambda: any("panic" in text for text in stage.texts()))
        before = stage.end(1).heads
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.do(lambda: stage.end(2).answer(1))
        assert stage.end(1).heads > before
        assert "panic: 2 of 2 backends are out of the rotation, so all that can be reached are used" in stage.texts()


@pytest.mark.parametrize("what", [Mode.WAIT, Mode.FAIL])
async def test_what_happens_to_calls_is_told(what: Mode) -> None:
    async with staged(guarded(plan(concurrency=1), circuits(what, failures=1, open_time=5.0))) as stage:
        await stage.drive(1)
        await _trip(stage, 1)
        word = "wait for one to come back" if what is Mode.WAIT else "fail at once"
        await stage.until(lambda: any(text.endswith(f"calls {word}") for text in stage.texts()))
        stage.clock.advance(5)
        await stage.until(lambda: stage.end(1).waiting)
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.until(lambda: "enough backends are back in the rotation" in stage.texts())


# ---- by themselves ---------------------------------------------------------------------------------------------------


class Counting:
    """Admits nobody and counts how calls ended."""

    name = "none"
    each_attempt = False

    def __init__(self) -> None:
        self.ends: list[Code] = []

    def admit(self, count: int, in_flight: int, now_ns: int) -> int:
        return 0

    def ended(self, code: Code, count: int, now_ns: int) -> None:
        self.ends += [code] * count


async def test_a_breaker_is_not_told_of_the_calls_that_a_gate_turned_away() -> None:
    breaker, ends = Counting(), list[Reply]()
    gate = Gate(Balancer(POLICIES["random"], Random(1)), [breaker])

    def fail(calls: Sequence[tuple[Batch, Reply]]) -> None:
        for _, reply in calls:
            ends.append(reply)
            gate.ended(reply, 1, 0)

    gate.bind(fail)
    assert gate.turn_away(Batch(0, 0, 0), 3, 0) == 3
    assert ends == []
    await turns(1)
    assert [reply.reason for reply in ends] == ["dropped by breaker none"] * 3
    assert breaker.ends == []
    gate.ended(Reply(Code.INTERNAL), 2, 0)
    assert breaker.ends == [Code.INTERNAL] * 2


def test_who_cannot_be_reached_is_tried_later() -> None:
    away, here = fleet([1, 1])
    away.ready = False
    trials = deque([away, here])
    assert trial(trials) is here
    assert trial(trials) is None
    away.ready = True
    assert trial(trials) is away
    assert (away.picks, away.judged, away.expected) == (1, 0, 1.0)
    assert not trials


def test_an_attempt_after_a_probe_is_none() -> None:
    probe = Batch(0, 0, 5)
    probe.trial_ns = 5
    assert probe.alone().trial_ns == 5  # it only waits
    assert probe.again(7).trial_ns == 0
