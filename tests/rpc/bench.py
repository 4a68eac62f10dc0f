"""A subchannel on a network in memory, and everything it tells."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random

from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Request
from lbctl.wire.state import Call, Wait
from tests.fakes import FakeClock, MemoryNetwork, turns

IDLE, CONNECTING, READY, FAILURE, SHUTDOWN = Connectivity
REQUEST = Request("/pkg.Svc/Method", b"x", "echo", 0)


@dataclass(eq=False)
class OneCall:
    """A call whose end is written on it."""

    deadline_ns: int = 1 << 62
    timeout_ns: int = 0
    waited_for: Wait = Wait.NOTHING
    end: str = ""

    def alone(self) -> OneCall:
        return self


class Bench:
    """A subchannel to memory host 1; everything it tells is kept."""

    def __init__(
        self,
        *,
        patience_s: float = 3600.0,
        connect_timeout_s: float = 10.0,
        request: Request | None = REQUEST,
        options: ConnectionOptions | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.network = MemoryNetwork()
        self.host = self.network.host(1)
        self.flusher = Flusher()
        self.told: list[tuple[Connectivity, str]] = []
        self.subchannel = Subchannel(
            self.host.endpoint,
            request,
            self,
            flusher=self.flusher,
            clock=self.clock,
            rng=Random(1),
            network=self.network.as_network(),
            options=options or ConnectionOptions(connect_timeout_s=connect_timeout_s),
            patience_s=patience_s,
        )

    def finished(self, subchannel: Transport, session: Baskets, now_ns: int) -> None:
        done, session.done = session.done, []
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        ends = [(call, "OK") for call in done]
        ends += [(call, f"{reply.code.name} {reply.reason}") for call, reply in replies]
        ends += [(call, f"refused: {reply.reason}") for call, reply in refused]
        ends += [(call, "unsent") for call in unsent]
        for call, end in ends:
            self._end(call, end)

    def returned(self, subchannel: Transport, calls: list[Call], now_ns: int) -> None:
        for call in calls:
            self._end(call, "returned")

    def _end(self, call: Call, end: str) -> None:
        assert isinstance(call, OneCall)
        assert not call.end
        call.end = end

    def changed(self, subchannel: Transport, state: Connectivity, reason: str) -> None:
        assert (subchannel.state, subchannel.reason) == (state, reason)
        self.told.append((state, reason))

    async def connect(self) -> None:
        self.subchannel.connect()
        await turns()

    async def send(self, count: int = 1) -> list[OneCall]:
        """Start calls the way an engine does."""
        calls = [OneCall() for _ in range(count)]
        for call in calls:
            self.subchannel.send(call)
        self.flusher.flush()
        await turns()
        return calls

    async def wake(self) -> None:
        self.network.sleep.wake()
        await turns()

    async def aclose(self) -> None:
        await asyncio.wait_for(self.subchannel.aclose(), 3)
        assert self.subchannel.is_over


def ends(calls: list[OneCall]) -> list[str]:
    return [call.end for call in calls]
