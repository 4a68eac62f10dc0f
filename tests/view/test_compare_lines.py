"""Lines of a comparison: each is as its schema says, and they come in the order in which things happened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl.stats.rounds import Contest
from lbctl.view.compare_lines import CompareLines
from lbctl.view.compare_output import written
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.fakes import until
from tests.view.sample import STARTED
from tests.view.sample_contest import contest_sample
from tests.view.test_compare import Contestants

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SCHEMAS = {
    f"lbctl.{name}/v1": Draft202012Validator(json.loads((REFERENCE / f"{name}.schema.json").read_text("utf-8")))
    for name in ("trial", "event", "comparison")
}


def valid(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    SCHEMAS[found["schema"]].validate(found)
    return found


def timed(runs: int) -> Contest:
    """The comparison with so many runs over, each of which took seven seconds, with one of pause."""
    contest = contest_sample(runs, started_at=STARTED, events=contest_sample().events[: runs // 4])
    trials = [replace(each, began_s=(each.number - 1) * 8.0, ended_s=each.number * 8.0 - 1) for each in contest.trials]
    going = [replace(each, number=runs + 1, began_s=runs * 8.0) for each in contest.going]
    return replace(contest, trials=tuple(trials), going=tuple(going))


class Reader:
    """Takes lines, as long as it wants any."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gone = False

    def write(self, line: str) -> None:
        self.lines.append(line)

    def is_behind(self) -> bool:
        return False

    def is_broken(self) -> bool:
        return self.gone


def told(lines: list[str]) -> list[tuple[object, object]]:
    found = [valid(line) for line in lines]
    return [(each.get("what", "event"), each.get("number", each["t_s"])) for each in found]


async def test_a_line_is_written_when_a_run_begins_and_one_when_it_ends() -> None:
    now, reader = timed(0), Reader()
    async with CompareLines(reader).showing(lambda: now, Contestants()):
        await until(lambda: reader.lines)
        assert told(reader.lines) == [("began", 1)]
        now = timed(2)  # a short run was over before anybody looked
    assert told(reader.lines) == [("began", 1), ("ended", 1), ("began", 2), ("ended", 2), ("began", 3)]
    began, ended = valid(reader.lines[0]), valid(reader.lines[1])
    assert (began["time"], began["t_s"], began["label"], began["round"]) == (
        "2026-01-01T12:00:00.000Z", 0.0, "smooth_wrr", 1
    )  # fmt: skip
    assert (ended["time"], ended["t_s"], ended["requests"], ended["ok"]) == (
        "2026-01-01T12:00:07.000Z",
        7.0,
        2000,
        1995,
    )
    report = now.trials[0].report
    assert ended["p50_ms"] == pytest.approx(report.latency.quantiles([0.5])[0] / 1e3, abs=1e-4)
    assert ended["error_rate"] == 0.0025
    assert (ended["counts"], ended["end_reason"]) == (True, "completed")


async def test_where_nobody_reads_lines_any_more_the_comparison_ends() -> None:
    reader, hand = Reader(), Contestants()
    reader.gone = True
    async with CompareLines(reader).showing(lambda: timed(1), hand):
        await until(lambda: hand.calls)
    assert hand.calls == ["abort"]


def test_lines_of_a_comparison_that_is_over_are_in_order_and_its_document_is_the_last() -> None:
    *lines, last = written(timed(12), (), "jsonl", Look(PLAIN, UNICODE)).splitlines()
    found = [valid(line) for line in lines]
    assert len(found) == 12 * 2 + 3
    assert [each["t_s"] for each in found] == sorted(each["t_s"] for each in found)
    assert valid(last)["schema"] == "lbctl.comparison/v1"


def test_a_run_that_failed_altogether_has_no_times_and_one_left_out_says_so() -> None:
    contest = timed(2)
    first, second = contest.trials
    nothing = replace(first.report, latency=type(first.report.latency)(), ok=0, errors=2000)
    contest = replace(contest, trials=(replace(first, report=nothing), replace(second, skipped=True)), going=())
    lines = [valid(line) for line in written(contest, (), "jsonl", Look(PLAIN, UNICODE)).splitlines()]
    failed, skipped = (each for each in lines if each.get("what") == "ended")
    assert (failed["p50_ms"], failed["max_ms"], failed["error_rate"]) == (None, None, 1.0)
    assert (skipped["counts"], skipped["end_reason"]) == (False, "skipped")
