"""The document that ghz would have written of a run."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lbctl.model import Code
from tests.view.sample_outputs import run, text

HERE = Path(__file__).parent


def shape(value: object) -> object:
    """The types of a document: keys and the shape of what is under them, lists by their first element."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def test_the_document_of_ghz_has_the_keys_and_types_that_ghz_writes() -> None:
    theirs = json.loads((HERE / "ghz.json").read_text(encoding="utf-8"))
    report = replace(run(), load=replace(run().load, requests=None, duration_s=2.0, rps=5.0))
    ours = json.loads(text("ghz-json", report))
    assert list(ours) != []
    assert set(ours) == set(theirs)
    assert set(ours["options"]) <= set(theirs["options"])
    named = ("errorDistribution", "statusCodeDistribution", "tags")  # their keys are what was measured
    for key in set(theirs) - {*named, "options", "details"}:
        assert shape(ours[key]) == shape(theirs[key]), key
    for key in ours["options"]:
        assert shape(ours["options"][key]) == shape(theirs["options"][key]), key
    for key in named:
        assert {type(value) for value in ours[key].values()} == {type(value) for value in theirs[key].values()}
    for key in ("count", "total", "average", "fastest", "slowest"):
        assert isinstance(ours[key], int)


def test_the_figures_of_the_ghz_document_are_those_of_the_run() -> None:
    found = json.loads(text("ghz-json"))
    assert (found["count"], found["total"], found["rps"], found["endReason"]) == (10, 2_000_000_000, 5.0, "timeout")
    assert (found["fastest"], found["slowest"], found["average"]) == (500_000, 10_000_000, 2_055_556)
    assert found["statusCodeDistribution"] == {"OK": 9, "Unavailable": 1}
    assert found["errorDistribution"] == {"rpc error: code = Unavailable desc = too busy": 1}
    assert found["latencyDistribution"][-1] == {"percentage": 99, "latency": 10_000_000}
    marks = [(each["mark"], each["count"]) for each in found["histogram"]]
    assert marks[0] == (0.0005, 5)
    assert marks[1:4] == [(pytest.approx(0.00145), 1), (pytest.approx(0.0024), 1), (pytest.approx(0.00335), 1)]
    assert marks[-1] == (0.01, 1)
    assert sum(count for _, count in marks) == 9
    assert found["details"] == []


@pytest.mark.parametrize(
    ("stages", "theirs"),
    [
        ((), ("const", 0, 0, 0, 0)),
        (((math.inf, 50.0, 50.0),), ("const", 0, 0, 0, 0)),
        (((30.0, 100.0, 2050.0), (math.inf, 2050.0, 2050.0)), ("line", 100, 2050, 65, 0)),
        (((10.0, 500.0, 500.0), (10.0, 400.0, 400.0), (math.inf, 300.0, 300.0)), ("step", 500, 300, -100, 10**10)),
        (((10.0, 5.0, 5.0), (10.0, 5.0, 50.0)), (None, 0, 0, 0, 0)),
        (((10.0, 5.0, 5.0), (20.0, 10.0, 10.0), (1.0, 15.0, 15.0)), (None, 0, 0, 0, 0)),
    ],
)
def test_rates_are_a_schedule_of_ghz_or_none(stages: Any, theirs: tuple[object, ...]) -> None:  # noqa: ANN401
    rps = 50.0 if theirs[0] == "const" and stages else None
    load = replace(run().load, mode="open" if stages else "closed", rps=rps, stages=stages)
    options = json.loads(text("ghz-json", replace(run(), load=load)))["options"]
    keys = ("load-schedule", "load-start", "load-end", "load-step", "load-step-duration")
    assert tuple(options.get(key) for key in keys) == theirs


@pytest.mark.parametrize(
    ("reason", "theirs"),
    [("completed", "normal"), ("duration", "timeout"), ("interrupted", "cancel"), ("error", "cancel")],
)
def test_the_end_of_a_run_has_the_word_that_ghz_has_for_it(reason: str, theirs: str) -> None:
    assert json.loads(text("ghz-json", replace(run(), end_reason=reason)))["endReason"] == theirs


def test_status_codes_are_spelled_as_go_does() -> None:
    from lbctl.view.ghz import status

    assert [status(code) for code in (Code.OK, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN)] == [
        "OK",
        "Canceled",
        "DeadlineExceeded",
        "Unknown",
    ]
