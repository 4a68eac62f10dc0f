"""The one shape of what carries calls to a backend: lbctl's own subchannel, several of them, or grpcio's channel."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple, Protocol

from lbctl.model import Endpoint, Reply
from lbctl.wire.request import Headers, Request
from lbctl.wire.state import Call


class Connectivity(StrEnum):
    """gRPC's connectivity states."""

    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    TRANSIENT_FAILURE = "transient_failure"
    SHUTDOWN = "shutdown"


class Baskets(Protocol):
    """What one read finished; whoever takes a list leaves an empty one.

    ``done``: calls answered OK. ``replies``: every other end, and the OK ends of streams. ``unsent``: never written,
    free to go elsewhere. ``refused``: not processed by the peer, one more attempt is allowed, else the reply stands.
    ``early``: calls of ``done`` and ``replies`` whose response headers came in an earlier read, and when, in ns.
    ``gaps``: time between two messages that a stream received, in ns. ``resets``: RST_STREAM frames that were sent.
    ``committed``: calls that go on and cannot be sent anew, see ``Limits.replay``.
    """

    done: list[Call]
    replies: list[tuple[Call, Reply]]
    unsent: list[Call]
    refused: list[tuple[Call, Reply]]
    early: list[tuple[Call, int]]
    gaps: list[int]
    resets: int
    committed: list[Call]


class Gauges(NamedTuple):
    """What a transport holds right now; ``paused_ns`` is how long it has not been able to write, in all."""

    sockets: int = 0
    waiting: int = 0  # calls that wait for a stream slot, a window or the peer to read
    blocked: int = 0  # request bodies that wait for flow-control credit
    paused_ns: int = 0
    limit: int = 0  # calls that one connection may carry at once: the smallest; 0 where that is not known


class Listener(Protocol):
    """Who uses a transport. ``finished`` takes the baskets; ``returned`` gets never-sent calls."""

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None: ...

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None: ...

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None: ...


class Transport(Protocol):
    """Carries calls to one backend. Nothing raises for what a backend does; every call ends in a basket, once."""

    endpoint: Endpoint
    state: Connectivity
    reason: str  # why it is not ready

    def send(self, call: Call) -> None:
        """Start one call of the run's request; it is written by the next flush."""
        ...

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        ...

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Start one call of this request with messages and metadata of its own; it is written by the next flush."""
        ...

    def connect(self) -> None:
        """Begin to connect, and stay connected until ``retire`` or ``aclose``."""
        ...

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        ...

    def abandon(self, call: Call) -> bool | None:
        """End one call of which nobody wants to hear again: it is in no basket, and its peer is told.

        Returns whether it was on the wire, or None where it is not here (any more).
        """
        ...

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that were never written are returned."""
        ...

    def retire(self) -> None:
        """Take no new calls, close once the calls in flight have ended."""
        ...

    def settle(self) -> None:
        """Hand over what enqueueing decided at once, and write what it queued."""
        ...

    def total_counters(self) -> Counter[str]:
        """What was counted so far on every connection, closed ones included: ``kind`` or ``kind: detail``."""
        ...

    def gauges(self) -> Gauges: ...

    @property
    def is_over(self) -> bool:
        """Whether it was retired, its last connection is gone, and no call waits here."""
        ...

    async def aclose(self) -> None:
        """Close every connection; calls in flight end as lost."""
        ...
