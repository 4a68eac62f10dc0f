"""Calls in flight on grpcio channels: each is a task of its own, and ends exactly once, whoever ends it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lbctl.clock import Clock
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.rpcs import Metadata, Progress, Rpcs
from lbctl.wire.frames import error_name
from lbctl.wire.request import Request
from lbctl.wire.state import DEADLINE, Call

_NO_DEADLINE_NS: Final = 1 << 60
LOST: Final = Reply(Code.UNAVAILABLE, Origin.TRANSPORT, "connection closed")


@dataclass(slots=True)
class Basket:
    """Baskets of a transport that ends calls one by one."""

    done: list[Call] = field(default_factory=list)
    replies: list[tuple[Call, Reply]] = field(default_factory=list)
    unsent: list[Call] = field(default_factory=list)
    refused: list[tuple[Call, Reply]] = field(default_factory=list)
    early: list[tuple[Call, int]] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    resets: int = 0
    committed: list[Call] = field(default_factory=list)

    def put(self, flight: Flight, ending: Ending) -> None:
        """Add a call that has ended."""
        progress, reply = flight.progress, ending.reply
        self.resets += flight.cut
        if flight.request.stream is not None:
            reply = reply._replace(sent=progress.sent, received=progress.received, messages=tuple(progress.messages))
            reply = reply._replace(headed=progress.received > 0 and not reply.is_ok)
            self.gaps += progress.gaps
            if progress.first_ns:
                self.early.append((flight.call, progress.first_ns))
        if ending.refused and not progress.received:  # whether headers came grpcio does not tell
            self.refused.append((flight.call, reply))
        elif reply.code is Code.OK and flight.request.stream is None and not progress.keep:
            self.done.append(flight.call)
        else:
            self.replies.append((flight.call, reply))


@dataclass(slots=True, eq=False)
class Flight:
    """One call that grpcio has been given."""

    call: Call
    request: Request
    progress: Progress
    task: asyncio.Task[None] | None = None
    over: bool = False
    cut: bool = False  # we ended it, and grpcio may still have sent it


Ended = Callable[[Flight, Ending, int], None]  # once per flight, with the time in ns
Began = Callable[[Flight], None]  # at most once per stream, when its first message comes


class Flights:
    """All calls that were handed to one channel; ``ended`` is told of each end, once, ``began`` of each reply."""

    def __init__(
        self,
        rpcs: Rpcs,
        clock: Clock,
        counters: Counter[str],
        ended: Ended,
        began: Began | None,
        *,
        keep_messages: bool,
    ) -> None:
        self._rpcs = rpcs
        self._now = clock.now_ns
        self._counters = counters
        self._ended = ended
        self._began = began
        self._keep = keep_messages
        self._open: set[Flight] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # also of calls that we have ended, and grpcio not yet

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, call: Call, request: Request, metadata: Metadata) -> Flight:
        """Hand a call to grpcio; it is on its own from here."""
        flight = Flight(call, request, Progress(self._now, self._keep))
        if self._began is not None:
            flight.progress.began = partial(self._began, flight)
        self._open.add(flight)
        flight.task = asyncio.get_running_loop().create_task(self._fly(flight, metadata))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(self._tasks.discard)
        return flight

    async def _fly(self, flight: Flight, metadata: Metadata) -> None:
        call, request = flight.call, flight.request
        timeout_s = None
        if call.deadline_ns < _NO_DEADLINE_NS:
            timeout_s = max(0.0, (call.deadline_ns - self._now()) / 1e9)
        try:
            ending = await self._rpcs.call(request, flight.progress, timeout_s, metadata)
        except asyncio.CancelledError:
            ending = Ending(LOST)  # unless we ended it: the channel was closed
        if ending.reset is not None:
            self._counters[f"rst_received: {error_name(ending.reset)}"] += 1
        self.end(flight, ending)

    def end(self, flight: Flight, ending: Ending) -> None:
        """The call has ended; grpcio is told where it was us who ended it."""
        if flight.over:
            return
        flight.over = True
        self._open.discard(flight)
        task = flight.task
        if task is not None and task is not asyncio.current_task():
            flight.cut = True
            task.cancel()
        self._ended(flight, ending, self._now())

    def abandon(self, call: Call) -> bool:
        """End a call of which nobody is told; whether it was here."""
        for flight in [flight for flight in self._open if flight.call is call]:
            flight.over = True
            self._open.discard(flight)
            if flight.task is not None:
                flight.task.cancel()
            return True
        return False

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        for flight in [flight for flight in self._open if flight.call.deadline_ns <= now_ns]:
            self.end(flight, Ending(DEADLINE))

    def end_all(self, reply: Reply) -> None:
        """End every call with this reply."""
        for flight in list(self._open):
            self.end(flight, Ending(reply))

    async def gone(self) -> None:
        """Wait until grpcio is done with every call that has ended."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))
