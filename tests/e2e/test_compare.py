"""Comparisons by a real lbctl of real backends, one of which is slow."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl.cli.addresses import parse_weighted_endpoints
from lbctl.cli.compare_options import ContestFlags, parse_contender
from lbctl.cli.compare_request import comparison_of
from lbctl.cli.connection_options import ConnectionFlags
from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.hammer_request import Asked
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.settings import resolve
from lbctl.cli.verdict_options import parse_abort
from lbctl.clock import SystemClock
from lbctl.commands.aborted import Aborted
from lbctl.commands.compare import Compare, run
from lbctl.commands.hammer import Tell
from lbctl.load.controls import CompareControls
from lbctl.stats.rounds import Contest
from tests.e2e.conftest import Standing, standing
from tests.e2e.runs import ROOT, check, lbctl, running
from tests.fakes import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_SCHEMA = json.loads((ROOT / "docs" / "reference" / "comparison.schema.json").read_text(encoding="utf-8"))
_TRIAL = Draft202012Validator(
    json.loads((ROOT / "docs" / "reference" / "trial.schema.json").read_text(encoding="utf-8"))
)
_ASKED = ("compare", "echo", "Echo/Say", "-o", "json", "--ui", "plain")


@pytest.fixture(scope="module")
def slow_one() -> Iterator[Standing]:
    """Three backends of one weight, the last of which takes a hundred times as long."""
    with standing("--weights", "1,1,1", "--latency", "1ms,1ms,100ms") as found:
        yield found


def valid(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    Draft202012Validator(_SCHEMA).validate(document)
    return document


async def test_a_policy_that_hears_of_latencies_beats_one_that_does_not(slow_one: Standing, tmp_path: Path) -> None:
    policies = ("--policy", "peak_ewma", "--policy", "smooth_wrr")
    done = await lbctl(
        *_ASKED, *policies, "-n", "90", "-c", "6", "--pause", "0", "--seed", "7", "--save", "saved.json",
        "--fail-on-regression", "p75<10%", etcd=slow_one.etcd, cwd=tmp_path,
    )  # fmt: skip
    document = valid(done.out)
    order = [(run["label"], run["round"], run["seed"]) for run in document["runs"]]
    assert order == [
        ("peak_ewma", 1, 7), ("smooth_wrr", 1, 7), ("smooth_wrr", 2, 8), ("peak_ewma", 2, 8), ("peak_ewma", 3, 9),
        ("smooth_wrr", 3, 9),
    ]  # fmt: skip
    assert all(run["counts"] and run["requests"] == 90 and not run["changes"] for run in document["runs"])
    found = document["differences"][0]["metrics"]["p75"]
    assert found["verdict"] == "worse"
    assert found["low"] > 0.1
    assert (done.status, len(document["regressions"])) == (1, 1)
    assert "error: p75 of smooth_wrr is " in done.err
    aware, turns = document["policies"]
    assert (aware["max_delta"], turns["max_delta"]) == (None, 0.0)
    slow = {row["address"]: row["share"] for row in aware["backends"]}[slow_one.backends[2]]
    assert slow < 0.2
    saved = valid((tmp_path / "saved.json").read_text(encoding="utf-8"))
    for each in saved["documents"]:
        check(each)
    again = await lbctl("report", "saved.json", "-o", "json", cwd=tmp_path)
    assert [group["label"] for group in json.loads(again.out)["groups"]] == ["peak_ewma", "smooth_wrr"]


async def test_ctrl_c_ends_the_run_and_reports_what_is_complete(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "least_request")
    async with running(*_ASKED, *policies, "-n", "120", "-c", "6", "--pause", "0", etcd=slow_one.etcd) as going:
        await going.hears("round 1 least_request started")
        going.send(signal.SIGINT)
        done = await going.ended()
    document = valid(done.out)
    assert done.status == 130
    first, cut = document["runs"]
    assert [(each["counts"], each["end_reason"]) for each in (first, cut)] == [
        (True, "completed"), (False, "interrupted")
    ]  # fmt: skip
    assert cut["requests"] < first["requests"] == 120
    assert cut["errors"] == 0
    assert document["stopped_by"] == "Ctrl-C"
    assert document["differences"] == []


async def test_twice_ctrl_c_ends_at_once_and_the_run_does_not_count(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "least_request")
    async with running(*_ASKED, *policies, "-z", "60s", "-c", "6", etcd=slow_one.etcd) as going:
        await going.hears("round 1 random started")
        going.send(signal.SIGINT)
        await going.hears("stopping once this run is over")
        going.send(signal.SIGINT)
        done = await going.ended()
    document = valid(done.out)
    assert done.status == 130
    assert [(each["counts"], each["end_reason"]) for each in document["runs"]] == [(False, "interrupted")]
    assert (document["groups"], document["policies"][0]["runs"]) == ([], 0)


async def test_policies_at_the_same_time_share_the_rate(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "p2c", "--order", "parallel", "--rounds", "1")
    done = await lbctl(*_ASKED, "-o", "jsonl", *policies, "-r", "100", "-z", "1s", etcd=slow_one.etcd)
    *lines, last = done.out.splitlines()
    document = valid(last)
    assert done.status == 0
    told = [each for each in map(json.loads, lines) if each["schema"] == "lbctl.trial/v1"]
    for each in told:
        _TRIAL.validate(each)
    assert [(each["what"], each["label"], each["number"]) for each in told] == [
        ("began", "random", 1), ("began", "p2c", 2), ("ended", "random", 1), ("ended", "p2c", 2)
    ]  # fmt: skip
    assert "2 policies share the load and the backends" in done.err
    assert [run["requests"] for run in document["runs"]] == [50, 50]
    assert any("felt the others" in note for note in document["notes"])


def unheard(line: str) -> None:
    """Nobody listens."""


class Scripted:
    """A screen at which somebody acts: ``play`` is given what is seen, and the hand on it."""

    def __init__(self, play: Callable[[Callable[[], Contest], CompareControls], Any]) -> None:
        self._play = play

    @asynccontextmanager
    async def showing(self, contest: Callable[[], Contest], controls: CompareControls) -> AsyncIterator[None]:
        playing = asyncio.create_task(self._play(contest, controls))
        yield
        await playing


def endless(backends: tuple[str, ...]) -> Compare:
    """Two policies, a round of a minute each."""
    return comparison_of(
        "echo", "demo.echo.v1.Echo/Say",
        ContestFlags(policy=[parse_contender("random"), parse_contender("p2c")], rounds=1, pause=0.0),
        Asked(
            LoadFlags(duration=60.0, concurrency=3), RequestFlags(),
            connection=ConnectionFlags(backends=parse_weighted_endpoints(",".join(backends))),
        ),
        resolve({}, {}, {}), {},
    )  # fmt: skip


async def test_a_run_is_paused_and_skipped_by_hand(slow_one: Standing) -> None:
    async def play(contest: Callable[[], Contest], controls: CompareControls) -> None:
        await until(lambda: contest().going and contest().going[0].report.ok)
        controls.pause()
        assert contest().paused
        assert contest().going[0].report.paused
        await until(lambda: not contest().going[0].report.in_flight)
        controls.resume()
        assert not contest().going[0].report.paused
        controls.skip()
        await until(lambda: contest().going and contest().going[0].contender == 1)
        controls.pause()
        controls.stop()  # which goes on with the run, to see it through
        assert not contest().going[0].report.paused
        assert contest().stopping
        controls.abort()

    done = await run(None, SystemClock(), endless(slow_one.backends), Scripted(play), Tell(unheard, unheard))
    assert done.contest is not None
    assert [(each.skipped, each.counts) for each in done.contest.trials] == [(True, False), (False, False)]
    said = [event.text for event in done.contest.events if event.kind == "compare"]
    assert said == [
        "round 1 random started", "paused", "resumed", "round 1 random skipped: it does not count",
        "round 1 p2c started", "paused", "stopping once this run is over", "resumed",
        "round 1 p2c not finished: it does not count",
    ]  # fmt: skip


async def test_a_run_that_is_too_bad_ends_those_beside_it_and_the_comparison(slow_one: Standing) -> None:
    async def play(contest: Callable[[], Contest], controls: CompareControls) -> None:
        await until(lambda: contest().going)

    wanted = endless(slow_one.backends)
    first, second = (replace(each, abort_on=(parse_abort("ok>=1"),)) for each in wanted.requests)
    wanted = replace(wanted, requests=(first, replace(second, abort_on=())), order="parallel", rounds=2)
    done = await run(None, SystemClock(), wanted, Scripted(play), Tell(unheard, unheard))
    assert isinstance(done.failure, Aborted)
    assert str(done.failure).startswith("--abort-on ok>=1: ")
    assert str(done.failure).endswith(" in round 1 of random")
    assert done.contest is not None
    assert [each.report.end_reason for each in done.contest.trials] == ["aborted", "interrupted"]


async def test_who_leaves_between_two_runs_need_not_wait_for_the_pause(slow_one: Standing) -> None:
    async def play(contest: Callable[[], Contest], controls: CompareControls) -> None:
        await until(lambda: contest().going)
        controls.skip()
        await until(lambda: len(contest().trials) == 1)
        controls.stop()

    wanted = endless(slow_one.backends)
    done = await run(
        None,
        SystemClock(),
        Compare(wanted.requests, wanted.contenders, pause_s=600.0),
        Scripted(play),
        Tell(unheard, unheard),
    )
    assert done.contest is not None
    assert len(done.contest.trials) == 1


async def test_too_many_errors_end_it_and_runs_before_are_told(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "p2c", "--rounds", "1", "--pause", "0", "--name", "nightly")
    done = await lbctl(*_ASKED, *policies, "-n", "40", "-t", "50ms", "-c", "4", "--max-errors", "1", etcd=slow_one.etcd)
    assert done.status == 5
    assert "error: --max-errors 1: " in done.err
    assert "DEADLINE_EXCEEDED" in done.err
