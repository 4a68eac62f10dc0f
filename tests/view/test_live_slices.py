"""How a frame is drawn beside a run: on a clock that moves as pieces and rests are said to take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from lbctl.view.live import Session

PIECES, PIECE_S = 200, 0.00002


class Moving:
    """A clock, and a view whose pieces take their time on it."""

    keep_frame = False

    def __init__(self, rest_s: float) -> None:
        self.now_s = 0.0
        self.rests = 0
        self._rest_s = rest_s

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        for _ in range(PIECES):
            self.now_s += PIECE_S
            yield []

    async def rest(self, _: float) -> None:
        self.rests += 1
        self.now_s += self._rest_s


class Away:
    entered = False


def rests_of_a_frame(monkeypatch: pytest.MonkeyPatch, rest_s: float) -> int:
    moving = Moving(rest_s)
    session = Session.__new__(Session)
    session._view, session._terminal, session._size = moving, Away(), (80, 24)  # type: ignore[assignment]
    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: moving.now_s)
        patched.setattr(asyncio, "sleep", moving.rest)
        frame = session._frame(0.0)
        with pytest.raises(StopIteration):
            frame.send(None)
    return moving.rests


def test_a_run_gets_its_turn_every_tenth_of_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests_of_a_frame(monkeypatch, 0.001) == pytest.approx(PIECES * PIECE_S / 0.0001, abs=8)


def test_a_frame_does_not_wait_for_many_turns_of_a_run_that_takes_long_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert rests_of_a_frame(monkeypatch, 0.05) <= 3
