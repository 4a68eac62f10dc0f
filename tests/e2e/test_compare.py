"""Comparisons by a real lbctl of real backends, one of which is slow."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.e2e.conftest import Standing, standing
from tests.e2e.runs import ROOT, check, lbctl, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_SCHEMA = json.loads((ROOT / "docs" / "reference" / "comparison.schema.json").read_text(encoding="utf-8"))
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
    for run in saved["documents"]:
        check(run)
    again = await lbctl("report", "saved.json", "-o", "json", cwd=tmp_path)
    assert [group["label"] for group in json.loads(again.out)["groups"]] == ["peak_ewma", "smooth_wrr"]


async def test_ctrl_c_sees_the_run_through_and_reports_what_is_complete(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "least_request")
    async with running(*_ASKED, *policies, "-n", "60", "-c", "6", "--pause", "0", etcd=slow_one.etcd) as run:
        await run.hears("round 1 least_request started")
        run.send(signal.SIGINT)
        done = await run.ended()
    document = valid(done.out)
    assert done.status == 130
    assert [each["counts"] for each in document["runs"]] == [True, True]
    assert document["stopped_by"] == "Ctrl-C"
    assert {each["verdict"] for each in document["differences"][0]["metrics"].values()} == {"not judged"}


async def test_twice_ctrl_c_ends_at_once_and_the_run_does_not_count(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "least_request")
    async with running(*_ASKED, *policies, "-z", "60s", "-c", "6", etcd=slow_one.etcd) as run:
        await run.hears("round 1 random started")
        run.send(signal.SIGINT)
        await run.hears("stopping once this run is over")
        run.send(signal.SIGINT)
        done = await run.ended()
    document = valid(done.out)
    assert done.status == 130
    assert [(each["counts"], each["end_reason"]) for each in document["runs"]] == [(False, "interrupted")]
    assert (document["groups"], document["policies"][0]["runs"]) == ([], 0)


async def test_policies_at_the_same_time_share_the_rate(slow_one: Standing) -> None:
    policies = ("--policy", "random", "--policy", "p2c", "--order", "parallel", "--rounds", "1")
    done = await lbctl(*_ASKED, *policies, "-r", "100", "-z", "1s", etcd=slow_one.etcd)
    document = valid(done.out)
    assert done.status == 0
    assert "2 policies share the load and the backends" in done.err
    assert [run["requests"] for run in document["runs"]] == [50, 50]
    assert any("felt the others" in note for note in document["notes"])
