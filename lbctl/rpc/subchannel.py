"""A subchannel: the connection to one backend, kept up. Connecting, backoff, draining and replacement live here.

    IDLE -> CONNECTING -> READY -> (loss) CONNECTING -> ...
            CONNECTING -> TRANSIENT_FAILURE -> (backoff) CONNECTING

After a graceful GOAWAY the replacement is connected while the old connection finishes its calls, and calls picked
meanwhile wait here: a server with a maximum connection age neither loses calls nor leaves the rotation. One whose
replacement takes long leaves it, and the calls that wait here are returned.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Final

from lbctl.clock import Clock
from lbctl.model import Endpoint, Reply
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.connector import Connector
from lbctl.rpc.dial import TCP, Network
from lbctl.rpc.link import Flusher, Link
from lbctl.rpc.links import Links
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.frames import ErrorCode, goaway
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import Call, Wait

_PATIENCE_S: Final = 1.0  # how long calls wait for the replacement of a connection
_CLOSE_WAIT_S: Final = 0.5  # for what is written last to reach the peer
_DEFAULTS: Final = ConnectionOptions()


class Subchannel:
    """One backend's connection. ``send`` is the live session's own ``start`` while there is one."""

    def __init__(
        self,
        endpoint: Endpoint,
        request: Request | None,
        listener: Listener,
        *,
        flusher: Flusher,
        clock: Clock,
        rng: Random,
        options: ConnectionOptions = _DEFAULTS,
        secure: Secure | None = None,
        keep_messages: bool = False,
        network: Network = TCP,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self.endpoint = endpoint
        self.state = Connectivity.IDLE
        self.reason = ""
        self.send = self._park
        self._request = request
        self._listener = listener
        self._flusher = flusher
        self._clock = clock
        self._options = options
        self._keep_messages = keep_messages
        self._patience_s = patience_s
        self._current: Link | None = None
        self._links = Links()
        self._parked: list[tuple[Call, Request | None]] = []
        self._patience: asyncio.TimerHandle | None = None
        self._connector = Connector(
            endpoint, self, self._links, self._new_link, Backoff(rng), clock, options, secure, network
        )

    def __repr__(self) -> str:
        return f"<Subchannel {self.endpoint} {self.state}{': ' + self.reason if self.reason else ''}>"

    @property
    def is_over(self) -> bool:
        """Whether it was retired, its last connection is gone, and no call waits here."""
        busy = self._connector.is_busy or self._links or self._parked
        return self.state is Connectivity.SHUTDOWN and not busy

    @property
    def has_room(self) -> bool:
        """Whether a call would be written by the next flush, flow control permitting."""
        return self._current is not None and self._current.session.has_room

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        if self.seeks:
            self._connector.start()

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        wanted = request or self._request
        assert wanted is not None
        if self._current is None or self._current.session.draining:
            call.waited_for = Wait.CONNECTION
            self._parked.append((call, request))
        else:
            self._current.session.enqueue(call, wanted)

    def _park(self, call: Call) -> None:
        # On its own from here: it is written at another time than the calls it was started with.
        single = call.alone()
        single.waited_for = Wait.CONNECTION
        self._parked.append((single, None))

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        late = [call for call, _ in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = [(call, request) for call, request in self._parked if call.deadline_ns > now_ns]
            self._listener.returned(self, late, now_ns)
        for link in self._links:
            link.expire(now_ns)

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that wait here are returned."""
        self._return_parked()
        for link in self._links:
            link.session.cancel(reply)
        self.settle()

    def retire(self) -> None:
        """Take no new calls, close each connection once its calls have ended; ``aclose`` ends it at once."""
        self._shut()
        self._connector.stop()
        self._return_parked()
        for link in self._links:
            if not link.session.ready:
                link.abort()
        self.settle()

    def settle(self) -> None:
        """Hand over what enqueueing decided at once, and write what it queued."""
        now = self._clock.now_ns()
        for link in self._links:
            self.received(link, now)
            self._flusher.flush()

    def total_counters(self) -> Counter[str]:
        """What all connections of this subchannel counted, the living ones included."""
        return self._links.counters()

    def gauges(self) -> Gauges:
        """What the living connections hold."""
        return self._links.gauges(len(self._parked))

    async def aclose(self) -> None:
        """Close every connection; calls still in flight end as lost, those that wait here are returned."""
        self._shut()
        try:
            await self._connector.aclose()
        finally:
            self._return_parked()
            await self._links.aclose(_CLOSE_WAIT_S)

    # What links tell.

    def received(self, link: Link, now_ns: int) -> None:
        """A read was parsed: replace a connection that takes no more calls, then hand over what it finished.

        In this order, since whoever takes the finished calls starts new ones.
        """
        session = link.session
        if session.draining or self.state is Connectivity.SHUTDOWN:
            if session.closed:
                self._fell(link)
            elif session.ready:
                self._drain(link)
        if session.done or session.replies or session.unsent or session.refused:
            self._listener.finished(self, session, now_ns)

    def lost(self, link: Link) -> None:
        """A connection ended."""
        self._links.lost(link)

    def _fell(self, link: Link) -> None:
        """Nothing can be sent or received on a connection any more."""
        if link is self._current:
            self._unseat()
            self._connector.judge_lost(link)
            self._become(self._state_without, link.session.closed)
            self.connect()

    def _drain(self, link: Link) -> None:
        """Send nothing new on a connection, give back what waits for it, close it once its calls have ended."""
        link.session.release_waiting()
        if link is self._current:
            self._unseat()
            self._replace(link)
        if not link.session.open:
            link.session.emit(goaway(ErrorCode.NO_ERROR))
            link.close("after GOAWAY" if link.session.goaway_reason else "used up" if self.seeks else "retired")

    def _replace(self, link: Link) -> None:
        """Connect anew; unless that has to wait or takes long, the backend stays in the rotation meanwhile."""
        reason = self._connector.judge_left(link)
        if self._connector.delays_next:
            self._step_down(reason)
        else:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(self._patience_s, self._step_down, reason)
        self.connect()

    def _step_down(self, reason: str) -> None:
        if self.state is Connectivity.READY:
            self._become(self._state_without, reason)
            self._return_parked()

    def _unseat(self) -> None:
        self._current = None
        self.send = self._park

    def _return_parked(self) -> None:
        if self._parked:
            parked, self._parked = self._parked, []
            self._listener.returned(self, [call for call, _ in parked], self._clock.now_ns())

    # What the connector asks and tells.

    @property
    def seeks(self) -> bool:
        """Whether there is no connection to use, and one is wanted."""
        return self._current is None and self.state is not Connectivity.SHUTDOWN

    def trying(self) -> None:
        """An attempt begins."""
        if self.state is not Connectivity.READY:
            self._become(Connectivity.CONNECTING, self.reason)

    def failed(self, reason: str) -> None:
        """An attempt failed, and the next one has to wait."""
        self._become(Connectivity.TRANSIENT_FAILURE, reason)
        self._return_parked()

    def adopt(self, link: Link) -> None:
        """A new connection is ready: what waited for it is sent."""
        self._be_patient_no_more()
        self._current = link
        self.send = link.session.start
        link.ready_ns = self._clock.now_ns()
        parked, self._parked = self._parked, []
        for call, request in parked:
            self.enqueue(call, request)
        self._become(Connectivity.READY, "")
        self.received(link, link.ready_ns)
        self._flusher.flush()

    def _new_link(self, keepalive_s: float) -> Link:
        session = Session(self._request, keep_messages=self._keep_messages, limits=self._options.limits)
        return Link(session, self, self._flusher, self._clock, self._options, keepalive_s)

    @property
    def _state_without(self) -> Connectivity:
        """The state of a backend that has just lost its connection."""
        return Connectivity.TRANSIENT_FAILURE if self._connector.delays_next else Connectivity.CONNECTING

    def _shut(self) -> None:
        self.state = Connectivity.SHUTDOWN
        self._unseat()
        self._be_patient_no_more()

    def _be_patient_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _become(self, state: Connectivity, reason: str) -> None:
        if self.state is Connectivity.SHUTDOWN or (state is self.state and reason == self.reason):
            return
        self.state = state
        self.reason = reason
        self._listener.changed(self, state, reason)
