from __future__ import annotations

import re
from dataclasses import replace

from lbctl.stats.report import Report
from lbctl.view.live_hammer import HammerView
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.view.drawing import drawn
from tests.view.sample import sample, troubled
from tests.view.stage import Stage


class Growing(Stage):
    """A run that gets on: every ``step`` adds calls to its first backend, one of them failed."""

    def step(self, calls: int = 500) -> None:
        first, *others = self.now.backends
        self.now.latency.record(1500, calls - 1)
        row = replace(first, ok=first.ok + calls - 1, errors=first.errors + 1, picks=first.picks + calls)
        self.now = replace(
            self.now,
            elapsed_s=self.now.elapsed_s + 0.1,
            ok=self.now.ok + calls - 1,
            errors=self.now.errors + 1,
            completed=self.now.completed + calls,
            backends=(row, *others),
        )

    def report(self) -> Report:
        return self.now


def growing(**load: object) -> tuple[Growing, HammerView]:
    stage = Growing()
    stage.now = sample(5, load=replace(stage.now.load, **load))  # type: ignore[arg-type]
    return stage, HammerView(stage.report, stage, Look(PLAIN, UNICODE))


def numbers(lines: list[str]) -> dict[str, int]:
    """What the parts of a frame say about finished calls."""
    text = "\n".join(lines)
    table = [line for line in lines if re.match(r"[▸ ] [●◐] 10\.", line)]
    start = next(index for index, line in enumerate(lines) if "LATENCY all" in line)
    bars = [line.split()[-2] for line in lines[start + 1 : start + 7] if line.rstrip().endswith("%")]
    found = {
        "ok": _number(r"ok ([\d,]+)", text),
        "ok, by latency": sum(int(count.replace(",", "")) for count in bars),
        "errors": _number(r"err ([\d,]+)", text),
        "errors, by backend": sum(int(line.split()[-3].replace(",", "")) for line in table),
        "errors, in their rule": _number(r"ERRORS ([\d,]+)", text),
    }
    if "/10,000" in text:
        found["done"] = _number(r"([\d,]+)/10,000", text)
    return found


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    assert match, text
    return int(match[1].replace(",", ""))


def test_all_figures_of_a_frame_are_of_one_moment() -> None:
    stage, view = growing()
    for frame in range(12):
        said = numbers(drawn(view, frame * 0.125))
        assert said["ok"] == said["ok, by latency"]
        assert said["errors"] == said["errors, by backend"] == said["errors, in their rule"]
        assert said["done"] == said["ok"] + said["errors"]
        stage.step()


def test_figures_are_at_most_a_quarter_of_a_second_old() -> None:
    stage, view = growing()
    drawn(view, 0.0)
    stage.step()
    assert numbers(drawn(view, 0.25))["ok"] == stage.now.ok


def test_the_clock_moves_in_every_frame() -> None:
    stage, view = growing(requests=None, duration_s=30.0)
    stage.now = replace(stage.now, elapsed_s=11.85)
    clocks = [re.findall(r"\d\d:\d\d/00:30", "\n".join(drawn(view, now_s))) for now_s in (0.0, 0.125, 0.2)]
    assert clocks == [["00:11/00:30"], ["00:11/00:30"], ["00:12/00:30"]]


def test_figures_stay_those_of_their_moment_while_calls_end_between_two_pieces() -> None:
    stage, view = growing()
    lines = []
    for piece in view.draw(0.0, 80, 24):
        lines += piece
        stage.step()
    said = numbers(lines)
    assert said["ok"] == said["ok, by latency"] == sample(5).ok


def test_a_key_in_the_middle_of_a_frame_has_its_effect_with_the_next() -> None:
    _, view = growing()
    drawing = view.draw(0.0, 80, 24)
    next(drawing)
    view.press("s", 80, 24)
    list(drawing)
    assert any("sort:share" in line for line in drawn(view, 0.01))


def test_the_last_frame_is_that_of_the_end() -> None:
    stage, view = growing()
    drawn(view, 0.0)
    stage.step()
    rows = tuple(replace(row, in_flight=0) for row in stage.now.backends)
    stage.now = replace(stage.now, end_reason="interrupted", in_flight=0, backends=rows)
    last = drawn(view, 0.01, fresh=True)
    assert numbers(last)["ok"] == stage.now.ok
    assert "in-flight 0" in last[2]


def test_calls_in_flight_keep_the_view_from_stopping() -> None:
    stage, view = growing()
    assert not view.settled()
    stage.now = replace(stage.now, in_flight=0)
    assert view.settled()


def test_the_page_of_connections_comes_and_goes_by_its_key() -> None:
    stage, view = growing()
    stage.now = troubled()
    view.press("n", 80, 24)
    frame = drawn(view, 0.0)
    assert any("CONNECTIONS" in line for line in frame)
    assert any("keepalive timeout 2" in line for line in frame)
    assert len(frame) == 24
    view.press("n", 80, 24)
    assert not any("CONNECTIONS" in line for line in drawn(view, 1.0))
