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
from lbctl.rpc.dial import TCP, Network, describe_failure
from lbctl.rpc.link import Flusher, Link
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.frames import ErrorCode, goaway
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import Call

_LIVED_NS: Final = 1_000_000_000
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
        self.counters: Counter[str] = Counter()
        self.send = self._park
        self._request = request
        self._listener = listener
        self._flusher = flusher
        self._clock = clock
        self._backoff = Backoff(rng)
        self._options = options
        self._secure = secure
        self._keep_messages = keep_messages
        self._network = network
        self._patience_s = patience_s
        self._current: Link | None = None
        self._links: set[Link] = set()  # the current one and those that drain
        self._parked: list[tuple[Call, Request | None]] = []
        self._connecting: asyncio.Task[None] | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._wasted = False  # the last connection was of no use
        self._delay_first = False  # so back off before the next

    def __repr__(self) -> str:
        return f"<Subchannel {self.endpoint} {self.state}{': ' + self.reason if self.reason else ''}>"

    @property
    def is_over(self) -> bool:
        """Whether it was retired, its last connection is gone, and no call waits here."""
        connecting = self._connecting is not None and not self._connecting.done()
        return self.state is Connectivity.SHUTDOWN and not (connecting or self._links or self._parked)

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        if self._connecting is None and self.state is not Connectivity.SHUTDOWN:
            self._connecting = asyncio.get_running_loop().create_task(self._keep_connecting())

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        wanted = request or self._request
        assert wanted is not None
        if self._current is None or self._current.session.draining:
            self._parked.append((call, request))
        else:
            self._current.session.enqueue(call, wanted)

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        late = [call for call, _ in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = [(call, request) for call, request in self._parked if call.deadline_ns > now_ns]
            self._listener.returned(self, late, now_ns)
        for link in list(self._links):
            link.session.expire(now_ns)
            self._settle(link, now_ns)

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that wait here are returned."""
        now = self._clock.now_ns()
        self._return_parked()
        for link in list(self._links):
            link.session.cancel(reply)
            self._settle(link, now)

    def retire(self) -> None:
        """Take no new calls, close each connection once its calls have ended; ``aclose`` ends it at once."""
        self._shut()
        if self._connecting is not None:
            self._connecting.cancel()
        self._return_parked()
        now = self._clock.now_ns()
        for link in list(self._links):
            if link.session.ready:
                self._settle(link, now)
            else:
                link.abort()

    def settle(self) -> None:
        """Hand over what enqueueing decided at once, and write what it queued."""
        now = self._clock.now_ns()
        for link in list(self._links):
            self._settle(link, now)

    def gauges(self) -> Gauges:
        """What the living connections hold."""
        return Gauges(len(self._links), len(self._parked) + sum(len(link.session.waiting) for link in self._links))

    def total_counters(self) -> Counter[str]:
        """What all connections of this subchannel counted, the living ones included."""
        total = Counter(self.counters)
        for link in self._links:
            total.update(link.session.counters)
        return total

    async def aclose(self) -> None:
        """Close every connection; calls still in flight end as lost, those that wait here are returned."""
        self._shut()
        connecting = self._connecting
        if connecting is not None:
            connecting.cancel()
            await asyncio.wait([connecting])
        self._return_parked()
        for link in list(self._links):
            if not link.session.closed:
                link.session.emit(goaway(ErrorCode.NO_ERROR))
            link.close()
        await self._gone(_CLOSE_WAIT_S)
        for link in list(self._links):
            link.abort()
        # Bounded as well: uvloop says nothing of a connection whose opening was cancelled as it came up.
        await self._gone(_CLOSE_WAIT_S)
        if connecting is not None and not connecting.cancelled():
            connecting.result()

    async def _gone(self, timeout_s: float) -> None:
        if self._links:
            await asyncio.wait([link.gone for link in self._links], timeout=timeout_s)

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
        self._links.discard(link)
        self.counters.update(link.session.counters)

    def _fell(self, link: Link) -> None:
        """Nothing can be sent or received on a connection any more."""
        if link is not self._current:
            return
        self._unseat()
        self._delay_first = not self._was_of_use(link, served=link.session.ended_calls > 0)
        self._become(_without(self._delay_first), link.session.closed)
        self.connect()

    def _drain(self, link: Link) -> None:
        """Send nothing new on a connection, give back what waits for it, close it once its calls have ended."""
        link.session.release_waiting()
        if link is self._current:
            self._unseat()
            self._replace(link)
        if not link.session.open:
            link.session.emit(goaway(ErrorCode.NO_ERROR))
            link.close()

    def _replace(self, link: Link) -> None:
        """Connect anew; unless that has to wait or takes long, the backend stays in the rotation meanwhile."""
        session = link.session
        before = self._wasted
        served = session.next_id > 1 and session.last_processed != 0
        self._delay_first = not self._was_of_use(link, served=served) and before
        if self._delay_first:
            self._step_down(session.goaway_reason)
        else:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(self._patience_s, self._step_down, session.goaway_reason)
        self.connect()

    def _step_down(self, reason: str) -> None:
        if self.state is Connectivity.READY:
            self._become(_without(self._delay_first), reason)
            self._return_parked()

    def _unseat(self) -> None:
        self._current = None
        self.send = self._park

    def _settle(self, link: Link, now_ns: int) -> None:
        self.received(link, now_ns)
        self._flusher.flush()

    def _park(self, call: Call) -> None:
        # On its own from here: it is written at another time than the calls it was started with.
        self._parked.append((call.alone(), None))

    def _return_parked(self) -> None:
        if self._parked:
            parked, self._parked = self._parked, []
            self._listener.returned(self, [call for call, _ in parked], self._clock.now_ns())

    # Connecting.

    def _was_of_use(self, link: Link, *, served: bool) -> bool:
        """Whether a connection ended calls, or lasted. After one that did neither the next has to wait its turn."""
        of_use = served or self._clock.now_ns() - link.ready_ns >= _LIVED_NS
        if of_use:
            self._backoff.reset()
        self._wasted = not of_use
        return of_use

    async def _keep_connecting(self) -> None:
        try:
            if self._delay_first:
                self._delay_first = False
                await self._network.sleep(self._backoff.next())
            while self._current is None and self.state is not Connectivity.SHUTDOWN:
                reason = await self._attempt()
                if reason:
                    self._become(Connectivity.TRANSIENT_FAILURE, reason)
                    self._return_parked()
                    await self._network.sleep(self._backoff.next())
        finally:
            self._connecting = None

    async def _attempt(self) -> str:
        """One connect, up to the peer's SETTINGS; returns why it failed, or nothing."""
        if self.state is not Connectivity.READY:
            self._become(Connectivity.CONNECTING, self.reason)
        link = Link(Session(self._request, keep_messages=self._keep_messages), self, self._flusher, self._clock)
        self.counters["connections"] += 1
        try:
            async with asyncio.timeout(self._options.connect_timeout_s) as limit:
                await self._open(link)
        except (OSError, ValueError, OverflowError) as error:
            if not limit.expired():
                return describe_failure(error)
            return f"no {link.stage} within {self._options.connect_timeout_s:g}s"
        if link.session.draining:
            link.close()
            return link.session.goaway_reason or link.session.closed
        self._adopt(link)
        return ""

    async def _open(self, link: Link) -> None:
        try:
            try:
                await self._network.dial(self.endpoint, link, self._secure)
            finally:
                if link.is_open:  # also when cancelled just then: it has to be waited for
                    self._links.add(link)
            await link.settled
        except BaseException:
            link.abort()
            raise

    def _adopt(self, link: Link) -> None:
        self._be_patient_no_more()
        self._current = link
        self.send = link.session.start
        link.ready_ns = self._clock.now_ns()
        parked, self._parked = self._parked, []
        for call, request in parked:
            self.enqueue(call, request)
        self._become(Connectivity.READY, "")
        self._settle(link, link.ready_ns)

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


def _without(delayed: bool) -> Connectivity:
    """The state of a backend that has just lost its connection."""
    return Connectivity.TRANSIENT_FAILURE if delayed else Connectivity.CONNECTING
