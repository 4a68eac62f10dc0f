"""Single calls to one backend, awaited: a thin door on the load engine's own subchannel."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from types import TracebackType
from typing import Final, NamedTuple, Self

from lbctl.clock import Clock, SystemClock
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Headers, Request, Stream
from lbctl.wire.state import DEADLINE, Call, Wait

_CLOSED: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "connection closed")
_DEFAULTS: Final = ConnectionOptions()
_NEVER_NS: Final = 1 << 62
_UNDECIDED: Final = frozenset({Connectivity.IDLE, Connectivity.CONNECTING})


class Result(NamedTuple):
    """How a call ended, and how many attempts that took."""

    reply: Reply
    attempts: int


class _Pending:
    """A call somebody awaits."""

    __slots__ = ("attempts", "deadline_ns", "future", "request", "timeout_ns", "waited_for")

    def __init__(self, request: Request, deadline_ns: int) -> None:
        self.request = request
        self.deadline_ns = deadline_ns
        self.timeout_ns = 0
        self.waited_for = Wait.NOTHING
        self.attempts = 1
        self.future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def alone(self) -> _Pending:
        return self

    @property
    def may_repeat(self) -> bool:
        """Whether it can be sent once more: not a second time, and not where what was sent is gone."""
        outbox = self.request.stream.outbox if self.request.stream is not None else None
        return self.attempts == 1 and (outbox is None or not outbox.taken)

    def told(self, reply: Reply) -> Reply:
        """The end of a call that was not processed, and why it is not sent again, where that is due to its messages."""
        if self.attempts > 1 or self.may_repeat:
            return reply
        return reply._replace(reason=f"{reply.reason}; not sent again, as its messages are not kept")

    def end(self, reply: Reply) -> None:
        if not self.future.done():
            self.future.set_result(Result(reply, self.attempts))


def _late(reply: Reply) -> Reply:
    """The end of a call whose deadline has passed, whatever was said of it; what had come by then counts."""
    return DEADLINE._replace(sent=reply.sent, received=reply.received, headers=reply.headers)


class Caller:
    """Calls one backend; a failed call is a Reply, only cancellation escapes.

    A call waits for the connection until its deadline, and fails at once when connecting fails. A call the server
    says it did not process is retried once. The values of ``sensitive`` metadata never enter a compression table.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        authority: str = "",
        options: ConnectionOptions = _DEFAULTS,
        secure: Secure | None = None,
        sensitive: frozenset[bytes] = frozenset(),
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._flusher = Flusher()
        self._authority = authority or endpoint.authority
        self._scheme = "http" if secure is None else "https"
        self._sensitive = sensitive
        self._waiting: list[_Pending] = []
        self._changed = asyncio.Event()
        self._subchannel = Subchannel(
            endpoint,
            None,
            self,
            flusher=self._flusher,
            clock=self._clock,
            rng=Random(),
            options=options,
            secure=secure,
            keep_messages=True,
        )

    async def __aenter__(self) -> Self:
        self._subchannel.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._subchannel.aclose()
        self._changed.set()
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call.end(_CLOSED)

    @property
    def counters(self) -> Counter[str]:
        """What the connections counted so far, closed ones included."""
        return self._subchannel.total_counters()

    @property
    def has_failed(self) -> bool:
        """Whether connecting failed last; until the next attempt every call fails with that reason."""
        return self._subchannel.state is Connectivity.TRANSIENT_FAILURE

    async def connected(self, *, timeout_s: float) -> Reply | None:
        """Wait until it is known whether there is a connection: None, or else the reply every call would get."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._subchannel.state in _UNDECIDED:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return DEADLINE
        return self._unusable()

    def hold(self, held: bool) -> None:
        """Read nothing more of what the backend sends, or go on; not from within ``told``."""
        self._subchannel.hold(held)

    def cancel(self, reply: Reply) -> None:
        """End every call with this reply, which gets the counts of its messages; not from within ``told``."""
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call.end(reply)
        self._subchannel.cancel(reply)

    async def call(self, request: Request) -> Result:
        """One call of a request as it stands, within its own deadline; never raises for a failed call.

        The messages of its outbox are sent as they are put there; never from within ``told``.
        """
        return await self._call(request, request.timeout_ns / 1e9 if request.timeout_ns else None)

    async def unary(
        self, path: str, message: bytes, *, timeout_s: float, metadata: Headers = (), authority: str = ""
    ) -> Result:
        """One call with a deadline in seconds; never raises for a failed call."""
        return await self._call(self._request(path, message, timeout_s, metadata, authority), timeout_s)

    async def stream(
        self,
        path: str,
        messages: Sequence[bytes],
        *,
        timeout_s: float,
        metadata: Headers = (),
        authority: str = "",
    ) -> Result:
        """One streaming call as a whole: the messages, the end of our side, and all that comes back in ``messages``."""
        request = self._request(path, b"", timeout_s, metadata, authority)
        stream = Stream(client=True, server=True, messages=tuple(messages), count=len(messages))
        return await self._call(replace(request, stream=stream), timeout_s)

    async def follow(
        self,
        path: str,
        message: bytes,
        told: Callable[[bytes], None],
        *,
        metadata: Headers = (),
        authority: str = "",
    ) -> Result:
        """One call whose server streams, without a deadline: ``told`` gets each message as it comes.

        Returns at the call's end; cancel it to end it. ``told`` must not use this caller.
        """
        request = self._request(path, b"", 0.0, metadata, authority)
        stream = Stream(client=False, server=True, messages=(message,), told=told)
        return await self._call(replace(request, stream=stream), None)

    def _request(self, path: str, message: bytes, timeout_s: float, metadata: Headers, authority: str) -> Request:
        timeout_ns = max(0, int(timeout_s * 1e9))
        named = authority or self._authority
        return Request(path, message, named, timeout_ns, metadata, self._scheme, sensitive=self._sensitive)

    async def _call(self, request: Request, timeout_s: float | None) -> Result:
        timer: asyncio.TimerHandle | None = None
        call = _Pending(request, _NEVER_NS)
        if timeout_s is not None:
            call.deadline_ns = self._clock.now_ns() + request.timeout_ns
            timer = asyncio.get_running_loop().call_later(timeout_s, self._expire, call)
        outbox = request.stream.outbox if request.stream is not None else None
        if outbox is not None:
            outbox.on_put = partial(self._subchannel.wake, call)
        try:
            self._send(call)
            return await call.future
        except asyncio.CancelledError:
            call.deadline_ns = 0  # nobody waits for it any more: it is ended like one that is too late
            self._expire(call)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _send(self, call: _Pending) -> None:
        unusable = self._unusable()
        if self._clock.now_ns() >= call.deadline_ns:
            call.end(DEADLINE)
        elif unusable is not None:
            call.end(unusable)
        elif self._subchannel.state is not Connectivity.READY:
            self._waiting.append(call)
        else:
            self._subchannel.enqueue(call, call.request)
            self._subchannel.settle()

    def _unusable(self) -> Reply | None:
        """What every call gets where the connection has failed or is closed."""
        if self._subchannel.state is Connectivity.TRANSIENT_FAILURE:
            return Reply(Code.UNAVAILABLE, Origin.TRANSPORT, self._subchannel.reason)
        return _CLOSED if self._subchannel.state is Connectivity.SHUTDOWN else None

    def _expire(self, call: _Pending) -> None:
        if call in self._waiting:
            self._waiting.remove(call)
            call.end(DEADLINE)
        self._subchannel.expire(max(call.deadline_ns, self._clock.now_ns()))

    # What the subchannel tells.

    def finished(self, transport: Transport, session: Baskets, now_ns: int) -> None:
        """Resolve what is over, send again what was not processed."""
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        session.early.clear()
        session.gaps.clear()
        for call, reply in replies:
            assert isinstance(call, _Pending)
            call.end(_late(reply) if now_ns >= call.deadline_ns else reply)
        for call, reply in refused:
            assert isinstance(call, _Pending)
            if call.may_repeat:
                call.attempts += 1
                self._again(call, now_ns)
            else:
                call.end(call.told(reply))
        for call in unsent:
            assert isinstance(call, _Pending)
            self._again(call, now_ns)

    def _again(self, call: _Pending, now_ns: int) -> None:
        if call.deadline_ns < _NEVER_NS:
            call.timeout_ns = max(1, call.deadline_ns - now_ns)
        # In the next turn of the loop: the connection that gave it back is still being dealt with.
        asyncio.get_running_loop().call_soon(self._send, call)

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None:
        """Calls that waited in the subchannel when its connection failed."""
        for call in calls:
            assert isinstance(call, _Pending)
            asyncio.get_running_loop().call_soon(self._send, call)

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        """Release or fail the calls that wait for the connection."""
        self._changed.set()
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self._send(call)
