"""A frame in slices, between which the run goes on: a call that falls due while one is drawn starts that much later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

SLICE_S = 0.0001  # of drawing at once
_REST_S = 0.001  # between two slices: calls that are due catch up
_LATE = 0.05  # of a rest: where it takes long, the run is late by itself, and a key would wait for many of them


async def in_slices(
    pieces: Iterator[list[str]], clock: Callable[[], float] = time.perf_counter
) -> tuple[list[str], float]:
    """Return the lines of all pieces, and the seconds that drawing them took, rests left out.

    ``clock`` must not be the event loop's own: that stands still while a callback runs.
    """
    lines: list[str] = []
    cost, since, slice_s = 0.0, clock(), SLICE_S
    for piece in pieces:
        lines += piece
        if (spent := clock() - since) >= slice_s:
            rested = clock()
            await asyncio.sleep(_REST_S)
            cost, since = cost + spent, clock()
            slice_s = max(SLICE_S, _LATE * (since - rested))
    return lines, cost + clock() - since
