"""One shared channel over real servers, without a run: its members' listeners keep what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from lbctl.model import Endpoint
from lbctl.rpc.dial import TCP, Dialled, Network
from lbctl.rpc.grpcio.member import Member
from lbctl.rpc.grpcio.shared import SharedChannel
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity
from lbctl.wire.request import Request
from tests.fakes import until
from tests.rpc.grpcio.backends import PATIENCE_S, Backend, Desk, OneCall, asking


class Picker:
    """In whose name calls are handed over."""

    policy = "grpc:round_robin"

    def __init__(self) -> None:
        self.loose = 0

    def loosen(self) -> None:
        self.loose += 1


class Sight(Desk):
    """A member's listener."""

    def __init__(self) -> None:
        super().__init__()
        self.placed_here: list[tuple[bool, bool]] = []  # again, late
        self.moved_away = 0

    def placed(self, ticket: Any, *, again: bool, late: bool) -> None:  # noqa: ANN401  # the picker's own object
        self.placed_here.append((again, late))

    def moved_on(self) -> None:
        self.moved_away += 1


class Gates:
    """A network on which some endpoints are connected to only when they may be."""

    def __init__(self) -> None:
        self._gates: dict[Endpoint, asyncio.Event] = {}
        self.network = Network(self._dial)

    def shut(self, backend: Backend) -> None:
        self._gates[backend.endpoint] = asyncio.Event()

    def open(self, backend: Backend) -> None:
        self._gates.pop(backend.endpoint).set()

    async def _dial(self, endpoint: Endpoint, protocol: Dialled, secure: Secure | None) -> None:
        gate = self._gates.get(endpoint)
        if gate is not None:
            await gate.wait()
        await TCP.dial(endpoint, protocol, secure)


class Sharing:
    """A shared channel, its members by backend, and calls of one request."""

    def __init__(self, request: Request, gates: Gates) -> None:
        self.desk = Desk()  # of the calls that were seen nowhere
        self.gates = gates
        self.members: dict[Endpoint, Member] = {}
        self.sights: dict[Endpoint, Sight] = {}
        self.events: list[str] = []
        self.picker = Picker()  # the latest
        self._request = request
        self.channel = SharedChannel(
            Picker.policy,
            peer="any",
            listener=self.desk,
            flusher=self.desk.flusher,
            clock=self.desk.clock,
            options=ConnectionOptions(),
            network=gates.network,
            renewed=self.events.append,
        )

    def join(self, backend: Backend) -> Member:
        """A backend is listed, and may be picked."""
        sight = self.sights[backend.endpoint] = Sight()
        member = Member(self.channel, backend.endpoint, self._request, sight, None)
        self.members[backend.endpoint] = member
        member.connect()
        self.picker = Picker()
        assert member.begin(self.picker, list(self.members.values())) == "any"
        return member

    def leave(self, backend: Backend) -> Member:
        member = self.members.pop(backend.endpoint)
        member.retire()
        return member

    def member(self, backend: Backend) -> Member:
        return self.members[backend.endpoint]

    async def ready(self, *backends: Backend) -> None:
        """Wait until these are, on the line that calls take."""
        wanted = {self.member(backend) for backend in backends}

        def done() -> bool:
            line = self.channel.lines.usable()
            states = {member.state for member in wanted}
            return line is not None and wanted == set(line.members) and states == {Connectivity.READY}

        await until(done, PATIENCE_S)

    def start(self, count: int = 1, *, timeout_s: float = 0.0) -> list[OneCall]:
        deadline = self.desk.clock.now_ns() + int(timeout_s * 1e9) if timeout_s else 1 << 62
        calls = [OneCall(deadline) for _ in range(count)]
        for call in calls:
            self.channel.send(call)
        return calls

    async def finish(self, calls: Iterable[OneCall]) -> list[str]:
        """Wait for their ends, and say how each one ended."""
        calls = list(calls)
        await until(lambda: all(call.how for call in calls), PATIENCE_S)
        return [call.how for call in calls]


@asynccontextmanager
async def sharing(
    servers: Iterable[Backend], method: str = "Say", gates: Gates | None = None
) -> AsyncIterator[Sharing]:
    """A shared channel that these servers have joined, for a block."""
    shared = Sharing(asking(method), gates or Gates())
    for backend in servers:
        shared.join(backend)
    try:
        yield shared
    finally:
        await asyncio.wait_for(shared.channel.aclose(), PATIENCE_S)
        assert shared.channel.is_over
