"""Which connection a subchannel uses: sought, taken, left, replaced.

    CONNECTING -> READY -> (loss) CONNECTING -> ...
    CONNECTING -> TRANSIENT_FAILURE -> (backoff) CONNECTING

After a graceful GOAWAY the replacement is connected while the old connection finishes its calls: a server with a
maximum connection age does not leave the rotation. One whose replacement takes long does.

A connection that may take only so many calls has its successor connected beforehand.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from lbctl.rpc.connector import Connector
from lbctl.rpc.link import Link
from lbctl.rpc.transport import Connectivity
from lbctl.wire.frames import ErrorCode, goaway

_AHEAD: Final = 4  # connecting takes a few round trips, and every call in flight is followed by another in one


class Sitter(Protocol):
    """Who uses the connection. ``seated`` is told before ``become`` says READY, ``unseated`` when it may not go on."""

    state: Connectivity
    reason: str

    def seated(self, link: Link) -> None: ...

    def unseated(self) -> None: ...

    def without(self) -> None:
        """Nothing will come of waiting for a connection."""
        ...

    def become(self, state: Connectivity, reason: str) -> None: ...


class Seat:
    """At most one connection is in it; those that left finish their calls by themselves."""

    def __init__(self, sitter: Sitter, patience_s: float) -> None:
        self.link: Link | None = None
        self.connector: Connector  # set by who makes both
        self._successor: Link | None = None  # ready to be used when the one in use takes no more calls
        self._looks_ahead = False
        self._sitter = sitter
        self._patience_s = patience_s
        self._patience: asyncio.TimerHandle | None = None

    @property
    def seeks(self) -> bool:
        """Whether a connection is wanted that is not there: to be used now, or next."""
        wanted = self.link is None or (self._looks_ahead and self._successor is None)
        return wanted and self._sitter.state is not Connectivity.SHUTDOWN

    def connect(self) -> None:
        """Begin to look for a connection, unless there is one."""
        if self.seeks:
            self.connector.start()

    def shut(self) -> None:
        """Let go of the connection, and look for no other."""
        self._unseat()
        self._successor = None
        self._be_patient_no_more()
        self.connector.stop()

    # What the connector tells.

    def trying(self) -> None:
        """An attempt begins."""
        if self._sitter.state is not Connectivity.READY:
            self._sitter.become(Connectivity.CONNECTING, self._sitter.reason)

    def failed(self, reason: str) -> None:
        """An attempt failed, and the next one has to wait."""
        if self.link is not None:
            return  # it was for later
        self._sitter.become(Connectivity.TRANSIENT_FAILURE, reason)
        self._sitter.without()

    def adopt(self, link: Link) -> None:
        """A new connection is ready."""
        self._looks_ahead = False
        if self.link is not None:
            self._successor = link
            return
        self._be_patient_no_more()
        self.link = link
        self._sitter.seated(link)

    # What becomes of connections.

    def look_ahead(self, link: Link) -> None:
        """Connect the successor of a connection that will soon have taken all the calls it may."""
        session = link.session
        left = (session.last_stream - session.next_id) // 2 + 1
        in_flight = len(session.open) + len(session.done) + len(session.replies)
        if link is self.link and self._successor is None and left <= _AHEAD * max(1, in_flight):
            self._looks_ahead = True
            self.connect()

    def review(self, link: Link) -> None:
        """A connection takes no more calls, or nobody wants to send any."""
        if link is self._successor:
            self._successor = None
        if link.session.closed:
            self._fell(link)
        elif link.session.ready:
            self._drain(link)

    def _fell(self, link: Link) -> None:
        """Nothing can be sent or received on a connection any more."""
        if link is self.link:
            self._unseat()
            self.connector.judge_lost(link)
            if not self._succeeded():
                self._sitter.become(self._state_without, link.session.closed)
                self.connect()

    def _drain(self, link: Link) -> None:
        """Send nothing new on a connection, give back what waits for it, close it once its calls have ended."""
        link.session.release_waiting()
        if link is self.link:
            self._unseat()
            self._replace(link)
        if not link.session.open:
            link.session.emit(goaway(ErrorCode.NO_ERROR))
            link.close("after GOAWAY" if link.session.goaway_reason else "used up" if self.seeks else "retired")

    def _replace(self, link: Link) -> None:
        """Connect anew; unless that has to wait or takes long, the backend stays in the rotation meanwhile."""
        reason = self.connector.judge_left(link)
        if self._succeeded():
            return
        if self.connector.delays_next:
            self._step_down(reason)
        else:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(self._patience_s, self._step_down, reason)
        self.connect()

    def _succeeded(self) -> bool:
        """Use the successor, if it is ready."""
        successor, self._successor = self._successor, None
        if successor is not None:
            self.adopt(successor)
        return successor is not None

    def _step_down(self, reason: str) -> None:
        if self._sitter.state is Connectivity.READY:
            self._sitter.become(self._state_without, reason)
            self._sitter.without()

    @property
    def _state_without(self) -> Connectivity:
        """The state of a backend that has just lost its connection."""
        return Connectivity.TRANSIENT_FAILURE if self.connector.delays_next else Connectivity.CONNECTING

    def _unseat(self) -> None:
        self.link = None
        self._sitter.unseated()

    def _be_patient_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
