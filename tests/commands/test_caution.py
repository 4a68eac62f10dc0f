"""Which loads are announced before they begin, and how long that takes."""

from __future__ import annotations

import pytest

from lbctl.commands.caution import caution, hesitate
from lbctl.load.pacing.schedule import Schedule, ramp, steady
from lbctl.load.plan import Plan
from lbctl.model import Endpoint, Instance

HERE = Instance("a", "echo", "seed", Endpoint("127.0.0.1", 1))
AWAY = Instance("b", "echo", "seed", Endpoint("10.0.0.2", 50051))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(500, 10, None, 20.0), ""),
        (Plan(501, 10, None, 20.0), "501 calls in flight"),
        (Plan(50, None, 300.0, 20.0), ""),
        (Plan(50, None, 301.0, 20.0), "as many calls as it takes, for 301s,"),
        (Plan(50, 1000, 301.0, 20.0), ""),
        (Plan(0, None, 900.0, 20.0, steady(10_000.0)), ""),
        (Plan(0, None, 10.0, 20.0, steady(10_001.0)), "up to 10,001 calls/s"),
        (Plan(0, None, 10.0, 20.0, Schedule(ramp(100.0, 20_000.0, 10.0))), "up to 20,000 calls/s"),
    ],
)
def test_much_load_on_somebody_else_is_announced(plan: Plan, words: str) -> None:
    assert caution(plan, [HERE, HERE]) == ""
    assert caution(plan, [HERE, AWAY]) == (f"{words} on 10.0.0.2:50051" if words else "")


def test_names_count_as_away_but_for_this_machine() -> None:
    plan = Plan(1000, 10, None, 20.0)
    local = Instance("c", "echo", "seed", Endpoint("localhost", 1))
    named = Instance("d", "echo", "seed", Endpoint("echo.svc", 1))
    assert caution(plan, [local]) == ""
    assert caution(plan, [local, named, AWAY]) == "1,000 calls in flight on echo.svc:1 and 1 more"


def test_a_search_goes_on_until_something_gives_way() -> None:
    plan = Plan(0, None, 5.0, 20.0, steady(100.0))
    assert caution(plan, [HERE], grows=True) == ""
    expected = "more and more calls/s until what --find-max asks for does not hold, on 10.0.0.2:50051"
    assert caution(plan, [AWAY], grows=True) == expected


async def test_only_on_a_terminal_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    said: list[str] = []
    await hesitate("", said.append, waits=True)
    await hesitate("much", said.append, waits=False)
    assert (said, slept) == (["warning: much"], [])
    await hesitate("much", said.append, waits=True)
    assert (said[1:], slept) == (["warning: much; begins in 3s, Ctrl-C stops it, -y does not wait"], [3.0])
