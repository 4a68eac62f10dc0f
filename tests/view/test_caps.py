from __future__ import annotations

import pytest

from lbctl.view.caps import Caps, Streams, Wishes, decide
from lbctl.view.theme import ASCII, COLOUR, MONOCHROME, PLAIN, UNICODE

TTY = Streams(True, True, True, True, "utf-8", "utf-8", 120, True)
PIPED = Streams(True, False, True, True, "utf-8", "utf-8", None, True)
NO_INPUT = Streams(False, True, True, True, "utf-8", "utf-8", 120, True)
NO_TTY_FILE = Streams(False, True, True, True, "utf-8", "utf-8", 120, False)
BACKGROUND = Streams(True, True, True, False, "utf-8", "utf-8", 120, True)
CRON = Streams(False, False, False, False, "utf-8", "utf-8", None, False)
XTERM = {"TERM": "xterm"}


def caps(streams: Streams = TTY, ui: str = "auto", colour: str = "auto", ascii_only: bool = False, **env: str) -> Caps:
    return decide({**XTERM, **env}, streams, Wishes(colour, ui, ascii_only))


@pytest.mark.parametrize(
    ("found", "screen", "keys"),
    [
        (caps(), "live", "stdin"),
        (caps(PIPED), "live", "stdin"),
        (caps(NO_INPUT), "live", "tty"),
        (caps(NO_TTY_FILE), "live", "none"),
        (caps(BACKGROUND), "plain", "none"),
        (caps(CRON), "plain", "none"),
        (caps(TERM="dumb"), "plain", "none"),
        (caps(TERM=""), "plain", "none"),
        (caps(CI="true"), "plain", "none"),
        (caps(CI="true", ui="live"), "live", "stdin"),
        (caps(CRON, ui="live"), "plain", "none"),
        (caps(ui="plain"), "plain", "none"),
        (caps(ui="none"), "none", "none"),
        (caps(CRON, FORCE_COLOR="1"), "plain", "none"),
        (caps(CRON, TTY_COMPATIBLE="1", TTY_INTERACTIVE="1"), "plain", "none"),
        (caps(NO_COLOR="1"), "live", "stdin"),
    ],
)
def test_the_live_view_needs_a_terminal_and_nothing_else_turns_it_on(found: Caps, screen: str, keys: str) -> None:
    assert (found.screen, found.keys) == (screen, keys)


@pytest.mark.parametrize(
    ("found", "out", "err"),
    [
        (caps(), COLOUR, COLOUR),
        (caps(PIPED), PLAIN, COLOUR),
        (caps(CRON), PLAIN, PLAIN),
        (caps(NO_COLOR="1"), MONOCHROME, MONOCHROME),
        (caps(NO_COLOR=""), COLOUR, COLOUR),
        (caps(CLICOLOR="0"), MONOCHROME, MONOCHROME),
        (caps(CRON, FORCE_COLOR="1"), PLAIN, COLOUR),
        (caps(PIPED, FORCE_COLOR="1"), PLAIN, COLOUR),
        (caps(CRON, LBCTL_COLOR="always"), COLOUR, COLOUR),
        (caps(CRON, FORCE_COLOR="0"), PLAIN, PLAIN),
        (caps(CRON, CLICOLOR_FORCE="1"), PLAIN, COLOUR),
        (caps(CLICOLOR="0", CLICOLOR_FORCE="1"), COLOUR, COLOUR),
        (caps(CRON, FORCE_COLOR="1", NO_COLOR="1"), PLAIN, PLAIN),
        (caps(NO_COLOR="1", colour="always"), COLOUR, COLOUR),
        (caps(FORCE_COLOR="1", colour="never"), MONOCHROME, MONOCHROME),
        (caps(LBCTL_COLOR="never"), MONOCHROME, MONOCHROME),
        (caps(LBCTL_COLOR="always", colour="never"), MONOCHROME, MONOCHROME),
        (caps(TERM="dumb"), PLAIN, PLAIN),
        (caps(BACKGROUND), COLOUR, COLOUR),
        (caps(CI="true"), COLOUR, COLOUR),
    ],
)
def test_colour_follows_the_flag_then_the_variables_then_the_stream(found: Caps, out: object, err: object) -> None:
    assert (found.out_style, found.err_style) == (out, err)


@pytest.mark.parametrize(
    ("found", "out", "err"),
    [
        (caps(), UNICODE, UNICODE),
        (caps(ascii_only=True), ASCII, ASCII),
        (caps(LBCTL_ASCII="1"), ASCII, ASCII),
        (caps(TERM="dumb"), ASCII, ASCII),
        (caps(CRON), UNICODE, ASCII),
        (caps(Streams(True, True, True, True, "latin-1", "cp936", 80, True)), ASCII, ASCII),
        (caps(Streams(True, True, True, True, None, "no-such-thing", 80, True)), ASCII, ASCII),
    ],
)
def test_glyphs_follow_the_encoding(found: Caps, out: object, err: object) -> None:
    assert (found.out_glyphs, found.err_glyphs) == (out, err)


def test_the_width_of_tables_is_that_of_the_terminal_they_go_to() -> None:
    assert caps().out_width == 120
    assert caps(COLUMNS="70").out_width == 120
    assert caps(PIPED).out_width is None
    assert caps(PIPED, COLUMNS="70").out_width == 70
    assert caps(PIPED, COLUMNS="wide").out_width is None


def test_over_ssh_frames_are_fewer_unless_their_number_was_asked_for() -> None:
    there = "10.0.0.1 5 10.0.0.2 22"
    assert caps().fps == 8
    assert caps(SSH_CONNECTION=there).fps == 4
    assert decide({**XTERM, "SSH_CONNECTION": there}, TTY, Wishes(fps=20)).fps == 20


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (caps(ui="live"), ""),
        (caps(CRON), ""),
        (caps(CRON, ui="plain"), ""),
        (caps(CRON, ui="live"), "standard error is not a terminal"),
        (caps(BACKGROUND, ui="live"), "lbctl is in the background"),
        (caps(TERM="dumb", ui="live"), "TERM is dumb"),
        (caps(TERM="", ui="live"), "TERM is not set"),
    ],
)
def test_a_live_view_that_was_asked_for_and_cannot_be_has_a_reason(found: Caps, why: str) -> None:
    assert found.refused == why
