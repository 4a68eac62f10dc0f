"""A transport over grpcio: channels to one backend, and what C-core lets one know of them.

C-core tells a channel's state and a call's end, no more: neither when bytes were written, nor why a connection failed,
nor what was said on it. So a call counts as written when it was handed over, and why a backend is not ready is found
out by a look at its address.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lbctl.clock import Clock
from lbctl.model import Endpoint, Reply
from lbctl.rpc.grpcio.calls import LOST, Basket, Flight
from lbctl.rpc.grpcio.channel import Channel
from lbctl.rpc.grpcio.channels import Channels
from lbctl.rpc.grpcio.look import Look
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.parking import Parking
from lbctl.rpc.grpcio.settings import arguments, credentials, metadata_of, target, tls_arguments
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Headers, Request
from lbctl.wire.state import Call

_DEFAULTS: Final = ConnectionOptions()


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
        self._options = options
        self._counters: Counter[str] = Counter()
        self._baskets = Basket()
        self._parking = Parking(self, listener, clock)
        self._look = Look(endpoint, options, secure, self._failed)
        settings = arguments(options, request) + ([] if secure is None else tls_arguments(secure))
        proof = None if secure is None else credentials(secure)

        def make() -> Channel:
            return Channel(
                target(endpoint),
                settings,
                proof,
                clock=clock,
                counters=self._counters,
                ended=self._ended,
                moved=self._moved,
                began=self._began if options.limits.replay else None,
                keep_messages=keep_messages,
            )

        self._channels = Channels(make)

    def __repr__(self) -> str:
        return f"<GrpcTransport {self.endpoint} {self.state}{': ' + self.reason if self.reason else ''}>"

    @property
    def is_over(self) -> bool:
        """Whether it was retired, its channels are closed, and no call waits here."""
        return self.state is Connectivity.SHUTDOWN and not self._channels.are_open and not self._parking

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        if not self._channels.are_open and self.state is not Connectivity.SHUTDOWN:
            self._channels.open(self._options.connections)

    def send(self, call: Call) -> None:
        """Start one call of the run's request."""
        if self.state is Connectivity.READY:
            self._begin(call, self._request)
        else:
            self._parking.park(call.alone())

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        if self.state is Connectivity.READY:
            self._begin(call, request or self._request)
            self._flusher.started.append(call)
        else:
            self._parking.park(call, request)

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Start one call of this request with messages and metadata of its own."""
        whole = request.of(messages, own)
        if self.state is Connectivity.READY:
            self._begin(call, whole)
        else:
            self._parking.park(call.alone(), whole)

    def _begin(self, call: Call, request: Request) -> None:
        self._channels.begin(call, request, self._metadata if request is self._request else metadata_of(request))

    def _began(self, flight: Flight) -> None:
        self._baskets.committed.append(flight.call)
        self._listener.finished(self, self._baskets, flight.progress.now())
        self._flusher.flush()

    def _ended(self, flight: Flight, ending: Ending, now_ns: int) -> None:
        self._baskets.put(flight, ending)
        self._listener.finished(self, self._baskets, now_ns)
        self._flusher.flush()
        if self.state is Connectivity.SHUTDOWN:
            self._channels.close_when_empty()

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        self._parking.return_late(now_ns)
        self._channels.expire(now_ns)

    def abandon(self, call: Call) -> bool | None:
        """End one call of which nobody wants to hear again; whether it was handed over, None where it is not here."""
        if self._parking.forget(call):
            return False
        found = self._channels.abandon(call)
        if self.state is Connectivity.SHUTDOWN:
            self._channels.close_when_empty()
        return found or None

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that wait here are returned."""
        self._parking.return_all()
        self._channels.end_all(reply)

    def retire(self) -> None:
        """Take no new calls, close once the calls in flight have ended."""
        self.state = Connectivity.SHUTDOWN
        self._look.cancel()
        self._parking.return_all()
        self._channels.close_when_empty()

    def settle(self) -> None:
        """Nothing is decided while a call is started; what was handed over is stamped."""
        self._flusher.flush()

    def total_counters(self) -> Counter[str]:
        """What C-core let us know."""
        return Counter(self._counters)

    def gauges(self) -> Gauges:
        return Gauges(self._channels.ready, len(self._parking))

    async def aclose(self) -> None:
        """Close every channel; calls in flight end as lost, those that wait here are returned."""
        self.retire()
        self._channels.end_all(LOST)
        await self._channels.closed()

    # What the channels tell.

    def _moved(self, channel: Channel) -> None:
        if self.state is Connectivity.SHUTDOWN:
            return
        state = self._channels.state
        if state is Connectivity.READY:
            self._become(state, "")
            return
        if self.state in (Connectivity.IDLE, Connectivity.READY):
            # gRPC's idle is short here: the channel is told to connect again at once.
            self._become(Connectivity.CONNECTING, "connection lost" if self.state is Connectivity.READY else "")
        if state is Connectivity.TRANSIENT_FAILURE:
            self._look.begin()

    def _failed(self, reason: str) -> None:
        """It is known why there is no connection, unless there is one by now."""
        if not self._channels.ready:
            self._become(Connectivity.TRANSIENT_FAILURE, reason)
            self._parking.return_all()

    def _become(self, state: Connectivity, reason: str) -> None:
        if self.state is Connectivity.SHUTDOWN or (state is self.state and reason == self.reason):
            return
        self.state, self.reason = state, reason
        if state is Connectivity.READY:
            for call, request in self._parking.take_all():
                self.enqueue(call, request)
            self._flusher.flush()
        self._listener.changed(self, state, reason)
