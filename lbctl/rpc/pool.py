"""Several connections to one backend that look like one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from lbctl.model import Reply
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Baskets, Connectivity, Gauges, Listener, Transport
from lbctl.wire.request import Headers, Request
from lbctl.wire.state import Call

# The state of many: the first of these that one of them is in.
_BEST_FIRST: Final = (
    Connectivity.READY,
    Connectivity.CONNECTING,
    Connectivity.TRANSIENT_FAILURE,
    Connectivity.IDLE,
    Connectivity.SHUTDOWN,
)


def pooled(count: int, make: Callable[[Listener], Subchannel], listener: Listener) -> Transport:
    """So many connections to one backend: a subchannel, or a pool of them."""
    return make(listener) if count == 1 else Pool(count, make, listener)


class Pool:
    """Calls go in turn to the connections that can take them at once; without one, to one that will be able to."""

    def __init__(self, count: int, make: Callable[[Listener], Subchannel], listener: Listener) -> None:
        self.state = Connectivity.IDLE
        self.reason = ""
        self._listener = listener
        self._members = [make(self) for _ in range(count)]
        self.endpoint = self._members[0].endpoint
        self._next = 0

    def __repr__(self) -> str:
        return f"<Pool of {len(self._members)} to {self.endpoint} {self.state}>"

    @property
    def is_over(self) -> bool:
        """Whether every one of them is."""
        return all(member.is_over for member in self._members)

    def connect(self) -> None:
        """Begin to connect all of them."""
        for member in self._members:
            member.connect()

    def send(self, call: Call) -> None:
        """Start one call of the run's request; it is written by the next flush."""
        self._choose().send(call)

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        self._choose().enqueue(call, request)

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Start one call of this request with messages and metadata of its own."""
        self._choose().post(call, request, messages, own)

    def _choose(self) -> Subchannel:
        members = self._members
        count = len(members)
        fallback: Subchannel | None = None
        for _ in range(count):
            member = members[self._next]
            self._next = (self._next + 1) % count
            if member.has_room:
                return member
            if member.state is Connectivity.READY and fallback is None:
                fallback = member
        if fallback is None:
            self._next = (self._next + 1) % count
            return members[self._next]
        self._next = (members.index(fallback) + 1) % count
        return fallback

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        for member in self._members:
            member.expire(now_ns)

    def abandon(self, call: Call) -> bool | None:
        """End one call of which nobody wants to hear again; whether it was on the wire, None where it is not here."""
        return next((found for member in self._members if (found := member.abandon(call)) is not None), None)

    def cancel(self, reply: Reply) -> None:
        """End every call in flight with this reply; those that were never written are returned."""
        for member in self._members:
            member.cancel(reply)

    def retire(self) -> None:
        """Take no new calls, close once the calls in flight have ended."""
        self.state = Connectivity.SHUTDOWN
        for member in self._members:
            member.retire()

    def settle(self) -> None:
        """Hand over what enqueueing decided at once, and write what it queued."""
        for member in self._members:
            member.settle()

    def total_counters(self) -> Counter[str]:
        """What all of them counted."""
        total: Counter[str] = Counter()
        for member in self._members:
            total.update(member.total_counters())
        return total

    def gauges(self) -> Gauges:
        """What they hold together."""
        gauges = [member.gauges() for member in self._members]
        limit = min((gauge.limit for gauge in gauges if gauge.limit), default=0)  # of one connection
        return Gauges(*map(sum, zip(*gauges, strict=True)))._replace(limit=limit)

    async def aclose(self) -> None:
        """Close every connection; calls in flight end as lost."""
        self.state = Connectivity.SHUTDOWN
        await asyncio.gather(*(member.aclose() for member in self._members))

    # What they tell.

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None:
        self._listener.finished(self, baskets, now_ns)

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None:
        self._listener.returned(self, calls, now_ns)

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        """Tell what that makes of the whole, if anything."""
        if self.state is Connectivity.SHUTDOWN:
            return
        best = next(state for state in _BEST_FIRST if any(member.state is state for member in self._members))
        told = "" if best is Connectivity.READY else reason or self.reason
        if best is not self.state or told != self.reason:
            self.state, self.reason = best, told
            self._listener.changed(self, best, told)
