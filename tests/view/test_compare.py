"""The screens of a comparison: what keys do, lines for pipes, documents."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl.model import Event
from lbctl.stats.intervals import Estimate
from lbctl.stats.rounds import Contest
from lbctl.view.compare_output import contest_document, saved, written
from lbctl.view.compare_screens import PlainCompareScreen, left_s, progress_line
from lbctl.view.compare_table import change_words, holds_zero
from lbctl.view.lines import width_of
from lbctl.view.live_compare import CompareView
from lbctl.view.theme import ASCII, COLOUR, PLAIN, UNICODE, Look
from tests.e2e.runs import ROOT
from tests.fakes import until
from tests.view.drawing import drawn
from tests.view.hand import Hand
from tests.view.sample_contest import contest_sample

_SCHEMA = json.loads((ROOT / "docs" / "reference" / "comparison.schema.json").read_text(encoding="utf-8"))


class Contestants(Hand[Contest]):
    """The controls of the invented comparison, and the comparison."""

    def __init__(self) -> None:
        super().__init__(contest_sample())

    def contest(self) -> Contest:
        return self.now

    def stop(self) -> None:
        super().stop()
        self.now = replace(self.now, stopping=True)

    def skip(self) -> None:
        self.calls.append("skip")

    def log(self, text: str) -> None:
        self.calls.append(f"log {text}")


@pytest.fixture
def view() -> tuple[Contestants, CompareView]:
    hand = Contestants()
    return hand, CompareView(hand.contest, hand, Look(PLAIN, UNICODE))


def test_keys_pause_skip_stop_and_abort(view: tuple[Contestants, CompareView]) -> None:
    hand, shown = view
    for key in ("space", "space", "n", "q", "q", "x"):
        shown.press(key, 80, 24)
    assert hand.calls == ["pause", "resume", "skip", "stop", "abort"]


def test_keys_select_sort_and_turn_pages(view: tuple[Contestants, CompareView]) -> None:
    _, shown = view

    def marked() -> str:
        (line,) = (line for line in drawn(shown) if line.startswith("▸"))
        return line.split()[1]

    assert marked() == "consistent_hash"  # which runs
    shown.press("k", 80, 24)
    assert marked() == "random"
    shown.press("s", 80, 24)
    frame = drawn(shown)
    assert frame[2].startswith("─ POLICIES  sort:rps ─")
    assert [line.split()[0] for line in frame[4:6]] == ["p2c_ewma", "▸"]
    shown.press("enter", 80, 24)
    assert "─ RUNS random ─" in drawn(shown)[2]
    shown.press("esc", 80, 24)
    shown.press("?", 80, 24)
    assert any("skip this run" in line for line in drawn(shown))


@pytest.mark.parametrize("width", [40, 59, 60, 77, 80, 96, 110, 120, 135, 140, 240])
@pytest.mark.parametrize("height", [8, 12, 16, 24, 45])
def test_every_window_is_filled_and_no_line_is_wider(width: int, height: int) -> None:
    hand = Contestants()
    for look in (Look(COLOUR, UNICODE), Look(PLAIN, ASCII)):
        for key in ("", "enter", "?"):
            shown = CompareView(hand.contest, hand, look)
            shown.press(key, width, height)
            lines = drawn(shown, 0.0, width, height)
            assert len(lines) == height
            assert max(map(width_of, lines)) <= width


@pytest.mark.parametrize(
    ("found", "words", "muted"),
    [
        (None, "base", True),
        (Estimate(0.08), "n/a", True),
        (Estimate(-0.44, -0.51, -0.36), "-44% [-51,-36]", False),
        (Estimate(0.08, -0.04, 0.19), "+8% [-4,+19]", True),
        (Estimate(1.24, 0.99, 1.41), "+124% [+99,+141]", False),
        (Estimate(1.24, -0.99, 75.9), "+124% [-99,+76e2]", True),
    ],
)
def test_a_difference_is_spelled_with_its_interval(found: Estimate | None, words: str, muted: bool) -> None:
    assert change_words(found) in (words, words.partition(" ")[0])
    assert holds_zero(found) is muted


@pytest.mark.parametrize(
    ("expectation", "verdict", "colour"),
    [
        ("multinomial", "too_few", COLOUR.muted),
        ("multinomial", "balanced", COLOUR.muted),
        ("multinomial", "skewed", COLOUR.err),
        ("sequence", "balanced", COLOUR.err),
    ],
)
def test_a_deviation_that_may_be_chance_is_no_alarm(expectation: str, verdict: str, colour: str) -> None:
    """A drawn policy is off by percentage points in its first hundred calls, whatever it does."""
    contest = contest_sample()
    trials = []
    for trial in contest.trials:
        balance = replace(trial.report.balance, expectation=expectation, verdict=verdict)
        trials.append(replace(trial, report=replace(trial.report, balance=balance)))
    hand = Contestants()
    hand.now = replace(contest, trials=tuple(trials))
    lines = drawn(CompareView(hand.contest, hand, Look(COLOUR, UNICODE)), 0.0, 140, 45)
    line = next(line for line in lines if "consistent_hash" in line and "10.0" in line)
    assert re.search(re.escape(colour) + r" *10\.0", line)


async def test_without_a_terminal_there_is_a_line_for_every_event() -> None:
    said: list[str] = []
    hand = Contestants()
    hand.now = replace(hand.now, events=())
    async with PlainCompareScreen(said.append, 0.0, ASCII).showing(hand.contest, hand):
        await until(lambda: bool(said))
        hand.now = replace(hand.now, events=(Event(3.0, "compare", None, "round 1 random started"),))
    assert said[0].startswith("compare 01:12 9/12 runs 75% round 3 consistent_hash ")
    assert said[-1] == "event  00:03 - round 1 random started"


def test_the_time_that_is_left_follows_the_runs_so_far() -> None:
    assert left_s(contest_sample(0)) is None
    assert left_s(contest_sample(12)) == 0.0
    assert "paused" in progress_line(contest_sample(paused=True))


@pytest.mark.parametrize("runs", [0, 1, 5, 9, 12])
def test_documents_are_as_the_schema_says(runs: int) -> None:
    contest = contest_sample(runs)
    document: Any = json.loads(written(contest, (), "json", Look(PLAIN, UNICODE)))
    Draft202012Validator(_SCHEMA).validate(document)
    assert document == json.loads(json.dumps(contest_document(contest)))
    assert [run["counts"] for run in document["runs"]] == [True] * runs
    whole = json.loads(saved(contest))
    Draft202012Validator(_SCHEMA).validate(whole)
    assert [each["schema"] for each in whole["documents"]] == ["lbctl.run/v1"] * runs
    for output in ("text", "yaml", "csv", "html"):
        assert written(contest, (), output, Look(PLAIN, UNICODE))
