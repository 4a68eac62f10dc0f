"""One backend's health by grpc.health.v1, and how long an answer takes on a connection that is up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lbctl.model import Endpoint
from lbctl.rpc.channel import connect, diagnose, load_grpc, open_channel, printable
from lbctl.rpc.probe import Obstacle, silent

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    import grpc.aio

CHECK_PATH: Final = "/grpc.health.v1.Health/Check"


class Status(StrEnum):
    """What a backend says of itself, or why it says nothing."""

    SERVING = "SERVING"
    NOT_SERVING = "NOT_SERVING"
    UNKNOWN = "UNKNOWN"
    SERVICE_UNKNOWN = "SERVICE_UNKNOWN"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    REFUSED = "REFUSED"
    TIMEOUT = "TIMEOUT"
    TLS = "TLS"
    HTTP1 = "HTTP1"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Health:
    """One check: the status, the round trip where a server answered, and a reason where it did not serve."""

    status: Status
    rtt_s: float | None = None
    detail: str = ""


async def check(endpoint: Endpoint, *, service: str = "", timeout_s: float = 1.0) -> Health:
    """Check a backend once on a connection made for it; ``service`` "" asks for the server as a whole."""
    async with Prober() as prober:
        return await prober.check(endpoint, service=service, timeout_s=timeout_s)


class Prober:
    """Checks backends again and again over connections it keeps; at most ``at_once`` checks run at a time."""

    def __init__(self, at_once: int = 32) -> None:
        self._channels: dict[Endpoint, grpc.aio.Channel] = {}
        self._slots = asyncio.Semaphore(at_once)
        # One user of a channel at a time: closing it would cancel the others' calls.
        self._turns: WeakValueDictionary[Endpoint, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Prober:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self.keep(())

    async def keep(self, endpoints: Collection[Endpoint]) -> None:
        """Close the connections of all backends but these."""
        for endpoint in set(self._channels) - set(endpoints):
            async with self._turn(endpoint):
                await self._drop(endpoint)

    async def check(self, endpoint: Endpoint, *, service: str = "", timeout_s: float = 1.0) -> Health:
        """Check one backend; the time limit starts when it is its turn."""
        async with self._turn(endpoint), self._slots:
            health = Health(Status.ERROR, detail="was not asked")
            try:
                health = await self._check(endpoint, service, timeout_s)
            finally:
                # A channel that failed would answer from its back-off next time; a new one dials at once.
                if health.rtt_s is None:
                    await self._drop(endpoint)
            return health

    async def _check(self, endpoint: Endpoint, service: str, timeout_s: float) -> Health:
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        channel = self._channels.get(endpoint)
        if channel is None:
            channel = self._channels[endpoint] = open_channel(endpoint)
        obstacle = await connect(channel, endpoint, timeout_s)
        if obstacle is not None:
            return _obstructed(obstacle)
        health = await _ask(channel, service, timeout_s, deadline)
        if health.status is Status.ERROR and health.rtt_s is None:  # the connection broke under the call
            obstacle = await diagnose(endpoint, timeout_s, deadline)
        return health if obstacle is None else _obstructed(obstacle)

    def _turn(self, endpoint: Endpoint) -> asyncio.Lock:
        return self._turns.setdefault(endpoint, asyncio.Lock())

    async def _drop(self, endpoint: Endpoint) -> None:
        channel = self._channels.pop(endpoint, None)
        if channel is not None:
            await channel.close(None)


async def _ask(channel: grpc.aio.Channel, service: str, timeout_s: float, deadline: float) -> Health:
    clock = asyncio.get_running_loop().time
    ask = channel.unary_unary(
        CHECK_PATH,
        request_serializer=HealthCheckRequest.SerializeToString,
        response_deserializer=HealthCheckResponse.FromString,
    )
    request = HealthCheckRequest(service=service)
    began = clock()
    try:
        reply = await ask(request, timeout=max(deadline - began, 0.0))
    except load_grpc().aio.AioRpcError as error:
        return _refused(error, clock() - began, timeout_s)
    return Health(_status(reply.status), clock() - began)


def _status(number: int) -> Status:
    with suppress(ValueError):
        return Status(HealthCheckResponse.ServingStatus.Name(number))
    return Status.UNKNOWN


def _refused(error: grpc.aio.AioRpcError, took_s: float, timeout_s: float) -> Health:
    code, details = error.code().name, printable(error.details() or "")
    if code == "UNIMPLEMENTED":
        return Health(Status.UNIMPLEMENTED, took_s, "does not offer grpc.health.v1.Health")
    if code == "NOT_FOUND":
        return Health(Status.SERVICE_UNKNOWN, took_s, details)
    if code == "DEADLINE_EXCEEDED":
        return _obstructed(silent(timeout_s))
    answered = None if code == "UNAVAILABLE" else took_s  # which gRPC also makes of a cut connection
    return Health(Status.ERROR, answered, f"answered {code}: {details}" if details else f"answered {code}")


def _obstructed(obstacle: Obstacle) -> Health:
    return Health(Status(obstacle.kind), None, obstacle.text)
