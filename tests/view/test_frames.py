from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lbctl.load.controls import Question
from lbctl.model import Code, Endpoint, Event, Origin
from lbctl.stats.report import ErrorGroup, Generator, Report
from lbctl.view.event_panel import error_lines
from lbctl.view.hammer_frame import build
from lbctl.view.header import warning
from lbctl.view.lines import stripped, width_of
from lbctl.view.text import cell_len
from lbctl.view.theme import ASCII, COLOUR, MONOCHROME, PLAIN, UNICODE, Glyphs, Look
from lbctl.view.ui import Ui
from lbctl.view.watch_frame import build_watch
from lbctl.view.watch_ui import WatchUi
from tests.view.goldens import FOLDER, GOLDENS
from tests.view.sample import load_aware, overridden, sample, seasoned
from tests.view.sample_watch import watch_sample

HOSTILE = "\x1b[2J\x1b]0;owned\x07 名前が長い 😀 \u202e\u200b\x9b31m é" * 3
SIZES = st.tuples(st.integers(1, 260), st.integers(1, 70))


@cache
def run(backends: int) -> Report:
    return sample(backends, calls=200 * backends)


@cache
def watched(backends: int) -> Ui:
    return seasoned(run(backends))


def hostile(report: Report) -> Report:
    """Return the same run with everything from the network against us."""
    rows = tuple(
        replace(row, address=row.address + HOSTILE, key=row.key + HOSTILE, reason=HOSTILE, state=state)
        for row, state in zip(
            report.backends, ("ready", "left", "draining", "connecting", "transient_failure") * 20, strict=False
        )
    )
    return replace(
        report,
        method=HOSTILE,
        service=HOSTILE,
        policy=HOSTILE,
        backends=rows,
        error_groups=(ErrorGroup(Code.DATA_LOSS, Origin.HTTP, HOSTILE, 10**9, {HOSTILE: 7}),),
        events=(Event(1e6, "log", HOSTILE, HOSTILE),),
        generator=Generator("wire", 1.0, 1.0, 1.0, (HOSTILE,)),
    )


QUESTIONS = (None, Question("Drain 10.0.0.11:50051 for every client?", "weight 5 -> 0"), Question(HOSTILE, HOSTILE))


@pytest.mark.parametrize("name", GOLDENS)
def test_a_screen_looks_as_agreed(name: str) -> None:
    assert GOLDENS[name]() == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@given(
    size=SIZES,
    backends=st.sampled_from((0, 1, 3, 5, 20, 100)),
    page=st.sampled_from(("main", "events", "connections", "help")),
    glyphs=st.sampled_from((UNICODE, ASCII)),
    histogram=st.sampled_from((None, True, False)),
    bad=st.booleans(),
    focus=st.booleans(),
    recent=st.booleans(),
    wanted=st.sampled_from(("", "ready", "no such", HOSTILE)),
    asked=st.sampled_from(QUESTIONS),
)
@example(
    size=(40, 10),
    backends=3,
    page="connections",
    glyphs=UNICODE,
    histogram=None,
    bad=False,
    focus=False,
    recent=False,
    wanted="",
    asked=None,
)
@settings(max_examples=300)
def test_a_frame_has_exactly_the_lines_of_the_window_and_none_is_too_wide(
    size: tuple[int, int],
    backends: int,
    page: str,
    glyphs: Glyphs,
    histogram: bool | None,
    bad: bool,
    focus: bool,
    recent: bool,
    wanted: str,
    asked: Question | None,
) -> None:
    width, height = size
    report = hostile(run(backends)) if bad else run(backends)
    ui = Ui(page=page, histogram=histogram, focus=focus, recent=recent, sight=watched(backends).sight)
    ui.wanted, ui.typing, ui.asked = wanted, bool(wanted), asked
    lines = build(report, ui, width, height, COLOUR, glyphs)
    assert len(lines) == height
    assert max(map(width_of, lines)) <= width
    for line in lines:
        assert stripped(line).isprintable()
        if glyphs.ascii:
            assert line.isascii()


@given(
    size=SIZES,
    glyphs=st.sampled_from((UNICODE, ASCII)),
    bad=st.booleans(),
    many=st.booleans(),
    ui=st.builds(
        WatchUi,
        help=st.booleans(),
        wanted=st.sampled_from(("", "ready", HOSTILE)),
        typing=st.sampled_from(("", "filter", "weight")),
        weight=st.sampled_from(("", "1234567")),
        weighed=st.sampled_from(("10.0.0.11:50051", HOSTILE)),
        asked=st.sampled_from(QUESTIONS),
        busy=st.sampled_from(("", "reading the registry")),
    ),
)
@settings(max_examples=200)
def test_a_watch_frame_has_exactly_the_lines_of_the_window_and_none_is_too_wide(
    size: tuple[int, int], glyphs: Glyphs, bad: bool, many: bool, ui: WatchUi
) -> None:
    width, height = size
    report = watch_sample()
    if bad:
        rows = tuple(
            replace(
                row,
                instance=replace(row.instance, key=HOSTILE, endpoint=Endpoint(HOSTILE, 1)),
                health=HOSTILE,
                change=HOSTILE,
            )
            for row in report.rows
        )
        report = replace(report, rows=rows, prefix=HOSTILE, events=(Event(0, HOSTILE, HOSTILE, HOSTILE, "bad"),))
    if many:
        report = replace(report, rows=report.rows * 20)
    lines = build_watch(report, ui, width, height, COLOUR, glyphs)
    assert len(lines) == height
    assert max(map(width_of, lines)) <= width
    for line in lines:
        assert stripped(line).isprintable()
        if glyphs.ascii:
            assert line.isascii()


@pytest.mark.parametrize("height", [24, 1])
def test_a_watch_that_has_read_nothing_yet_does_not_say_that_it_is_synced(height: int) -> None:
    report = watch_sample(revision=0, rows=(), events=())
    text = "\n".join(build_watch(report, WatchUi(), 80, height, MONOCHROME, UNICODE))
    assert "reading" in text
    assert "synced" not in text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (140, 45)])
def test_no_colour_means_no_colour_and_keeps_bold(size: tuple[int, int]) -> None:
    report = run(5)
    text = "".join(build(report, watched(5), *size, MONOCHROME, UNICODE))
    assert not re.search(r"\x1b\[(3|9)", text)
    assert "\x1b[1m" in text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (140, 45), (200, 60)])
def test_colour_changes_no_character(size: tuple[int, int]) -> None:
    report, ui = run(20), watched(20)
    coloured = [stripped(line) for line in build(report, ui, *size, COLOUR, ASCII)]
    plain = build(report, ui, *size, PLAIN, ASCII)
    assert coloured[2:] == plain[2:]  # the progress bar's track is a glyph where there is no colour
    assert coloured[0] == plain[0]


def test_every_line_ends_what_it_began() -> None:
    for line in build(run(20), watched(20), 140, 45, COLOUR, UNICODE):
        assert "\x1b" not in line or line.rfind("\x1b[0m") > max(line.rfind("\x1b[3"), line.rfind("\x1b[9"))


def test_a_load_aware_policy_has_no_expected_share_and_no_difference() -> None:
    report = load_aware()
    frame = build(report, Ui(), 60, 24, PLAIN, UNICODE)
    assert "load-aware, not judged" in frame[4]
    assert "pp" not in frame[4]
    assert frame[5].split() == ["ADDRESS", "WT", "ACT%", "SHARE", "RPS", "ERR", "P99"]


@pytest.mark.parametrize("width", [60, 80, 100, 140, 240])
def test_a_weight_that_is_not_the_registrys_is_beside_it(width: int) -> None:
    frame = build(overridden(), Ui(), width, 24, PLAIN, UNICODE)
    rows = [line for line in frame if "50051 " in line and "●" in line]
    assert [line.split("50051")[1].split()[:2] for line in rows] == [["5", "10"], ["3", "0.75"], ["2", "2"]]
    assert "USE" not in "".join(build(sample(3), Ui(), width, 24, PLAIN, UNICODE))


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
def test_what_happened_to_the_selected_backend_is_above_the_events(size: tuple[int, int]) -> None:
    report, ui = overridden(), Ui()
    ui.select(list(report.backends), 1)
    (line,) = [line for line in build(report, ui, *size, PLAIN, UNICODE) if "ERRORS" in line]
    assert line.endswith("─ ▸ 10.0.0.12:50051 ejected 2 times, 7 attempts retried ")
    ui.select(list(report.backends), 0)
    assert "▸" not in next(line for line in build(report, ui, *size, PLAIN, UNICODE) if "ERRORS" in line)


def test_without_calls_every_number_is_a_dash() -> None:
    report = sample(3, calls=0)
    frame = build(report, Ui(), 80, 24, PLAIN, UNICODE)
    assert "p50 -  p90 -  p99 -  max -" in frame[3]
    assert "0us" not in "\n".join(frame)


def test_the_selection_stays_on_its_backend_when_the_order_changes() -> None:
    report = run(20)
    ui = Ui()
    rows = ui.ordered(report)
    ui.select(rows, 7)
    chosen = rows[7].address
    ui.sort, ui.reverse = 1, True
    again = ui.ordered(report)
    assert again[ui.position(again)].address == chosen


def test_the_selected_backend_is_on_the_screen_wherever_it_is() -> None:
    report = run(100)
    ui = Ui()
    rows = ui.ordered(report)
    for index in range(100):
        ui.select(rows, index)
        frame = build(report, ui, 80, 24, PLAIN, UNICODE)
        assert any(line.startswith("▸") and rows[index].address in line for line in frame)


def test_a_warning_shows_whole_clauses_only() -> None:
    doubts = ("stream limit 4 reached: 60% of the time was waiting for a slot; --connections N opens more", "and more")
    report = replace(sample(3), generator=Generator("wire", 1.0, 0.1, 0.1, doubts))
    look = Look(PLAIN, UNICODE)
    assert warning(report, 80, look) == " ! stream limit 4 reached: 60% of the time was waiting for a slot"
    assert warning(report, 96, look) == f" ! {doubts[0]}"
    assert warning(report, 120, look) == f" ! {doubts[0]}; and more"
    assert warning(report, 40, look) == " ! stream limit 4 reached"
    assert warning(report, 20, look) == " ! stream limit 4 r…"


def test_a_long_message_leaves_room_for_the_backend() -> None:
    group = ErrorGroup(Code.UNAVAILABLE, Origin.SERVER, "m" * 90, 14, {"127.0.0.1:34081": 5})
    line = error_lines(sample(3, error_groups=(group,)), 1, 70, Look(PLAIN, UNICODE))[0]
    assert line.endswith("mmm… · 127.0.0.1:34081 36%")
    assert cell_len(line) <= 70


@settings(max_examples=60)
@given(
    size=SIZES,
    backends=st.sampled_from((0, 1, 5, 20)),
    page=st.sampled_from(("main", "events", "connections", "help")),
)
def test_colours_change_no_word(size: tuple[int, int], backends: int, page: str) -> None:
    frames = []
    for style in (COLOUR, PLAIN):
        ui = seasoned(run(backends))
        ui.page = page
        lines = build(run(backends), ui, *size, style, UNICODE)
        frames.append([stripped(line).replace("░", "━") for line in lines])  # what colour alone would tell of a bar
    assert frames[0] == frames[1]


def test_events_are_whole_where_there_is_room_below_and_cut_where_there_is_not() -> None:
    words = "weight 5 -> 10 (registered 5): errors 0% below 1%: doubled, mean 4.9ms below 10ms: +1"
    event = Event(2.0, "weight", "10.0.0.11:50051", words, "change")
    report = sample(3, events=(event,) * 3)
    high = build(report, Ui(), 140, 45, PLAIN, UNICODE)
    assert sum(line.rstrip().endswith("mean 4.9ms below 10ms: +1") for line in high) == 3
    low = build(report, Ui(), 140, 20, PLAIN, UNICODE)
    assert sum(line.rstrip().endswith("…") for line in low) == 3
