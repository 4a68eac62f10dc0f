from __future__ import annotations

import re
from dataclasses import replace

from lbctl.load.controls import Question
from lbctl.model import Code, Event, Origin
from lbctl.stats.report import ErrorGroup, Report
from lbctl.view.hammer_frame import build
from lbctl.view.live_hammer import HammerView
from lbctl.view.pages import HELP
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.view.drawing import drawn
from tests.view.sample import recently, sample, troubled
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


def growing(window_s: float | None = None, **load: object) -> tuple[Growing, HammerView]:
    stage = Growing()
    stage.now = sample(5, load=replace(stage.now.load, **load))  # type: ignore[arg-type]
    return stage, HammerView(stage.report, stage, Look(PLAIN, UNICODE), window_s=window_s)


def watched_for(seconds: float, window_s: float | None = None, since_s: float = 12.1) -> tuple[Growing, HammerView]:
    """A view on 500 calls every tenth of a second, one of them failed; and what came before."""
    stage, view = growing(window_s)
    stage.now = replace(stage.now, elapsed_s=since_s)
    drawn(view, 0.0)
    for step in range(1, round(seconds * 10) + 1):
        stage.step()
        drawn(view, step * 0.1)
    return stage, view


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
        "errors, by backend": sum(int(line.split()[-3].replace(",", "").replace("-", "0")) for line in table),
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


def test_no_time_in_the_last_frame_is_older_than_the_run() -> None:
    stage, view = growing()
    drawn(view, 0.0)
    for row in stage.now.backends:
        row.latency.record(4_000_000)
    last = [line for line in drawn(view, 0.01, 140, 45, fresh=True) if re.match(r"[▸ ] [●◐] 10\.", line)]
    assert [line.count(" 4.00s ") for line in last] == [1] * 5  # the longest


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


def test_a_key_turns_to_the_last_seconds_and_back() -> None:
    stage, view = watched_for(6.0)
    totals = numbers(drawn(view, 6.1, fresh=True))
    view.press("w", 80, 24)
    frame = drawn(view, 6.2)
    said = numbers(frame)
    assert "last 5s" in frame[2]
    assert "5,000 rps" in frame[2]
    assert said["ok"] == said["ok, by latency"]
    assert said["errors"] == said["errors, by backend"] == said["errors, in their rule"]
    assert said["ok"] == 499 * said["errors"]
    assert abs(said["errors"] - 50) <= 3  # within half a step
    assert said["done"] == totals["done"]  # how far the run is
    view.press("w", 80, 24)
    assert numbers(drawn(view, 6.3)) == totals
    assert numbers(drawn(view, 6.3))["ok"] == stage.now.ok


def test_the_window_can_come_first_and_says_how_long_it_is_while_it_fills() -> None:
    for seconds, words in (
        (0.5, "last 0.5s"),
        (2.3, "last 2.3s"),
        (3.0, "last 3s"),
        (4.8, "last 5s"),
        (9.0, "last 5s"),
    ):
        stage, view = watched_for(seconds, window_s=5.0, since_s=0.0)
        frame = drawn(view, seconds + 1)
        assert f" {words}  ok " in frame[2], seconds
        assert f"BACKENDS 4/5  {words} ─" in frame[4]
        if seconds < 5:
            assert numbers(frame)["ok"] == stage.now.ok


def test_shares_of_a_window_are_its_own_and_the_verdict_is_the_runs() -> None:
    report, ui = recently(idle=2, out=4)
    frame = build(report, ui, 80, 24, PLAIN, UNICODE)
    assert "run: max Δ 5.2pp  p<0.001  SKEWED" in frame[4]
    rows = {line.split(":50051")[0][-2:]: line.split(":50051")[1].split() for line in frame if ":50051  " in line}
    assert rows["12"][:3] == ["3", "27.3", "45.7"]
    assert rows["12"][-5:] == ["182", "12", "1", "2.3ms", "11ms"]
    assert rows["13"] == ["2", "18.2", "0.0", "┃", "-18.2", "-", "8", "-", "-", "-"]  # was due, and got nothing
    assert rows["15"] == ["1", "-", "-", "-", "-", "4", "-", "-", "-"]  # was due nothing


def test_a_key_that_is_about_the_selected_backend_means_the_first_on_the_screen() -> None:
    report, ui = recently(idle=0)
    stage = Growing()
    stage.now = report
    view = HammerView(stage.report, stage, Look(PLAIN, UNICODE))
    view.ui = ui
    ui.sort = 1  # by share: the first was due most, and has got nothing lately
    frame = drawn(view)
    assert "10.0.0.12" in frame[6]
    view.press("d", 80, 24)
    assert stage.calls == ["drain 10.0.0.12:50051"]


def test_views_of_a_window_remember_no_more_from_frame_to_frame() -> None:
    _, view = watched_for(3.0, window_s=1.0)
    assert len(view.ui.sight._lately._kept) <= 6  # the run's and each backend's


def listed(frame: list[str]) -> list[str]:
    return re.findall(r"(10\.0\.0\.\d+):50051  ", "\n".join(frame))


def typed(view: HammerView, *keys: str) -> list[str]:
    for key in keys:
        view.press(key, 80, 24)
    return drawn(view, 0.0)


def test_only_backends_with_what_was_typed_are_listed() -> None:
    stage, view = growing()
    frame = typed(view, "/", "q", "backspace", "0", ".", "1", "4")
    assert listed(frame) == ["10.0.0.14"]
    assert frame[-1].startswith(" /0.14_  Enter: keep  Esc: all backends")
    assert frame[5].split()[:2] == ["ADDRESS", "WT"]
    frame = typed(view, "enter", "d")
    assert stage.calls == ["drain 10.0.0.14:50051"]
    assert "BACKENDS 4/5  1 of 5 /0.14 ─" in frame[4]
    assert " 8.3   8.3 " in frame[6]  # of all backends, as before
    assert len(listed(typed(view, "esc"))) == 5


def test_a_key_has_the_run_begin_anew() -> None:
    stage, view = growing()
    view.press("c", 80, 24)
    assert stage.calls == ["recount"]
    stage.now = sample(5, elapsed_s=0.1, ok=0, errors=0, completed=0, error_groups=(), in_flight=0)
    assert " ok 0  err 0 (-)" in "\n".join(drawn(view, 1.0))


def test_a_drain_for_every_client_is_asked_about_and_only_yes_is_yes() -> None:
    stage, view = growing()
    view.press("D", 80, 24)
    assert stage.calls == ["turn 10.0.0.11:50051"]
    stage.registry.busy = "reading the registry"
    assert drawn(view, 0.0)[-1].startswith(" reading the registry …")
    for key, said in (("y", "yes"), ("Y", "yes"), ("n", "no"), ("q", "no"), ("enter", "no"), ("esc", "no")):
        stage.registry.busy = ""
        stage.registry.question = Question("Drain 10.0.0.11:50051 for every client?", "weight 5 -> 0, 4 of 5 left")
        frame = drawn(view, 0.01)  # at once, though the figures of the frame before were new
        assert frame[-1].rstrip() == " Drain 10.0.0.11:50051 for every client? [y/N]  weight 5 -> 0, 4 of 5 left"
        assert drawn(view, 0.02, 60)[-1].startswith(" Drain 10.0.0.11:50051 for every client? [y/N]  weight 5 ->…")
        assert "Drain" in drawn(view, 0.03, 39, 7)[0]
        view.press("repaint", 80, 24)
        view.press(key, 80, 24)
        assert stage.calls.pop() == said
        assert drawn(view, 0.04)[-1].startswith(" q quit")
    assert stage.calls == ["turn 10.0.0.11:50051"]


def test_backends_are_picked_by_state_and_reason_too() -> None:
    _, view = growing()
    assert listed(typed(view, "/", *"REFUSED", "enter")) == ["10.0.0.14"]
    frame = typed(view, "/", "x")
    assert listed(frame) == []
    assert "no such backend" in frame[6]
    assert len(typed(view, "d", "j", "enter", "space", "esc")) == 24
    assert len(listed(drawn(view, 1.0))) == 5


def test_keys_that_do_not_fit_are_scrolled_to() -> None:
    _, view = growing()
    view.press("?", 60, 20)

    def shown() -> list[str]:
        lines = drawn(view, 0.0, 60, 20, fresh=True)
        start = next(index for index, line in enumerate(lines) if " keys " in line)
        end = next(index for index, line in enumerate(lines) if " more: j/k " in line)
        return [line.split("  ")[0].strip("│ ") for line in lines[start + 1 : end]]

    keys = [key for key, _ in HELP]
    first = shown()
    assert first == keys[: len(first)]
    for _ in range(30):
        view.press("j", 60, 20)
    assert shown() == keys[-len(first) :]
    view.press("k", 60, 20)
    assert shown() == keys[-len(first) - 1 : -1]


def test_the_page_of_events_has_them_whole_and_scrolls_no_farther_than_to_the_first() -> None:
    stage, view = growing()
    long = "drained for every client at revision 7; undo: lbctl undrain echo 10.0.0.11:50051 --endpoints 10.0.0.1:2379"
    events = tuple(Event(float(at), "drain", None, f"{at} {long}") for at in range(30))
    errors = tuple(
        ErrorGroup(Code.UNAVAILABLE, Origin.SERVER, f"{at} {long}", 3, {"10.0.0.11:50051": 2}) for at in range(9)
    )
    stage.now = replace(stage.now, events=events, error_groups=errors)
    view.press("e", 80, 24)
    words = " ".join("\n".join(drawn(view, 0.0, fresh=True)).split())
    assert f"28.0s · 28 {long} 29.0s · 29 {long}" in words
    assert f"3 UNAVAILABLE 10.0.0.11:50051 67% 0 {long} … 8 more, all in the JSON document" in words
    for _ in range(40):
        view.press("k", 80, 24)
    assert f"0.0s · 0 {long}" in " ".join("\n".join(drawn(view, 0.0, fresh=True)).split())
    assert "EVENTS 30 (24 newer below)" in " ".join("\n".join(drawn(view, 0.0, fresh=True)).split())
    view.press("j", 80, 24)
    assert "EVENTS 30 (23 newer below)" in " ".join("\n".join(drawn(view, 0.0, fresh=True)).split())
