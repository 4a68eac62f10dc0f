"""Several channels to one backend, as if they were one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lbctl.model import Reply
from lbctl.rpc.grpcio.channel import Channel
from lbctl.rpc.grpcio.rpcs import Metadata
from lbctl.rpc.transport import Connectivity
from lbctl.wire.request import Request
from lbctl.wire.state import Call

_ORDER: Final = (Connectivity.READY, Connectivity.CONNECTING, Connectivity.TRANSIENT_FAILURE, Connectivity.IDLE)


class Channels:
    """Calls take turns on those that are ready; the state is that of the channel that has come farthest."""

    def __init__(self, make: Callable[[], Channel]) -> None:
        self._make = make
        self._channels: list[Channel] = []
        self._turn = 0
        self._closing: asyncio.Task[None] | None = None

    @property
    def are_open(self) -> bool:
        """Whether they were opened, and are not all closed yet."""
        return bool(self._channels)

    @property
    def state(self) -> Connectivity:
        states = {channel.state for channel in self._channels}
        return next((state for state in _ORDER if state in states), Connectivity.IDLE)

    @property
    def ready(self) -> int:
        """How many can be used."""
        return sum(channel.state is Connectivity.READY for channel in self._channels)

    @property
    def in_flight(self) -> int:
        """Calls that have not ended."""
        return sum(len(channel.flights) for channel in self._channels)

    def open(self, count: int) -> None:
        """Begin to connect so many."""
        self._channels += [self._make() for _ in range(count)]

    def begin(self, call: Call, request: Request, metadata: Metadata) -> None:
        """Hand a call to the next one that is ready; there must be one."""
        ready = [channel for channel in self._channels if channel.state is Connectivity.READY]
        self._turn += 1
        ready[self._turn % len(ready)].flights.begin(call, request, metadata)

    def abandon(self, call: Call) -> bool:
        """End a call of which nobody is told; whether it was here."""
        return any(channel.flights.abandon(call) for channel in self._channels)

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        for channel in list(self._channels):
            channel.flights.expire(now_ns)

    def end_all(self, reply: Reply) -> None:
        """End every call with this reply."""
        for channel in list(self._channels):
            channel.flights.end_all(reply)

    def close_when_empty(self) -> None:
        """Begin to close them, once, if no call is in flight."""
        if self._closing is None and not self.in_flight:
            self._closing = asyncio.get_running_loop().create_task(self._close())

    async def closed(self) -> None:
        """Wait for the end of a closing that has begun."""
        if self._closing is not None:
            await self._closing

    async def _close(self) -> None:
        await asyncio.gather(*(channel.aclose() for channel in self._channels))
        self._channels = []
