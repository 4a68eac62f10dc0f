from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from lbctl.view.slices import SLICE_S, in_slices


class Drawing:
    """Pieces that take so long each, on a clock of their own, and what the event loop did by the time of each.

    The loop's other work takes ``turn_s`` each time.
    """

    def __init__(self, *took_s: float, turn_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.turns = 0
        self.seen: list[int] = []
        self._took_s = took_s
        self._turn_s = turn_s

    def pieces(self) -> Iterator[list[str]]:
        for number, took_s in enumerate(self._took_s):
            self.seen.append(self.turns)
            self.now_s += took_s
            yield [f"line {number}"]

    def clock(self) -> float:
        return self.now_s

    def turn(self) -> None:
        """Something else that is due: it counts, and is due again."""
        self.turns += 1
        self.now_s += self._turn_s
        asyncio.get_running_loop().call_soon(self.turn)


async def drawn(drawing: Drawing) -> tuple[list[str], float]:
    asyncio.get_running_loop().call_soon(drawing.turn)
    return await in_slices(drawing.pieces(), drawing.clock)


async def test_the_loop_goes_on_after_each_piece_that_takes_a_slice() -> None:
    drawing = Drawing(*[2 * SLICE_S] * 4)
    lines, _ = await drawn(drawing)
    assert lines == ["line 0", "line 1", "line 2", "line 3"]
    assert len(set(drawing.seen)) == 4


async def test_pieces_that_take_nothing_share_a_slice() -> None:
    drawing = Drawing(*[SLICE_S / 4] * 6)
    await drawn(drawing)
    assert [turns == drawing.seen[0] for turns in drawing.seen] == [True] * 4 + [False] * 2


async def test_the_cost_is_that_of_the_drawing_alone() -> None:
    drawing = Drawing(0.0003, 0.00002, 0.0005, 0.00004)
    _, cost = await drawn(drawing)
    assert cost == pytest.approx(0.00086)


async def test_a_frame_does_not_wait_for_many_turns_of_a_run_that_takes_long_for_each() -> None:
    drawing = Drawing(*[SLICE_S / 5] * 200, turn_s=0.05)
    await drawn(drawing)
    assert len(set(drawing.seen)) <= 3
