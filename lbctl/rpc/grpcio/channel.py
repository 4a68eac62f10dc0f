"""One grpcio channel: its connectivity followed from IDLE to the end, and its calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import grpc
import grpc.aio

from lbctl.clock import Clock
from lbctl.rpc.grpcio.calls import Began, Ended, Flights
from lbctl.rpc.grpcio.rpcs import Rpcs
from lbctl.rpc.grpcio.settings import Arguments
from lbctl.rpc.transport import Connectivity

_STATES: Final = {
    grpc.ChannelConnectivity.IDLE: Connectivity.IDLE,
    grpc.ChannelConnectivity.CONNECTING: Connectivity.CONNECTING,
    grpc.ChannelConnectivity.READY: Connectivity.READY,
    grpc.ChannelConnectivity.TRANSIENT_FAILURE: Connectivity.TRANSIENT_FAILURE,
    grpc.ChannelConnectivity.SHUTDOWN: Connectivity.SHUTDOWN,
}


class Channel:
    """A channel that stays connected until ``aclose``; ``moved`` is told of every change of its state.

    ``ended`` and ``began`` as ``Flights`` has them.
    """

    def __init__(
        self,
        target: str,
        arguments: Arguments,
        credentials: grpc.ChannelCredentials | None,
        *,
        clock: Clock,
        counters: Counter[str],
        ended: Ended,
        moved: Callable[[Channel], None],
        began: Began | None = None,
        keep_messages: bool = False,
    ) -> None:
        self.state = Connectivity.IDLE
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=arguments)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=arguments)
        self.flights = Flights(Rpcs(self._channel), clock, counters, ended, began, keep_messages=keep_messages)
        self._counters = counters
        self._moved = moved
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        state = self._channel.get_state(try_to_connect=True)
        self._become(_STATES[state])
        if self.state is Connectivity.TRANSIENT_FAILURE:
            # What fails before it was tried is a target or a service config that gRPC does not take. Such a channel
            # never changes, and waiting for it would keep grpcio from shutting down.
            return
        while True:
            self._become(_STATES[state])
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)

    def _become(self, state: Connectivity) -> None:
        if state is self.state:
            return
        before, self.state = self.state, state
        if before is Connectivity.READY:
            self._counters["closed: by gRPC's account no longer ready"] += 1
        if state is Connectivity.CONNECTING or (state is Connectivity.READY and before is not Connectivity.CONNECTING):
            self._counters["connections"] += 1  # the state between may be over before one has looked
        if state is Connectivity.READY:
            self._counters["opened"] += 1
        self._moved(self)

    async def aclose(self) -> None:
        """Close it; calls that are still in flight end as lost."""
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching
        await self._channel.close(None)
        await self.flights.gone()
        self.state = Connectivity.SHUTDOWN
