"""One call from its first octet to its status: what is sent, and what is shown while it comes back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Final

from lbctl.clock import Clock
from lbctl.commands.call_replies import Replies
from lbctl.commands.stopping import spelled
from lbctl.errors import LbctlError
from lbctl.load.single import Answer, Done, Picked, Show
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.caller import Caller, Result
from lbctl.wire.outbox import Outbox
from lbctl.wire.request import Request

_MOST_WAITING: Final = 256  # messages
_CLOSING_S: Final = 0.2  # for a call to end that is cancelled

Judge = Callable[[Reply], Reply]
Feeding = Callable[[Outbox], Coroutine[None, None, None]]
Signal = Callable[[], int | None]


@dataclass(slots=True)
class _Kept:
    """What is left of the messages once they are shown: all, or none, and why the first is unreadable that is."""

    answers: list[Answer] = field(default_factory=list)
    unreadable: str = ""


class Exchange:
    """Makes calls of one method. ``keep``: what comes back is in the result, too.

    Messages are shown as they come. ``judge`` is what --check says of a reply. ``signal`` tells the number of the
    signal that ends everything, once one has come.
    """

    def __init__(
        self, show: Show, replies: Replies, clock: Clock, signal: Signal, *, keep: bool, judge: Judge | None = None
    ) -> None:
        self._show = show
        self._replies = replies
        self._now = clock.now_ns
        self._signal = signal
        self._keep = keep
        self._judge = judge

    async def call(self, picked: Picked, caller: Caller, request: Request, feeding: Feeding | None = None) -> Done:
        """Make one call. With ``feeding`` the messages are those it puts into the outbox it is given.

        A call that is cancelled by a signal is returned as it is then. Raises what ``feeding`` raises.
        """
        self._show.begun(picked, (*request.metadata, *request.own), request.sensitive)
        streams, limit = request.stream is not None, _limit(request)
        kept, heard, outbox = _Kept(), _Heard(caller, limit), Outbox()
        began_ns = self._now()
        calling = asyncio.create_task(self._timed(caller, _beside(request, heard, outbox, fed=feeding is not None)))
        shown = asyncio.create_task(self._shown(heard, kept, of_stream=streams))
        fed = None if feeding is None else asyncio.create_task(feeding(outbox))
        tasks = [shown, *([fed] if fed is not None else [])]
        try:
            result, ended_ns = await first_of(calling, tasks)
            is_early = fed is not None and not fed.done() and _ended_by_server(request, result.reply)
            if not streams and result.reply.code is Code.OK:
                heard.told(result.reply.message)
            heard.end()
            await shown
        except LbctlError as error:
            error.hint = _amid(error, picked, outbox)
            raise
        except asyncio.CancelledError:
            number = self._signal()
            if number is None:
                raise
            is_early = False
            result, ended_ns = await self._cancelled(caller, calling, number)
        finally:
            await _over(calling, *tasks)
        latency_s = (ended_ns - began_ns) / 1e9
        reply = result.reply._replace(received=min(result.reply.received, limit))
        ended = Done(picked, reply, latency_s, result.attempts, streams=streams, is_early=is_early)
        return await self._told(ended, request, kept)

    async def _told(self, done: Done, request: Request, kept: _Kept) -> Done:
        """The call with all that is known of it, shown."""
        done = replace(
            done,
            answers=tuple(kept.answers) if self._keep else (),
            details=await self._replies.details(done.reply),
            metadata=(*request.metadata, *request.own),
            sensitive=request.sensitive,
            failed_check="" if kept.unreadable else self._failed_check(done.reply, kept.answers),
            unreadable=kept.unreadable,
        )
        self._show.ended(done)
        return done

    def _failed_check(self, reply: Reply, answers: list[Answer]) -> str:
        if self._judge is None or reply.code is not Code.OK:
            return ""
        octets = tuple(each.octets for each in answers)
        judged = self._judge(reply._replace(message=octets[0] if octets else b"", messages=octets))
        return "" if judged.is_ok else judged.reason

    async def _timed(self, caller: Caller, request: Request) -> tuple[Result, int]:
        result = await caller.call(request)
        return result, self._now()

    async def _shown(self, heard: _Heard, kept: _Kept, *, of_stream: bool) -> None:
        while (octets := await heard.next()) is not None:
            answer = (await self._replies.answer(octets))._replace(of_stream=of_stream)
            kept.unreadable = kept.unreadable or answer.unreadable
            if self._keep or self._judge is not None:
                kept.answers.append(answer)
            await self._show.answered(answer)

    async def _cancelled(
        self, caller: Caller, calling: asyncio.Task[tuple[Result, int]], number: int
    ) -> tuple[Result, int]:
        """End a call, if it has not ended by itself; with the counts of its messages."""
        reply = Reply(Code.CANCELLED, Origin.CLIENT, f"cancelled by {spelled(number)}")
        caller.cancel(reply)
        await asyncio.wait({calling}, timeout=_CLOSING_S)
        return calling.result() if calling.done() else (Result(reply, 1), self._now())


def _beside(request: Request, heard: _Heard, outbox: Outbox, *, fed: bool) -> Request:
    """The request, its messages told as they come, and taken from the outbox where they are ``fed`` into it."""
    if request.stream is None:
        return request
    stream = replace(request.stream, told=heard.told)
    return replace(request, stream=replace(stream, messages=(), count=0, outbox=outbox) if fed else stream)


def _limit(request: Request) -> int:
    """How many messages are wanted."""
    return (request.stream.limit if request.stream is not None else 0) or sys.maxsize


def _ended_by_server(request: Request, reply: Reply) -> bool:
    """Whether it was the server that ended a call, and no limit that the user has set."""
    limited = request.stream is not None and (request.stream.limit or request.stream.duration_ns)
    return reply.origin is Origin.SERVER and not limited


def _amid(error: LbctlError, picked: Picked, outbox: Outbox) -> str:
    """The hint of a mistake in a message of a call that has begun: what became of the messages before it."""
    sent = {0: "nothing was", 1: "1 message was"}.get(outbox.taken, f"{outbox.taken:,} messages were")
    what = f"{sent} sent to {picked.instance.address} before it, and the call is cancelled"
    return f"{error.hint}; {what}" if error.hint else what


async def _over(*tasks: asyncio.Task[None] | asyncio.Task[tuple[Result, int]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Heard:
    """Messages that came and were not shown yet; where those are many the backend has to wait.

    More than ``limit`` are not heard: when the call is ended for that, others may be on their way.
    """

    def __init__(self, caller: Caller, limit: int) -> None:
        self._left = limit
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._hold = caller.hold
        self._held = False
        self._later = asyncio.get_running_loop().call_soon

    def told(self, message: bytes) -> None:
        """Take a message, while the read that brought it is parsed."""
        if not self._left:
            return
        self._left -= 1
        self._messages.put_nowait(message)
        if self._messages.qsize() == _MOST_WAITING:
            self._later(self._review)

    def _review(self) -> None:
        """Hold the connection back, if that is still called for."""
        if self._messages.qsize() >= _MOST_WAITING:
            self._held = True
            self._hold(True)

    def end(self) -> None:
        """There will be no more."""
        self._messages.put_nowait(None)

    async def next(self) -> bytes | None:
        """The next message, None behind the last."""
        if self._held and self._messages.qsize() <= _MOST_WAITING // 2:
            self._held = False
            self._hold(False)
        return await self._messages.get()


async def first_of(calling: asyncio.Task[tuple[Result, int]], beside: list[asyncio.Task[None]]) -> tuple[Result, int]:
    """Wait for the end of a call; raises at once what goes wrong beside it."""
    pending: set[asyncio.Task[None] | asyncio.Task[tuple[Result, int]]] = {calling, *beside}
    while calling in pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if task is not calling:
                task.result()
    return calling.result()
