"""One TCP connection and the session on it: asyncio's bytes in and out, nothing decided here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, cast

from lbctl.clock import Clock
from lbctl.wire.session import Session
from lbctl.wire.state import Call

_HIGH_WATER: Final = 256 << 10
_LOW_WATER: Final = 64 << 10


class Owner(Protocol):
    """Who is told what a link saw; ``received`` also after a loss, so that every call ends."""

    def received(self, link: Link, now_ns: int) -> None: ...

    def lost(self, link: Link) -> None: ...


class Flusher:
    """The links with output waiting: one write per link and turn, however many calls were started on it.

    ``on_written`` is told of every call that had to wait and was in what has just been written.
    """

    def __init__(self, on_written: Callable[[list[Call]], None] = lambda calls: None) -> None:
        self.dirty: list[Link] = []
        self.started: list[Call] = []
        self.on_written = on_written

    def flush(self) -> None:
        """Write everything that waits."""
        while self.dirty:
            self.dirty.pop().flush()
        if self.started:
            calls = self.started.copy()
            self.started.clear()
            self.on_written(calls)


class Link(asyncio.Protocol):
    """A connection from its first byte to its last. ``settled`` resolves when it is ready or lost."""

    def __init__(self, session: Session, owner: Owner, flusher: Flusher, clock: Clock) -> None:
        self.session = session
        self.bytes_in = 0
        self.bytes_out = 0
        self.is_open = False
        self.stage = "connection"  # what it waits for until it is ready
        self.ready_ns = 0  # when its subchannel began to use it
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._flusher = flusher
        self._now = clock.now_ns
        self._transport: asyncio.Transport | None = None
        self._ours = False  # we closed it
        self._handing_over = False  # in the next turn
        session.started = flusher.started

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's is one only in shape
        transport.set_write_buffer_limits(_HIGH_WATER, _LOW_WATER)
        self._transport = transport
        self.session.on_output = partial(self._flusher.dirty.append, self)
        self.is_open = True
        self.stage = "HTTP/2 SETTINGS"
        self.flush()

    def data_received(self, data: bytes) -> None:
        # Stamped before parsing: later frames of this read must not be charged for earlier ones.
        now = self._now()
        self.bytes_in += len(data)
        session = self.session
        session.receive(data)
        self._owner.received(self, now)
        if not self.settled.done() and (session.ready or session.closed):
            self.settled.set_result(None)
        self._flusher.flush()
        if session.closed:
            self.close()

    def pause_writing(self) -> None:
        self.session.pause(True)

    def resume_writing(self) -> None:
        self.session.pause(False)
        self._hand_over()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self.session.lose("connection closed" if self._ours and error is None else describe_loss(error))
        if not self.settled.done():
            self.settled.set_result(None)
        self._owner.received(self, self._now())
        self._owner.lost(self)
        self._flusher.flush()
        self.gone.set_result(None)
        # The two refer to each other, and the collector does not run during a load.
        self.session.on_output = _nobody

    def flush(self) -> None:
        """Hand everything queued to the transport."""
        if self._transport is None:
            return
        session = self.session
        data = session.outgoing()
        # After close or abort uvloop's handle is gone at once, before the loss is reported.
        if data and self.is_open and not self._ours:
            self.bytes_out += len(data)
            self._transport.write(data)
        if (session.replies or session.unsent) and not self._handing_over:
            # Decided while they were being started. In a turn of its own, since ending them may start others.
            self._handing_over = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._handing_over = False
        self._owner.received(self, self._now())
        self._flusher.flush()

    @property
    def write_backlog(self) -> int:
        """Octets handed over that the kernel has not taken yet."""
        return self._transport.get_write_buffer_size() if self._transport is not None and self.is_open else 0

    def close(self) -> None:
        """Write what is queued and close; the loss is reported as usual."""
        self.flush()
        self._ours = True
        if self._transport is not None and self.is_open:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, dropping what is queued."""
        self._ours = True
        if self._transport is not None and self.is_open:
            self._transport.abort()


def _nobody() -> None:
    """Nobody writes for a connection that is gone."""


def describe_loss(error: Exception | None) -> str:
    """Why a connection ended, in the words of the report."""
    if error is None:
        return "connection closed by peer"
    if isinstance(error, ConnectionResetError):
        return "connection reset by peer"
    if isinstance(error, BrokenPipeError):
        return "connection closed by peer while writing"
    return f"connection lost: {error}"
