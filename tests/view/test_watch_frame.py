"""What the screen of a watch says of backends with several keys, and of those that gRPC clients do not call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.discovery.watch_report import WatchReport
from lbctl.load.controls import Question
from lbctl.model import Event
from lbctl.view.live_watch import WatchView
from lbctl.view.theme import PLAIN, UNICODE, Look
from lbctl.view.watch_frame import build_watch, in_rotation
from lbctl.view.watch_ui import WatchUi
from tests.view.drawing import drawn
from tests.view.hand import Hand
from tests.view.sample_watch import watch_sample


class Looking(Hand[WatchReport]):
    """A watch that remembers what it was told."""

    def check(self) -> None:
        self.calls.append("check")

    def log(self, text: str) -> None:
        """Nothing is logged."""


def looking() -> tuple[Looking, WatchView]:
    stage = Looking(watch_sample())
    return stage, WatchView(lambda: stage.now, stage, Look(PLAIN, UNICODE))


def pressed(view: WatchView, *keys: str) -> list[str]:
    for key in keys:
        view.press(key, 80, 24)
    return drawn(view, 0.0)


def test_one_that_speaks_another_protocol_is_counted_apart() -> None:
    sample = watch_sample()
    web = replace(sample.rows[-1].instance, protocol="http")
    report = watch_sample(
        rows=(*sample.rows[:-1], replace(sample.rows[-1], instance=web, health=None, share=0.0, state="not_grpc"))
    )
    lines = build_watch(report, WatchUi(), 100, 20, PLAIN, UNICODE)
    assert in_rotation(report) == (2, 4)
    assert "BACKENDS 2/4 ready" in lines[1]
    assert "weight 9, 1 not gRPC, 1 draining" in lines[1]
    assert lines[7].split()[:5] == [UNICODE.aside, "10.0.0.16:50051", "2", "0.0%", "http"]


def test_the_key_of_a_backend_tells_how_many_more_there_are() -> None:
    sample = watch_sample()
    report = watch_sample(rows=(replace(sample.rows[0], keys=1_200), *sample.rows[1:]))
    lines = build_watch(report, WatchUi(), 200, 20, PLAIN, UNICODE)
    assert lines[3].rstrip().endswith("/services/demo.echo.v1.Echo/10.0.0.11:50051 and 1,199 more")
    assert lines[4].rstrip().endswith("10.0.0.12:50051")


def test_what_there_is_no_room_for_gives_way_from_the_right() -> None:
    heads = {
        width: build_watch(watch_sample(), WatchUi(), width, 20, PLAIN, UNICODE)[2].split()[8:]
        for width in (112, 126, 180)
    }
    assert heads == {
        112: ["VERSION", "LEASE"],
        126: ["VERSION", "ZONE", "LEASE", "KEY"],
        180: ["VERSION", "ZONE", "LEASE", "RTT", "60s", "KEY"],
    }


def test_keys_that_write_are_about_the_selected_instance() -> None:
    stage, view = looking()
    pressed(view, "j", "d", "x", "j", "w")
    frame = pressed(view, "1", "2", "backspace", "0")
    assert frame[-1].startswith(" weight 10_  Enter: go on  Esc: leave it  10.0.0.13:50051")
    pressed(view, "enter", "w", "7", "esc", "w", "enter")
    assert stage.calls == ["turn 10.0.0.12:50051", "deregister 10.0.0.12:50051", "weigh 10.0.0.13:50051 10"]
    assert pressed(view)[-1].startswith(" q quit  j/k select  w weight  d drain  x deregister  c check")


@pytest.mark.parametrize("typed", ["1.5", "-4", "abc-1", "12345678", "1 0"])
def test_what_is_no_weight_is_not_taken_for_another(typed: str) -> None:
    stage, view = looking()
    frame = pressed(view, "j", "w", *typed, "enter")
    assert frame[-1].startswith(f" weight {typed}_  no weight: digits only  Esc: leave it  10.0.0.12:50051")
    pressed(view, *["backspace"] * len(typed), "7", "enter")
    assert stage.calls == ["weigh 10.0.0.12:50051 7"]


def test_what_is_written_is_asked_about_first() -> None:
    stage, view = looking()
    stage.registry.busy = "reading the registry"
    assert pressed(view)[-1].startswith(" reading the registry …")
    stage.registry.busy = ""
    for key, said in (("y", "yes"), ("q", "no")):
        stage.registry.question = Question("Delete 10.0.0.11:50051 for every client?", "1 key, 4 instances left")
        assert pressed(view)[-1].startswith(" Delete 10.0.0.11:50051 for every client? [y/N]  1 key, 4 instances left")
        assert drawn(view, 0.0, 39, 7)[0].startswith(" Delete 10.0.0.11")
        pressed(view, "repaint", key)
        assert stage.calls.pop() == said
    assert stage.calls == []


def test_an_instance_that_is_gone_is_not_written_to() -> None:
    stage, view = looking()
    gone = replace(stage.now.rows[0], gone_s=1.0)
    stage.now = watch_sample(rows=(gone, *stage.now.rows[1:]))
    pressed(view, "d", "x", "w", "3", "enter")
    assert stage.calls == []


def test_only_instances_with_what_was_typed_are_listed() -> None:
    stage, view = looking()
    frame = pressed(view, "/", *"refuse")
    assert frame[-1].startswith(" /refuse_  Enter: keep  Esc: all instances")
    assert "BACKENDS 3/5 ready  1 of 5 /refuse ─" in frame[1]
    assert "weight 11, 1 draining" in frame[1]  # of all
    assert [line.split()[2] for line in frame if ":50051  " in line[:22]] == ["10.0.0.14:50051"]
    pressed(view, "enter", "d")
    assert stage.calls == ["turn 10.0.0.14:50051"]
    assert "no such instance" in pressed(view, "/", "x")[3]
    frame = pressed(view, "esc")
    assert len([line for line in frame if ":50051  " in line[:22]]) == 5


def test_events_have_all_of_their_words_where_there_is_room() -> None:
    undo = "drained for every client at revision 10; undo: lbctl undrain echo 10.0.0.13:50051"
    report = watch_sample(events=(Event(3.0, "drain", "10.0.0.13:50051", undo, "change"),) * 3)
    roomy = build_watch(report, WatchUi(), 80, 24, PLAIN, UNICODE)
    assert " ".join("\n".join(roomy).split()).count(undo) == 3
    tight = build_watch(report, WatchUi(), 80, 18, PLAIN, UNICODE)
    assert [line.rstrip()[-1] for line in tight if "! drain " in line] == ["…"] * 3
