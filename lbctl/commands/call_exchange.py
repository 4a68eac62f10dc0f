"""One call from its first octet to its status: what is sent, and what is shown while it comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Final

from lbctl.clock import Clock
from lbctl.commands.call_replies import Replies
from lbctl.load.single import Answer, Done, Picked, Show
from lbctl.model import Code, Reply
from lbctl.rpc.caller import Caller, Result
from lbctl.wire.outbox import Outbox
from lbctl.wire.request import Request

_MOST_WAITING: Final = 256  # messages

Judge = Callable[[Reply], Reply]
Feeding = Callable[[Outbox], Coroutine[None, None, None]]


class Exchange:
    """Makes calls of one method, one at a time. ``keep``: what comes back is in the result, too.

    Of a stream messages are shown as they come. ``judge`` is what --check says of a reply.
    """

    def __init__(self, show: Show, replies: Replies, clock: Clock, *, keep: bool, judge: Judge | None = None) -> None:
        self._show = show
        self._replies = replies
        self._now = clock.now_ns
        self._keep = keep
        self._judge = judge

    async def call(self, picked: Picked, caller: Caller, request: Request, feeding: Feeding | None = None) -> Done:
        """Make one call. With ``feeding`` the messages are those it puts into the outbox it is given.

        Raises CannotCall where a reply is no message of its type, and what ``feeding`` raises.
        """
        metadata = (*request.metadata, *request.own)
        self._show.begun(picked, metadata, request.sensitive)
        began_ns = self._now()
        if request.stream is None:
            result, ended_ns = await self._timed(caller, request)
            answers = await self._single(result.reply)
        else:
            result, ended_ns, answers = await self._streamed(caller, request, feeding)
        reply = result.reply
        done = Done(
            picked,
            reply,
            (ended_ns - began_ns) / 1e9,
            result.attempts,
            tuple(answers),
            await self._replies.details(reply),
            metadata,
            request.sensitive,
            self._failed_check(reply, answers),
            request.stream is not None,
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

    async def _single(self, reply: Reply) -> list[Answer]:
        if reply.code is not Code.OK:
            return []
        answer = await self._replies.answer(reply.message)
        await self._show.answered(answer)
        return [answer]

    async def _streamed(
        self, caller: Caller, request: Request, feeding: Feeding | None
    ) -> tuple[Result, int, list[Answer]]:
        heard = _Heard(caller)
        assert request.stream is not None
        stream = replace(request.stream, told=heard.told)
        outbox = None
        if feeding is not None:
            outbox = Outbox()
            stream = replace(stream, messages=(), count=0, outbox=outbox)
        answers: list[Answer] = []
        calling = asyncio.create_task(self._timed(caller, replace(request, stream=stream)))
        beside = [asyncio.create_task(self._shown(heard, answers))]
        if feeding is not None and outbox is not None:
            beside.append(asyncio.create_task(feeding(outbox)))
        try:
            result, ended_ns = await first_of(calling, beside)
            heard.end()
            await beside[0]
            return result, ended_ns, answers
        finally:
            for task in (calling, *beside):
                task.cancel()
            await asyncio.gather(calling, *beside, return_exceptions=True)

    async def _shown(self, heard: _Heard, answers: list[Answer]) -> None:
        while (octets := await heard.next()) is not None:
            answer = (await self._replies.answer(octets))._replace(of_stream=True)
            if self._keep or self._judge is not None:
                answers.append(answer)
            await self._show.answered(answer)


class _Heard:
    """Messages that came and were not shown yet; where those are many the backend has to wait."""

    def __init__(self, caller: Caller) -> None:
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._hold = caller.hold
        self._held = False
        self._later = asyncio.get_running_loop().call_soon

    def told(self, message: bytes) -> None:
        """Take a message, while the read that brought it is parsed."""
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
