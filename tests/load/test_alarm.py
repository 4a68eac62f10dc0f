"""Alarms ring once, when it is time, and not before; on every loop that lbctl runs on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest
import uvloop

from lbctl.clock import SystemClock
from lbctl.load.alarm import Alarm, Spinning, TimerFd, best_alarm
from tests.fakes import turns, until

CLOCK = SystemClock()
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
KINDS: dict[str, Callable[[Callable[[], None]], Alarm]] = {
    "timerfd": TimerFd,
    "spinning": lambda ring: Spinning(ring, CLOCK),
}
if not sys.platform.startswith("linux"):
    del KINDS["timerfd"]


@pytest.fixture(params=sorted(LOOPS))
def runner(request: pytest.FixtureRequest) -> asyncio.Runner:
    return asyncio.Runner(loop_factory=LOOPS[request.param])


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("delay_ns", [0, 1, 200_000, 5_000_000])
def test_it_rings_once_and_not_before_its_time(runner: asyncio.Runner, kind: str, delay_ns: int) -> None:
    async def scenario() -> None:
        rung: list[int] = []
        alarm = KINDS[kind](lambda: rung.append(CLOCK.now_ns()))
        due_ns = CLOCK.now_ns() + delay_ns
        alarm.set(delay_ns)
        assert not rung
        await until(lambda: rung)
        await asyncio.sleep(0.002)
        assert len(rung) == 1
        assert rung[0] >= due_ns
        alarm.close()

    with runner:
        runner.run(scenario())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_later_setting_replaces_the_earlier_one(runner: asyncio.Runner, kind: str) -> None:
    async def scenario() -> None:
        rung: list[int] = []
        alarm = KINDS[kind](lambda: rung.append(CLOCK.now_ns()))
        for first_ns, second_ns in ((1_000, 3_000_000), (60_000_000_000, 1_000)):
            rung.clear()
            alarm.set(first_ns)
            due_ns = CLOCK.now_ns() + second_ns
            alarm.set(second_ns)
            await until(lambda: rung)
            assert rung[0] >= due_ns
        alarm.close()

    with runner:
        runner.run(scenario())


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("delay_ns", [0, 3_000_000])
def test_a_cleared_or_closed_alarm_does_not_ring(runner: asyncio.Runner, kind: str, delay_ns: int) -> None:
    async def scenario() -> None:
        rung: list[int] = []
        alarm = KINDS[kind](lambda: rung.append(1))
        alarm.set(delay_ns)
        alarm.clear()
        await asyncio.sleep(0.006)
        alarm.set(delay_ns)
        alarm.close()
        await asyncio.sleep(0.006)
        alarm.close()
        alarm.clear()
        assert not rung

    with runner:
        runner.run(scenario())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_it_may_be_set_and_closed_while_it_rings(runner: asyncio.Runner, kind: str) -> None:
    async def scenario() -> None:
        rung: list[int] = []

        def ring() -> None:
            rung.append(1)
            if len(rung) < 3:
                alarm.set(1_000)
            else:
                alarm.close()

        alarm = KINDS[kind](ring)
        alarm.set(0)
        await until(lambda: len(rung) == 3)
        await turns()
        assert len(rung) == 3

    with runner:
        runner.run(scenario())


async def test_turning_is_told_from_working() -> None:
    rung: list[int] = []
    alarm = Spinning(lambda: rung.append(1), CLOCK)
    alarm.set(1_000_000)
    await until(lambda: rung)
    assert alarm.spun_ns > 0
    before = alarm.spun_ns
    await turns()
    assert alarm.spun_ns == before
    alarm.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="timerfd is Linux's")
async def test_linux_has_the_better_one() -> None:
    alarm = best_alarm(lambda: None, CLOCK)
    assert isinstance(alarm, TimerFd)
    assert alarm.spun_ns == 0
    alarm.close()
