"""--max-errors: too many end a run, by number or by part, and are a failure also where the run was over before."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lbctl.balance.policies.table import POLICIES
from lbctl.commands.error_limit import parse_error_limit, watched
from lbctl.commands.hammer import Hammer, finished
from lbctl.commands.searching import Searching
from lbctl.load.plan import Plan
from lbctl.stats.report import Report
from tests.commands.test_judging import FakeRun
from tests.fakes import until
from tests.view.sample import sample


def of(ok: int, errors: int, **changes: object) -> Report:
    return replace(sample(3), ok=ok, errors=errors, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "ok", "errors", "reached"),
    [
        ("3", 1000, 2, False),
        ("3", 0, 3, True),
        ("5%", 95, 5, False),
        ("5%", 94, 6, True),
        ("5%", 10, 89, False),  # too few calls for a part
        ("0%", 100, 0, False),
        ("0%", 99, 1, True),
        ("0.5%", 994, 6, True),
    ],
)
def test_a_number_of_errors_or_a_part_of_a_hundred_calls_is_too_many(
    text: str, ok: int, errors: int, reached: bool
) -> None:
    assert parse_error_limit(text).is_reached(of(ok, errors)) is reached


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "100%", "%", "x", "", "1 %", "1e3"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a number of errors"):
        parse_error_limit(text)


def test_a_run_is_ended_once_and_a_warm_up_is_not() -> None:
    limit = parse_error_limit("3")
    run = FakeRun(of(10, 3, warming=True))
    assert not limit.look(run)
    run.now = of(10, 4)
    assert limit.look(run)
    assert (run.ends, run.notes) == (["max_errors"], [("log", None, "--max-errors 3: 4 errors", "bad")])
    run.now = of(10, 5, stopping=True)
    assert not limit.look(run)


@pytest.mark.parametrize(("searching", "fails"), [(None, True), (Searching(()), False)])
def test_in_a_search_it_ends_a_probe_and_is_no_failure_of_the_whole(searching: Searching | None, fails: bool) -> None:
    policy, limit = POLICIES["round_robin"], parse_error_limit("3")
    request = Hammer("echo", None, policy, Plan(1, 1, None, 1.0), 1, max_errors=limit, searching=searching)
    found = finished(request, of(10, 3, end_reason="max_errors"), None, None)
    assert (found.failure is not None) is fails
    assert found.report is not None
    assert found.report.stopped_by == "--max-errors 3"


async def test_it_looks_while_the_run_goes_on_and_no_longer() -> None:
    run = FakeRun(of(10, 0))
    with watched(parse_error_limit("3"), run):
        await asyncio.sleep(0)
        run.now = of(10, 3)
        await until(lambda: run.ends)
    assert run.ends == ["max_errors"]
    assert len(asyncio.all_tasks()) == 1
    with watched(None, run):
        pass


def test_the_failure_says_how_many_and_of_which_kind() -> None:
    limit = parse_error_limit("10")
    assert limit.failure(of(100, 9)) is None
    failure = limit.failure(of(90, 10, error_groups=()))
    assert failure is not None
    assert (str(failure), failure.exit_code) == ("--max-errors 10: 10 of 100 calls failed", 5)
    grouped = limit.failure(of(90, 20))
    assert grouped is not None
    assert str(grouped).startswith("--max-errors 10: 20 of 110 calls failed, most of them ")
