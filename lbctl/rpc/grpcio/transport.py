"""A transport over grpcio: channels to one backend, and what C-core lets one know of them.

C-core tells a channel's state and a call's end, no more: neither when bytes were written, nor why a connection failed,
nor what was said on it. So a call counts as written when it was handed over, and why a backend is not ready is found
out by a look at its address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from lbctl.clock import Clock
from lbctl.model import Endpoint, Reply
from lbctl.rpc.caller import Caller
from lbctl.rpc.grpcio.calls import LOST, Basket, Flight
from lbctl.rpc.grpcio.channel import Channel
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.settings import arguments, credentials, metadata_of, target, tls_arguments
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Request
from lbctl.wire.state import Call, Wait

_DEFAULTS: Final = ConnectionOptions()
_LOOK_S: Final = 1.0
_UNCLEAR: Final = "gRPC could not connect, and lbctl's own connection could"
_ORDER: Final = (Connectivity.READY, Connectivity.CONNECTING, Connectivity.TRANSIENT_FAILURE, Connectivity.IDLE)


class GrpcTransport:
    """Calls to one backend through grpcio; raises UsageError for options that grpcio cannot follow."""

    def __init__(
        self,
        endpoint: Endpoint,
        request: Request,
        listener: Listener,
        *,
        flusher: Flusher,
        clock: Clock,
        options: ConnectionOptions = _DEFAULTS,
        secure: Secure | None = None,
        keep_messages: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.state = Connectivity.IDLE
        self.reason = ""
        self._request = request
        self._metadata = metadata_of(request)
        self._listener = listener
        self._flusher = flusher
        self._clock = clock
        self._options = options
        self._secure = secure
        self._keep_messages = keep_messages
        self._arguments = arguments(options, request.authority)
        self._credentials = None if secure is None else credentials(secure)
        if secure is not None:
            self._arguments += tls_arguments(secure)
        self._counters: Counter[str] = Counter()
        self._baskets = Basket()
        self._channels: list[Channel] = []
        self._turn = 0
        self._parked: list[tuple[Call, Request]] = []
        self._looking: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<GrpcTransport {self.endpoint} {self.state}{': ' + self.reason if self.reason else ''}>"

    @property
    def is_over(self) -> bool:
        """Whether it was retired, its channels are closed, and no call waits here."""
        return self.state is Connectivity.SHUTDOWN and not self._channels and not self._parked

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        if self._channels or self.state is Connectivity.SHUTDOWN:
            return
        for _ in range(self._options.connections):
            channel = Channel(
                target(self.endpoint),
                self._arguments,
                self._credentials,
                clock=self._clock,
                counters=self._counters,
                ended=self._ended,
                moved=self._moved,
                keep_messages=self._keep_messages,
            )
            self._channels.append(channel)

    def send(self, call: Call) -> None:
        """Start one call of the run's request."""
        if self.state is Connectivity.READY:
            self._begin(call, self._request)
        else:
            self._park(call.alone(), self._request)

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        if self.state is Connectivity.READY:
            self._begin(call, request or self._request)
            self._flusher.started.append(call)
        else:
            self._park(call, request or self._request)

    def _park(self, call: Call, request: Request) -> None:
        call.waited_for = Wait.CONNECTION
        self._parked.append((call, request))

    def _begin(self, call: Call, request: Request) -> None:
        ready = [channel for channel in self._channels if channel.state is Connectivity.READY]
        self._turn += 1
        channel = ready[self._turn % len(ready)]
        channel.flights.begin(call, request, self._metadata if request is self._request else metadata_of(request))

    def _ended(self, flight: Flight, ending: Ending, now_ns: int) -> None:
        self._baskets.put(flight, ending)
        self._listener.finished(self, self._baskets, now_ns)
        self._flusher.flush()
        self._close_when_empty()

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        late = [call for call, _ in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = [(call, request) for call, request in self._parked if call.deadline_ns > now_ns]
            self._listener.returned(self, late, now_ns)
        for channel in list(self._channels):
            channel.flights.expire(now_ns)

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that wait here are returned."""
        self._return_parked()
        for channel in list(self._channels):
            channel.flights.end_all(reply)

    def retire(self) -> None:
        """Take no new calls, close once the calls in flight have ended."""
        self._shut()
        self._close_when_empty()

    def settle(self) -> None:
        """Nothing is decided while a call is started; what was handed over is stamped."""
        self._flusher.flush()

    def total_counters(self) -> Counter[str]:
        """What C-core let us know."""
        return Counter(self._counters)

    def gauges(self) -> Gauges:
        ready = sum(channel.state is Connectivity.READY for channel in self._channels)
        return Gauges(ready, len(self._parked))

    async def aclose(self) -> None:
        """Close every channel; calls in flight end as lost, those that wait here are returned."""
        self._shut()
        for channel in list(self._channels):
            channel.flights.end_all(LOST)
        self._close_when_empty()
        if self._closing is not None:
            await self._closing

    # What the channels tell.

    def _moved(self, channel: Channel) -> None:
        if self.state is Connectivity.SHUTDOWN:
            return
        states = {each.state for each in self._channels} | {channel.state}
        state = next(state for state in _ORDER if state in states)
        if state is Connectivity.READY:
            self._become(state, "")
            return
        if self.state in (Connectivity.IDLE, Connectivity.READY):
            # gRPC's idle is short here: the channel is told to connect again at once.
            self._become(Connectivity.CONNECTING, "connection lost" if self.state is Connectivity.READY else "")
        if state is Connectivity.TRANSIENT_FAILURE:
            self._look()

    def _look(self) -> None:
        """Find out why there is no connection, and say so together with the state."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._tell_why())

    async def _tell_why(self) -> None:
        options = ConnectionOptions(connect_timeout_s=min(_LOOK_S, self._options.connect_timeout_s))
        async with Caller(self.endpoint, options=options, secure=self._secure) as caller:
            failure = await caller.connected(timeout_s=2 * _LOOK_S)
        if all(each.state is not Connectivity.READY for each in self._channels):
            reason = _UNCLEAR if failure is None else failure.reason
            self._become(Connectivity.TRANSIENT_FAILURE, reason)
            self._return_parked()

    def _become(self, state: Connectivity, reason: str) -> None:
        if self.state is Connectivity.SHUTDOWN or (state is self.state and reason == self.reason):
            return
        self.state, self.reason = state, reason
        if state is Connectivity.READY:
            parked, self._parked = self._parked, []
            for call, request in parked:
                self.enqueue(call, request)
            self._flusher.flush()
        self._listener.changed(self, state, reason)

    def _return_parked(self) -> None:
        if self._parked:
            parked, self._parked = self._parked, []
            self._listener.returned(self, [call for call, _ in parked], self._clock.now_ns())

    # The end.

    def _shut(self) -> None:
        self.state = Connectivity.SHUTDOWN
        if self._looking is not None:
            self._looking.cancel()
        self._return_parked()

    def _close_when_empty(self) -> None:
        over = self.state is Connectivity.SHUTDOWN and not any(len(each.flights) for each in self._channels)
        if over and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())

    async def _close(self) -> None:
        await asyncio.gather(*(channel.aclose() for channel in self._channels))
        self._channels = []
