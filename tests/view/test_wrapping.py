"""Sentences on a terminal: broken between words, and never where that would spoil what is to be copied."""

from __future__ import annotations

import pytest

from lbctl.view.wrapping import wrapped

NOTE = "gRPC's own are left out: grpc.health.v1.Health, grpc.reflection.v1.ServerReflection"


def test_a_long_line_is_broken_between_words() -> None:
    assert wrapped(NOTE, 60) == (
        "gRPC's own are left out: grpc.health.v1.Health,\n  grpc.reflection.v1.ServerReflection"
    )
    assert wrapped(NOTE, len(NOTE)) == NOTE
    assert wrapped("-> a:1  p2c pick 1: two drawn  OK", 30) == "-> a:1  p2c pick 1: two drawn\n  OK"


def test_colours_take_no_room_and_wide_characters_two() -> None:
    assert wrapped("\x1b[31mfailed\x1b[0m because of it", 20) == "\x1b[31mfailed\x1b[0m because of it"
    assert wrapped("価格 価格 価格 価格 価格", 20) == "価格 価格 価格 価格\n  価格"


@pytest.mark.parametrize(
    "text", ["hint: see who offers it: lbctl methods test.Admin --all", f"{'x' * 30}", "short\n" + "  ^ " * 20]
)
def test_commands_words_and_further_lines_stay_whole(text: str) -> None:
    assert wrapped(text, 25) == text


@pytest.mark.parametrize("width", [None, 0, 19])
def test_what_is_no_width_breaks_nothing(width: int | None) -> None:
    assert wrapped(NOTE, width) == NOTE
