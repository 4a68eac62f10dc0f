from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from lbctl.load.controls import Controls
from lbctl.model import Code, Event
from lbctl.stats.events import EventLog
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.view.sample_lines import LiveLines
from tests.view.test_document import EMPTY, row, validate

NOBODY = cast("Controls", None)
NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


class Read:
    """Where lines go in a test; ``until`` waits for so many samples."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.behind = False
        self.asked = 0
        self.broken = False
        self._news = asyncio.Event()

    def write(self, line: str) -> None:
        document = json.loads(line)
        validate(document, document["schema"].removeprefix("lbctl.").removesuffix("/v1"))
        self.lines.append(document)
        self._news.set()

    def is_behind(self) -> bool:
        self.asked += 1
        self._news.set()
        return self.behind

    def is_broken(self) -> bool:
        return self.broken

    @property
    def samples(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["schema"] == "lbctl.sample/v1"]

    @property
    def events(self) -> list[str]:
        return [line["text"] for line in self.lines if line["schema"] == "lbctl.event/v1"]

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not happened():
                self._news.clear()
                await self._news.wait()


class Made:
    """A run that is made up: each call of ``calls`` adds some at two backends of weights 2 and 1."""

    def __init__(self) -> None:
        self.latency, self.first, self.second = Histogram(), Histogram(), Histogram()
        self.events = EventLog()
        self.elapsed_s = 0.0
        self.warming = False
        self.started_at, self.end_reason = NOON, ""

    def again(self) -> None:
        """Count anew, as the next run of a search."""
        self.latency, self.first, self.second = Histogram(), Histogram(), Histogram()
        self.elapsed_s, self.started_at, self.end_reason = 0.0, self.started_at + timedelta(seconds=9), ""

    def calls(self, first: int, second: int, *, us: int = 1000) -> None:
        for times, count in ((self.first, first), (self.second, second), (self.latency, first + second)):
            if count:
                times.record(us, count)

    def report(self) -> Report:
        first, second = self.first.total, self.second.total
        total = first + second
        return replace(
            EMPTY,
            elapsed_s=self.elapsed_s,
            started_at=self.started_at,
            end_reason=self.end_reason or None,
            issued=total,
            completed=total,
            ok=total,
            attempts=total,
            codes={Code.OK: total},
            latency=self.latency,
            backends=(
                row(50061, 2, first, total * 2 / 3, self.first),
                row(50062, 1, second, total / 3, self.second),
            ),
            events=self.events,
            warming=self.warming,
        )


def live(read: Read, interval_s: float = 1.0) -> LiveLines:
    return LiveLines(read, lambda: NOON, interval_s=interval_s)


async def test_each_sample_has_what_happened_since_the_one_before_in_all_and_by_backend() -> None:
    run, read = Made(), Read()
    run.calls(4, 2)
    run.elapsed_s = 1.0
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: len(read.samples) == 1)
        run.calls(1, 2, us=5000)
        run.elapsed_s = 2.0
        await read.until(lambda: len(read.samples) == 2)
        run.calls(0, 1)
        run.elapsed_s = 2.25
    first, second, rest = read.samples
    assert (first["time"], first["t_s"], first["ok"], first["rps"], first["p50_ms"]) == (
        "2026-01-01T12:00:00.000Z", 1.0, 6, 6.0, 1.0,
    )  # fmt: skip
    assert (second["t_s"], second["seconds"], second["requests"], second["ok"]) == (2.0, 1.0, 3, 3)
    assert [(each["address"], each["attempts"], each["ok"], each["rps"]) for each in second["backends"]] == [
        ("127.0.0.1:50061", 1, 1, 1.0),
        ("127.0.0.1:50062", 2, 2, 2.0),
    ]
    assert [(each["share"], each["expected_share"]) for each in second["backends"]] == [
        (0.333333, 0.666667),
        (0.666667, 0.333333),
    ]
    assert abs(second["backends"][0]["p99_ms"] - 5.0) < 0.05
    assert (rest["t_s"], rest["seconds"], rest["ok"], rest["backends"][0]["ok"]) == (2.25, 0.25, 1, 0)
    assert [each["p50_ms"] for each in rest["backends"]] == [None, pytest.approx(1.0, rel=0.01)]


async def test_each_run_of_a_search_has_samples_of_its_own_and_they_add_up_to_it() -> None:
    run, read = Made(), Read()
    run.calls(4, 2)
    run.elapsed_s = 5.0
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: len(read.samples) == 1)
        run.calls(1, 0)
        run.elapsed_s, run.end_reason = 5.1, "duration"
        await read.until(lambda: len(read.samples) == 2)
        run.again()
        run.calls(2, 0)
        run.elapsed_s = 1.0
        await read.until(lambda: len(read.samples) == 3)
    found = [(each["t_s"], each["seconds"], each["requests"], each["backends"][0]["ok"]) for each in read.samples]
    assert found == [(5.0, 5.0, 6, 4), (5.1, pytest.approx(0.1), 1, 1), (1.0, 1.0, 2, 2)]


async def test_events_are_lines_of_their_own_also_those_of_the_end() -> None:
    run, read = Made(), Read()
    run.events.add(Event(0.0, "joined", "127.0.0.1:50061", "joined", "good"))
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: read.events == ["joined"])
        run.events.add(Event(0.5, "left", "127.0.0.1:50061", "left\x1b[2J", "change"))
    assert read.events == ["joined", "left\x1b[2J"]
    assert read.samples == []


async def test_a_log_that_has_forgotten_some_events_still_tells_the_new_ones() -> None:
    run, read = Made(), Read()
    run.events = EventLog(capacity=3, first=1)
    for number in range(3):
        run.events.add(Event(0.0, "log", None, str(number)))
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: len(read.events) == 3)
        run.events.add(Event(0.5, "log", None, "3"))
    assert read.events == ["0", "1", "2", "3"]


async def test_a_warm_up_has_no_samples_and_the_run_after_it_begins_at_nothing() -> None:
    run, read = Made(), Read()
    run.warming, run.elapsed_s = True, 3.0
    run.calls(30, 30)
    run.events.add(Event(0.0, "log", None, "warm"))
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: read.events == ["warm"])
        assert read.samples == []
        run.warming, run.elapsed_s = False, 1.0
        run.first, run.second, run.latency = Histogram(), Histogram(), Histogram()
        run.calls(2, 1)
        await read.until(lambda: len(read.samples) == 1)
    assert [each["ok"] for each in read.samples] == [3]


async def test_a_reader_that_is_slow_gets_fewer_and_longer_samples_that_lack_nothing() -> None:
    run, read = Made(), Read()
    read.behind = True
    run.calls(2, 1)
    run.elapsed_s = 1.0
    async with live(read).showing(run.report, NOBODY):
        await read.until(lambda: read.asked == 2)
        run.calls(2, 1)
        run.elapsed_s = 2.0
        read.behind = False
        await read.until(lambda: len(read.samples) == 1)
    assert [(each["seconds"], each["ok"]) for each in read.samples] == [(2.0, 6)]


async def test_a_run_that_nobody_reads_any_more_is_stopped() -> None:
    run, read, stopped = Made(), Read(), asyncio.Event()

    class Hand:
        def stop(self) -> None:
            stopped.set()

    read.broken = True
    async with live(read).showing(run.report, cast("Controls", Hand())), asyncio.timeout(20):
        await stopped.wait()
