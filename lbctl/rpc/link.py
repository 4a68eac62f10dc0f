"""One connection and the session on it: asyncio's bytes in and out, nothing decided here."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, cast

from lbctl.clock import Clock
from lbctl.rpc import tls
from lbctl.rpc.alarm import Alarm
from lbctl.rpc.cutoff import cut_off
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.vigil import WRITE_STALL, Vigil
from lbctl.wire.session import Session
from lbctl.wire.state import Call

_MOST_CONTROL: Final = 64 << 10  # octets of control frames for a peer that does not read
_DEFAULTS: Final = ConnectionOptions()


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
    """A connection from its first byte to its last. ``settled`` resolves when it is ready or lost.

    As soon as the kernel does not take everything, the session is paused: what it holds back can still go elsewhere.
    Calls that were cut off are written when the last octet has gone.
    """

    def __init__(
        self,
        session: Session,
        owner: Owner,
        flusher: Flusher,
        clock: Clock,
        options: ConnectionOptions = _DEFAULTS,
        keepalive_s: float = 0.0,
    ) -> None:
        self.session = session
        self.bytes_in = self.bytes_out = self.reads = self.blocked_writes = self.pings_sent = 0
        self.is_open = False
        self.stage = "connection"  # what it waits for until it is ready
        self.ready_ns = 0  # when its subchannel began to use it
        self.heard_ns = 0  # when something was read last
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._flusher = flusher
        self._now = clock.now_ns
        self._vigil: Vigil  # while it is up: it refers to us
        self._talk: Alarm  # likewise
        self._watch = partial(Vigil, clock=clock, options=options, keepalive_s=keepalive_s)
        self._transport: asyncio.Transport | None = None
        self._shows_certificate: bool | None = None  # to a peer that asks for one; None: it is not asked, without TLS
        self._ours = ""  # why we closed it
        self._end = ""  # how it ended, in a word or two
        self._handing_over = False  # in the next turn
        self._holding = False
        self._clogged_ns = 0  # since when the kernel has not taken everything
        self._paused_ns = 0
        self._control = 0  # octets queued since then
        self._held: list[Call] = []  # cut off by it
        session.started = flusher.started

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's is one only in shape
        self._shows_certificate = transport.get_extra_info("shows_certificate")
        transport.set_write_buffer_limits(0, 0)
        self._transport = transport
        self._vigil = self._watch(self)
        self._talk = Alarm(self._now, self._on_talk)
        self.session.on_output = partial(self._flusher.dirty.append, self)
        self.is_open = True
        self.stage = "HTTP/2 SETTINGS"
        self.heard_ns = self._now()
        self.flush()
        self._vigil.begin()

    def data_received(self, data: bytes) -> None:
        # Stamped before parsing: later frames of this read must not be charged for earlier ones.
        self.heard_ns = now = self._now()
        self.reads += 1
        self.bytes_in += len(data)
        session = self.session
        session.receive(data, now)
        self._owner.received(self, now)
        if not self.settled.done() and (session.ready or session.closed):
            self.settled.set_result(None)
        self._flusher.flush()
        talk_ns = session.next_talk_ns
        if talk_ns:
            self._talk.set(talk_ns)
        if session.closed:
            self.close("protocol error" if session.counters["protocol_errors"] else "not HTTP/2")

    def pause_writing(self) -> None:
        self._clogged_ns = self._now()
        self.session.pause(True)

    def resume_writing(self) -> None:
        self._paused_ns, self._clogged_ns = self.paused_ns, 0
        self._vigil.unstall()
        self._flusher.started.extend(self._still_held())
        self._held.clear()
        self.session.pause(False)
        self._hand_over()

    def connection_lost(self, error: Exception | None) -> None:
        if self.gone.done():  # its owner did not wait for the loop to say so
            return
        self.is_open = False
        self._vigil.end()
        self._talk.end()
        self._end, reason = self._loss(error)
        self.session.lose(reason)
        if not self.settled.done():
            self.settled.set_result(None)
        self._owner.received(self, self._now())
        self._owner.lost(self)
        self._flusher.flush()
        self.gone.set_result(None)
        # The two refer to each other, and the collector does not run during a load.
        self.session.on_output = _nobody

    def _loss(self, error: Exception | None) -> tuple[str, str]:
        """How it ended, in a word and in words."""
        if self._ours:
            return self._ours, "connection closed" if error is None else describe_loss(error)[1]
        end, reason = describe_loss(error, shows_certificate=bool(self._shows_certificate))
        if not (self.session.ready or self.bytes_in) and end in ("by peer", "reset"):
            shows = self._shows_certificate
            guess = "it may want TLS" if shows is None else tls.guess(shows_certificate=shows)
            reason += f" before its HTTP/2 SETTINGS: {guess}"
        return end, reason

    # Writing.

    def flush(self) -> None:
        """Hand everything queued to the transport."""
        if self._transport is None:
            return
        session = self.session
        data = session.outgoing()
        # After close or abort uvloop's handle is gone at once, before the loss is reported.
        if data and self.is_open and not self._ours:
            self.bytes_out += len(data)
            was_clogged = self._clogged_ns
            self._transport.write(data)
            if self._clogged_ns:
                self._hold(data, was_clogged=was_clogged > 0)
        if session.replies or session.unsent or session.committed:
            self._hand_over_soon()  # decided while they were being started
        talk_ns = session.next_talk_ns
        if talk_ns:
            self._talk.set(talk_ns)

    def _hold(self, data: bytes, *, was_clogged: bool) -> None:
        """The kernel did not take everything."""
        if was_clogged:
            self._control += len(data)
            if self._control > _MOST_CONTROL:
                self.give_up(WRITE_STALL, f"{WRITE_STALL}: the peer reads nothing and has to be told too much")
            return
        self.blocked_writes += 1
        self._control = 0
        self._vigil.stall()
        self._held += self.session.block_unsent(*cut_off(data, len(data) - self.write_backlog))

    def _still_held(self) -> list[Call]:
        """Those cut off that have not ended meanwhile."""
        still_open = set(map(id, self.session.open.values())) if self._held else ()
        return [call for call in self._held if id(call) in still_open]

    def _hand_over_soon(self) -> None:
        """In a turn of its own, since ending calls may start others."""
        if not self._handing_over:
            self._handing_over = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._handing_over = False
        self._owner.received(self, self._now())
        self._flusher.flush()

    def _on_talk(self) -> None:
        """The session had asked to be called at this time."""
        self.session.talk(self._now())
        self._hand_over()
        talk_ns = self.session.next_talk_ns
        if talk_ns:
            self._talk.set(talk_ns)

    # What its owner asks.

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        session = self.session
        before = len(session.open)
        session.expire(now_ns)
        expired = len(session.open) < before
        self._owner.received(self, now_ns)
        self._flusher.flush()
        if expired and self.is_open:
            self._vigil.suspect(now_ns)

    def abandon(self, call: Call) -> bool | None:
        """End one call that nobody wants to hear of again; see ``Transport.abandon``."""
        found = self.session.abandon(call)
        if found is not None:
            self._hand_over_soon()  # its slot is free, and it may have been the last one here
        return found

    def hold(self, held: bool) -> None:
        """Read nothing, or go on reading: the peer has to wait for whoever takes what it sends."""
        if self._transport is not None and self.is_open and held != self._holding:
            self._holding = held
            (self._transport.pause_reading if held else self._transport.resume_reading)()

    def ping(self) -> None:
        """Ask the peer whether it is there."""
        self.pings_sent += 1
        self.session.ping(b"lbctl" + (self.pings_sent & 0xFF_FFFF).to_bytes(3, "big"))
        self._flusher.flush()

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot, or for the peer to read."""
        return len(self.session.waiting) + len(self._still_held())

    @property
    def write_backlog(self) -> int:
        """Octets handed over that the kernel has not taken yet."""
        return self._transport.get_write_buffer_size() if self._transport is not None and self.is_open else 0

    @property
    def paused_ns(self) -> int:
        """How long it could not write, in all."""
        return self._paused_ns + (self._now() - self._clogged_ns if self._clogged_ns else 0)

    def counters(self) -> Counter[str]:
        """What the session and the connection counted; how it was closed once it is."""
        total = self.session.total_counters()
        for name in ("bytes_in", "bytes_out", "reads", "blocked_writes", "pings_sent"):
            total[name] = getattr(self, name)
        total["opened"] = int(self._transport is not None)
        if self._end:
            total[f"closed: {self._end}"] = 1
        return +total

    def close(self, why: str = "by lbctl") -> None:
        """Write what is queued and close; the loss is reported as usual."""
        self.flush()
        self._ours = self._ours or why
        if self._transport is not None and self.is_open:
            self._transport.close()

    def abort(self, why: str = "by lbctl") -> None:
        """Close at once, dropping what is queued."""
        self._ours = self._ours or why
        if self._transport is not None and self.is_open:
            self._transport.abort()

    def give_up(self, kind: str, reason: str) -> None:
        """The peer is of no use any more: every open call ends with this reason."""
        self.session.lose(reason)
        self.abort(kind)


def _nobody() -> None:
    """Nobody writes for a connection that is gone."""


def describe_loss(error: Exception | None, *, shows_certificate: bool = False) -> tuple[str, str]:
    """How a connection ended, in a word or two that are always the same, and in the words of the report."""
    if error is None:
        return "by peer", "connection closed by peer"
    if isinstance(error, ConnectionResetError):
        return "reset", "connection reset by peer"
    if isinstance(error, BrokenPipeError):
        return "by peer", "connection closed by peer while writing"
    if isinstance(error, ssl.SSLError):
        return "TLS", f"connection lost: {tls.describe(error, '', shows_certificate=shows_certificate)}"
    return "lost", f"connection lost: {getattr(error, 'strerror', None) or error}".lower()
