from __future__ import annotations

import asyncio
import os
import pty
import tty
from collections.abc import Iterator

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.view.lines import stripped
from lbctl.view.painter import Painter, difference
from lbctl.view.theme import COLOUR

WIDTH, HEIGHT = 12, 4
LINE = st.text(st.sampled_from("ab ━●"), max_size=WIDTH).map(lambda text: f"{COLOUR.ok}{text}{COLOUR.reset}")
FRAME = st.lists(LINE, min_size=HEIGHT, max_size=HEIGHT)


def shown(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display]


@given(st.lists(FRAME, min_size=1, max_size=5))
def test_a_terminal_that_gets_only_differences_shows_the_last_frame(frames: list[list[str]]) -> None:
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    stream.feed("\x1b[?7l")
    old: list[str] = []
    for new in frames:
        stream.feed(difference(old, new, WIDTH).replace("\x1b[?2026h", "").replace("\x1b[?2026l", ""))
        old = new
        assert shown(screen) == [stripped(line).rstrip() for line in new]


def test_only_changed_lines_are_written_and_an_equal_frame_is_nothing() -> None:
    first = ["one", "two", "three"]
    assert difference(first, first, 10) == ""
    change = difference(first, ["one", "2", "three"], 10)
    assert change == "\x1b[?2026h\x1b[2;1H2\x1b[0m\x1b[K\x1b[?2026l"


def test_a_full_line_is_not_erased_to_its_end() -> None:
    assert "\x1b[K" not in difference([""], ["x" * 10], 10)
    assert "\x1b[K" in difference([""], ["x" * 9], 10)


@pytest.fixture
def stalled() -> Iterator[tuple[int, int]]:
    """Provide a terminal nobody reads: its master, and the terminal opened anew without blocking."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    fd = os.open(os.ttyname(slave), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    yield master, fd
    for each in (fd, slave, master):
        os.close(each)


async def test_a_terminal_that_does_not_read_costs_frames_and_no_time(stalled: tuple[int, int]) -> None:
    master, fd = stalled
    painter = Painter(fd)
    frames = [[f"{number} {index} " + "x" * 200 for index in range(60)] for number in range(40)]
    for frame in frames:  # far more than a terminal buffers; would hang here if a write could wait
        painter.paint(frame, 240)
    assert painter.dropped > 0
    assert painter.frames + painter.dropped == len(frames)

    screen = pyte.Screen(240, 60)
    stream = pyte.ByteStream(screen)
    loop = asyncio.get_running_loop()
    shown_last = asyncio.Event()

    def read() -> None:
        data = os.read(master, 1 << 16)
        stream.feed(data.replace(b"\x1b[?2026h", b"").replace(b"\x1b[?2026l", b""))
        if painter.paint(frames[-1], 240) and shown(screen)[59].startswith("39 59"):
            shown_last.set()

    loop.add_reader(master, read)
    async with asyncio.timeout(10):
        await shown_last.wait()
    loop.remove_reader(master)
    painter.close()
    assert shown(screen) == [line.rstrip() for line in frames[-1]]


async def test_a_terminal_that_is_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.close(read)
    painter = Painter(write)
    assert painter.paint(["a"], 10)
    assert painter.paint(["b"], 10)
    painter.close()
    os.close(write)
