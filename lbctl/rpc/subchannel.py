"""A subchannel: the connection to one backend, and the calls that wait while there is none.

Which connection that is decides ``Seat``. Calls picked while one is replaced by the next wait here, so that a server
with a maximum connection age loses none; they are returned when nothing came of it.
"""

from __future__ import annotations

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
from lbctl.rpc.seat import Seat
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Headers, Request
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
        self._half = options.limits.last_stream // 2  # the id by which a connection has taken half the calls it may
        self._links = Links()
        self._parked: list[tuple[Call, Request | None]] = []
        self._seat = Seat(self, patience_s)
        self._connector = self._seat.connector = Connector(
            endpoint, self._seat, self._links, self._new_link, Backoff(rng), clock, options, secure, network
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
        link = self._seat.link
        return link is not None and link.session.has_room

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        self._seat.connect()

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        wanted = request or self._request
        assert wanted is not None
        link = self._seat.link
        if link is None or link.session.draining:
            call.waited_for = Wait.CONNECTION
            self._parked.append((call, request))
        else:
            link.session.enqueue(call, wanted)

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Start one call of this request with messages and metadata of its own."""
        link = self._seat.link
        if link is None or link.session.draining:
            self.enqueue(call.alone(), request.of(messages, own))
        else:
            link.session.post(call, request, messages, own)

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

    def abandon(self, call: Call) -> bool | None:
        """End one call of which nobody wants to hear again; whether it was on the wire, None where it is not here."""
        for place, (parked, _) in enumerate(self._parked):
            if parked is call:
                del self._parked[place]
                return False
        return next((found for link in self._links if (found := link.abandon(call)) is not None), None)

    def wake(self, call: Call) -> None:
        """Send what has come into the outbox of a call; of one that waits here nothing is sent yet."""
        if any(link.session.wake(call) for link in self._links):
            self.settle()

    def hold(self, held: bool) -> None:
        """Read nothing more of what the backend sends, or go on."""
        for link in self._links:
            link.hold(held)

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that wait here are returned."""
        self.without()
        for link in self._links:
            link.session.cancel(reply)
        self.settle()

    def retire(self) -> None:
        """Take no new calls, close each connection once its calls have ended; ``aclose`` ends it at once."""
        self._shut()
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
            self.without()
            await self._links.aclose(_CLOSE_WAIT_S)

    # What links tell.

    def received(self, link: Link, now_ns: int) -> None:
        """A read was parsed: replace a connection that takes no more calls, then hand over what it finished.

        In this order, since whoever takes the finished calls starts new ones.
        """
        session = link.session
        if session.draining or self.state is Connectivity.SHUTDOWN:
            self._seat.review(link)
        elif session.next_id > self._half:
            self._seat.look_ahead(link)
        if session.done or session.replies or session.unsent or session.refused or session.gaps or session.committed:
            self._listener.finished(self, session, now_ns)

    def lost(self, link: Link) -> None:
        """A connection ended."""
        self._links.lost(link)

    # What becomes of the connection in use.

    def seated(self, link: Link) -> None:
        """A new one is ready: what waited for it is sent."""
        self.send = link.session.start
        link.ready_ns = self._clock.now_ns()
        parked, self._parked = self._parked, []
        for call, request in parked:
            self.enqueue(call, request)
        self.become(Connectivity.READY, "")
        self.received(link, link.ready_ns)
        self._flusher.flush()

    def unseated(self) -> None:
        """Calls wait for the next one."""
        self.send = self._park

    def without(self) -> None:
        """There will be none soon: the calls that wait are returned."""
        if self._parked:
            parked, self._parked = self._parked, []
            self._listener.returned(self, [call for call, _ in parked], self._clock.now_ns())

    def become(self, state: Connectivity, reason: str) -> None:
        """Tell a new state, or a new reason for the old one."""
        if self.state is Connectivity.SHUTDOWN or (state is self.state and reason == self.reason):
            return
        self.state = state
        self.reason = reason
        self._listener.changed(self, state, reason)

    def _new_link(self, keepalive_s: float) -> Link:
        session = Session(self._request, keep_messages=self._keep_messages, limits=self._options.limits)
        return Link(session, self, self._flusher, self._clock, self._options, keepalive_s)

    def _shut(self) -> None:
        self.state = Connectivity.SHUTDOWN
        self._seat.shut()
        self.without()
