"""A server with a script, on a clock of the test's own: each call has a delay known beforehand, and so has every stall.

What it does is worked out a second time by ``expected``, without an engine: calls in a queue before so many slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from tests.load.rig import Rig
from tests.wire import frames as h2
from tests.wire.frames import ReplyBytes

ALWAYS = 1 << 30  # slots


@dataclass(frozen=True)
class Script:
    """``delay_ns`` and ``fails`` are of the n-th request that is read; nothing is answered while the server stalls."""

    delay_ns: Callable[[int], int]
    fails: Callable[[int], int | None] = lambda number: None
    stall_ns: tuple[int, int] = (0, 0)  # from, to; in the time of the run

    def due_ns(self, number: int, read_ns: int) -> int:
        """When the reply to a request comes that was read then."""
        at_ns = read_ns + self.delay_ns(number)
        begin, end = self.stall_ns
        return end if begin <= at_ns < end else at_ns


class Times(NamedTuple):
    """The times of one call that was OK, in nanoseconds."""

    response: int
    service: int


def expected(script: Script, planned_ns: Sequence[int], slots: int = ALWAYS) -> list[Times]:
    """What a client must see that has this many slots and starts calls when they are planned."""
    ends: list[int] = []  # of the calls that have a slot
    found = []
    for number, planned in enumerate(planned_ns):
        begun = planned if len(ends) < slots else max(planned, heapq.heappop(ends))
        end = script.due_ns(number, begun)
        heapq.heappush(ends, end)
        if script.fails(number) is None:
            found.append(Times(end - planned, end - begun))
    return found


def nearest_rank(values: Sequence[int], part: float) -> int:
    """The percentile as a sorted list has it."""
    return sorted(values)[max(1, ceil(part * len(values))) - 1]


def _saying(code: int | None) -> ReplyBytes:
    return h2.reply if code is None else lambda stream: h2.trailers_only(stream, code)


async def play(rig: Rig, script: Script, *, late_ns: int = 0) -> None:
    """Run the open loop of the rig to its end before a server with this script; alarms ring ``late_ns`` late."""
    end = rig.end(1)
    began = rig.clock.now_ns()
    replies: list[tuple[int, int, int]] = []  # when, number, stream
    read = 0
    while True:
        for stream in end.waiting:
            now = rig.clock.now_ns()
            heapq.heappush(replies, (began + script.due_ns(read, now - began), read, stream))
            read += 1
        end.waiting.clear()
        alarm = None if rig.alarm.due_ns is None else rig.alarm.due_ns + late_ns
        moments = [at for at in (alarm, replies[0][0] if replies else None) if at is not None]
        if not moments:
            return
        rig.clock.advance((max(min(moments), rig.clock.now_ns()) - rig.clock.now_ns()) / 1e9)
        now = rig.clock.now_ns()
        if replies and replies[0][0] <= now:
            _, number, stream = heapq.heappop(replies)
            kept, end.waiting = end.waiting, [stream]
            end.answer(1, _saying(script.fails(number)))
            end.waiting += kept
        else:
            rig.alarm.ring()
