"""Watching over one connection with timers: a peer that says nothing, and one that does not read."""

from __future__ import annotations

from typing import Final, Protocol

from lbctl.clock import Clock
from lbctl.rpc.alarm import Alarm
from lbctl.rpc.keepalive import Heartbeat
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.session import Session

WRITE_STALL: Final = "write stall"


class Watched(Protocol):
    """The connection: when something was read last, what it could not write yet, and how it is ended."""

    session: Session
    heard_ns: int

    @property
    def write_backlog(self) -> int: ...

    def ping(self) -> None: ...

    def give_up(self, kind: str, reason: str) -> None: ...


class Vigil:
    """One connection's watch; it holds no timer while there is nothing to wait for, and none after ``end``."""

    def __init__(self, link: Watched, clock: Clock, options: ConnectionOptions, keepalive_s: float) -> None:
        self._link = link
        self._now = clock.now_ns
        self._stall_ns = round(options.stall_s * 1e9)
        self._beat = Heartbeat(round(keepalive_s * 1e9), round(options.keepalive_timeout_s * 1e9))
        self._next_look = Alarm(self._now, self._look)
        self._stalled = Alarm(self._now, self._look_at_backlog)
        self._backlog = 0

    def begin(self) -> None:
        """The connection is up."""
        self._arm(self._now())

    def end(self) -> None:
        """It is over. The connection is let go of, since the collector does not run during a load."""
        self._next_look.end()
        self._stalled.end()
        del self._link

    # A peer that says nothing.

    def suspect(self, now_ns: int) -> None:
        """Calls have just ended by their deadlines: ask whether the peer is there, if nothing else was heard of it."""
        session = self._link.session
        if session.request is None or not session.request.timeout_ns or not session.open:
            return
        if self._beat.should_probe(now_ns, self._link.heard_ns, session.request.timeout_ns):
            self._link.ping()
            self._arm(now_ns)

    def _look(self) -> None:
        now, link = self._now(), self._link
        over = self._beat.verdict(now, link.heard_ns)
        if over:
            link.give_up(over, over)
            return
        if link.session.open and self._beat.should_ask(now, link.heard_ns):
            self._link.ping()
        self._arm(now)

    def _arm(self, now_ns: int) -> None:
        due = self._beat.next_look_ns(now_ns, self._link.heard_ns)
        if due:
            self._next_look.set(due)

    # A peer that does not read.

    def stall(self) -> None:
        """Nothing more can be written for the moment."""
        self._backlog = self._link.write_backlog
        self._stalled.set(self._now() + self._stall_ns)

    def unstall(self) -> None:
        """Everything was written."""
        self._stalled.cancel()

    def _look_at_backlog(self) -> None:
        """A slow peer is no dead one."""
        if self._link.write_backlog < self._backlog:
            self.stall()
        else:
            waited = f"{self._stall_ns / 1e9:g}s"
            self._link.give_up(WRITE_STALL, f"{WRITE_STALL}: the peer has not read for {waited}")
