from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from lbctl.load.controls import Controls
from lbctl.model import Event
from lbctl.stats.report import Report
from lbctl.view.progress import NoScreen, PlainScreen, progress_line
from tests.view.sample import sample, streaming

NOBODY = cast("Controls", None)


def test_a_progress_line_has_a_fixed_order() -> None:
    report = replace(sample(5), elapsed_s=12.0)
    assert progress_line(report, 5_000, 5.0) == (
        "hammer 00:12 6,244/10,000 62% 249 rps ok 6,219 err 25 (0.40%) p50 2.2ms p99 15ms maxd 0.0pp backends 4/5"
    )


def test_a_progress_line_without_calls_has_dashes() -> None:
    report = replace(sample(0, calls=0), paused=True)
    assert progress_line(report, 0, 0.0) == (
        "hammer 00:12 0/10,000 0% - rps ok 0 err 0 (-) p50 - p99 - backends 0/0 paused"
    )


async def test_lines_come_by_the_clock_and_events_as_they_happen() -> None:
    lines: list[str] = []
    enough = asyncio.Event()

    def write(line: str) -> None:
        lines.append(line)
        if sum(line.startswith("hammer ") for line in lines) == 2:
            enough.set()

    report = replace(sample(3), events=(Event(1.5, "joined", "10.0.0.9:1", "joined\x1b[2J", "good"),))
    async with PlainScreen(write, interval_s=0.01).showing(lambda: report, NOBODY), asyncio.timeout(10):
        await enough.wait()
        report = replace(report, events=(*report.events, Event(2.0, "log", None, "last words", "bad")))
    assert lines[0] == "event  00:01 + 10.0.0.9:1 joined\\x1b[2J"
    assert lines[-1] == "event  00:02 x last words"
    assert sum(line.startswith("event ") for line in lines) == 2


async def second_line(first: Report, later: Report) -> str:
    """The line of progress after that of ``first``, when ``later`` is how the run stands."""
    lines: list[str] = []
    enough = asyncio.Event()

    def write(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            enough.set()

    def report() -> Report:
        return later if lines else first

    async with PlainScreen(write, interval_s=0.01).showing(report, NOBODY), asyncio.timeout(10):
        await enough.wait()
    return lines[1]


async def test_the_messages_of_a_line_are_those_since_the_line_before() -> None:
    now = replace(streaming(), events=())
    assert now.streams is not None
    streams = replace(now.streams, sent=now.streams.sent + 500, received=now.streams.received + 1000)
    later = replace(now, elapsed_s=now.elapsed_s + 5.0, completed=now.completed + 50, streams=streams)
    assert " 10 rps sent 100/s received 200/s ok " in await second_line(now, later)


async def test_the_rate_of_a_run_that_counts_anew_is_its_own() -> None:
    now = replace(sample(3), events=())
    anew = replace(now, started_at=now.started_at + timedelta(seconds=60), elapsed_s=2.0, completed=50)
    assert " 25 rps " in await second_line(now, anew)


async def test_a_failing_report_is_not_swallowed() -> None:
    asked = asyncio.Event()

    def report() -> Report:
        if asked.is_set():
            return sample(0, calls=0)
        asked.set()
        raise RuntimeError("no report")

    lines: list[str] = []

    async def show() -> None:
        async with PlainScreen(lines.append, interval_s=0.0).showing(report, NOBODY):
            await asked.wait()

    with pytest.raises(RuntimeError, match="no report"):
        await show()


async def test_no_screen_shows_nothing() -> None:
    async with NoScreen().showing(lambda: None, None):
        pass


async def test_a_storm_of_events_does_not_bury_the_progress() -> None:
    lines: list[str] = []
    events = tuple(Event(1.0, "health", None, f"trouble {number}", "bad") for number in range(500))
    report = replace(sample(3), events=events)
    async with PlainScreen(lines.append, interval_s=60.0).showing(lambda: report, NOBODY):
        pass
    assert lines[0].endswith("trouble 0")
    assert lines[-1] == "event  00:12 480 more, all in the JSON document"
    assert len(lines) == 21


def test_a_progress_line_counts_what_was_dropped() -> None:
    assert " (0.40%) dropped 1,200 p50 " in progress_line(sample(5, dropped=1200), 5_000, 5.0)


def test_a_progress_line_of_streams_has_the_messages_of_the_time_since_the_line_before() -> None:
    assert " 249 rps sent 200/s received 400/s ok 6,282 " in progress_line(streaming(), 5_047, 5.0, (30_000, 60_000))
    assert " rps sent - received - ok " in progress_line(streaming(), 0, 0.0)
    assert "sent" not in progress_line(sample(3), 0, 5.0)
