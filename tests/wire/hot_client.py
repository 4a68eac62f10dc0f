"""The load engine's way through a subchannel: calls start from the session's template and no message is kept.

The same conformance tests run through it as through ``Caller``, since its fast path is other code.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from types import TracebackType
from typing import Self

from lbctl.clock import SystemClock
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Request
from lbctl.wire.state import DEADLINE, Call, Wait
from tests.wire.clients import Ended


class _HotCall:
    __slots__ = ("attempts", "deadline_ns", "ended", "request", "timeout_ns", "waited_for")

    def __init__(self, request: Request, deadline_ns: int) -> None:
        self.request = request
        self.deadline_ns = deadline_ns
        self.timeout_ns = 0
        self.attempts = 1
        self.waited_for = Wait.NOTHING
        self.ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def alone(self) -> _HotCall:
        return self

    def end(self, reply: Reply) -> None:
        if not self.ended.cancelled():
            assert not self.ended.done(), f"ended twice, now with {reply}"
            self.ended.set_result(Ended(reply, self.attempts))


class HotClient:
    """One subchannel whose template is the first request; other requests take the general way."""

    def __init__(
        self, endpoint: Endpoint, *, authority: str, connect_timeout_s: float, keep_messages: bool = False
    ) -> None:
        self._endpoint, self._authority = endpoint, authority
        self._connect_timeout_s = connect_timeout_s
        self._keep_messages = keep_messages
        self._clock = SystemClock()
        self._template: Request | None = None
        self._subchannel: Subchannel | None = None
        self._waiting: list[_HotCall] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subchannel is not None:
            await self._subchannel.aclose()

    @property
    def counters(self) -> Counter[str]:
        return Counter() if self._subchannel is None else self._subchannel.total_counters()

    @property
    def subchannel(self) -> Subchannel:
        """What the calls go through; there is one from the first call on."""
        assert self._subchannel is not None
        return self._subchannel

    async def unary(self, path: str, message: bytes, /, *, timeout_s: float) -> Ended:
        return await self.call(Request(path, message, self._authority, int(timeout_s * 1e9)))

    async def call(self, request: Request) -> Ended:
        """A call of any kind."""
        subchannel = self._connected(request)
        call = _HotCall(request, self._clock.now_ns() + request.timeout_ns)
        timer = asyncio.get_running_loop().call_later(request.timeout_ns / 1e9, self._expire, subchannel, call)
        try:
            self._send(subchannel, call)
            return await call.ended
        finally:
            timer.cancel()

    def _connected(self, request: Request) -> Subchannel:
        if self._subchannel is None:
            self._template = request
            self._subchannel = Subchannel(
                self._endpoint,
                request,
                self,
                flusher=Flusher(),
                clock=self._clock,
                rng=Random(1),
                options=ConnectionOptions(connect_timeout_s=self._connect_timeout_s),
                keep_messages=self._keep_messages,
            )
            self._subchannel.connect()
        return self._subchannel

    def _send(self, subchannel: Transport, call: _HotCall) -> None:
        if subchannel.state is Connectivity.TRANSIENT_FAILURE:
            call.end(Reply(Code.UNAVAILABLE, Origin.TRANSPORT, subchannel.reason))
        elif subchannel.state is not Connectivity.READY:
            self._waiting.append(call)
        else:
            self._start(subchannel, call)
            subchannel.settle()

    def _start(self, subchannel: Transport, call: _HotCall) -> None:
        if call.request == self._template and not call.timeout_ns:
            subchannel.send(call)
        else:
            subchannel.enqueue(call, call.request)

    def _expire(self, subchannel: Transport, call: _HotCall) -> None:
        if call in self._waiting:
            self._waiting.remove(call)
            call.end(DEADLINE)
        subchannel.expire(max(call.deadline_ns, self._clock.now_ns()))

    def finished(self, subchannel: Transport, session: Baskets, now_ns: int) -> None:
        done, session.done = session.done, []
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        session.early.clear()
        session.gaps.clear()
        ended = [(call, Reply(Code.OK)) for call in done] + replies
        for call, reply in ended + [(call, reply) for call, reply in refused if self._attempts(call) > 1]:
            assert isinstance(call, _HotCall)
            # As in a load: what comes after the deadline is late, even if our timer has not looked yet.
            late = now_ns >= call.deadline_ns and reply.origin is not Origin.CLIENT
            call.end(DEADLINE if late else reply)
        for call in [call for call, _ in refused if self._attempts(call) == 1]:
            assert isinstance(call, _HotCall)
            call.attempts += 1
            self._again(subchannel, call, now_ns)
        for call in unsent:
            self._again(subchannel, call, now_ns)

    @staticmethod
    def _attempts(call: Call) -> int:
        assert isinstance(call, _HotCall)
        return call.attempts

    def _again(self, subchannel: Transport, call: Call, now_ns: int) -> None:
        assert isinstance(call, _HotCall)
        call.timeout_ns = max(1, call.deadline_ns - now_ns)
        asyncio.get_running_loop().call_soon(self._send, subchannel, call)

    def returned(self, subchannel: Transport, calls: list[Call], now_ns: int) -> None:
        for call in calls:
            assert isinstance(call, _HotCall)
            if call.deadline_ns <= now_ns:
                call.end(DEADLINE)
                continue
            asyncio.get_running_loop().call_soon(self._send, subchannel, call)

    def changed(self, subchannel: Transport, state: Connectivity, reason: str) -> None:
        if state not in (Connectivity.READY, Connectivity.TRANSIENT_FAILURE):
            return
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            if state is Connectivity.READY:
                self._start(subchannel, call)
            else:
                call.end(Reply(Code.UNAVAILABLE, Origin.TRANSPORT, reason))
