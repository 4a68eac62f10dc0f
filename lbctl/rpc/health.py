"""One backend's health by grpc.health.v1, and how long an answer takes on a connection that is up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakValueDictionary

from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lbctl.clock import Clock, SystemClock
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.caller import Caller
from lbctl.rpc.obstacle import Obstacle, is_late, silent, told
from lbctl.rpc.probe import connect, explain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import TracebackType

CHECK_PATH: Final = "/grpc.health.v1.Health/Check"
PLAIN: Final = Access()
_NO_STATUS: Final = "answered with something that is not a health status"


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
    PLAINTEXT = "PLAINTEXT"
    CERTIFICATE = "CERTIFICATE"
    HTTP1 = "HTTP1"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Health:
    """One check: the status, the round trip where a server answered, and a reason where it did not serve."""

    status: Status
    rtt_s: float | None = None
    detail: str = ""


async def check(endpoint: Endpoint, access: Access = PLAIN, *, service: str = "", timeout_s: float = 1.0) -> Health:
    """Check a backend once on a connection made for it; ``service`` "" asks for the server as a whole."""
    async with Prober() as prober:
        return await prober.check(endpoint, access, service=service, timeout_s=timeout_s)


async def check_all(
    ways: Mapping[Endpoint, Access], *, service: str = "", timeout_s: float = 1.0, at_once: int = 32
) -> dict[Endpoint, Health]:
    """Check many backends once, a few at a time, over connections that are closed at once."""
    slots = asyncio.Semaphore(at_once)

    async def one(endpoint: Endpoint, access: Access) -> Health:
        async with slots:
            return await check(endpoint, access, service=service, timeout_s=timeout_s)

    answers = await asyncio.gather(*(one(*way) for way in ways.items()))
    return dict(zip(ways, answers, strict=True))


class _Kept(NamedTuple):
    """A connection, and the access it was made for."""

    access: Access
    caller: Caller


class Prober:
    """Checks backends again and again over connections it keeps; at most ``at_once`` checks run at a time."""

    def __init__(self, at_once: int = 32, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._kept: dict[Endpoint, _Kept] = {}
        self._slots = asyncio.Semaphore(at_once)
        # One user of a connection at a time: closing it would end the others' calls.
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
        gone = set(self._kept) - set(endpoints)
        await asyncio.gather(*(self._release(endpoint) for endpoint in gone))

    async def check(
        self, endpoint: Endpoint, access: Access = PLAIN, *, service: str = "", timeout_s: float = 1.0
    ) -> Health:
        """Check one backend; the time limit starts when it is its turn."""
        async with self._turn(endpoint), self._slots:
            health = Health(Status.ERROR, detail="was not asked")
            try:
                health = await self._check(endpoint, access, service, timeout_s)
            finally:
                if health.rtt_s is None:
                    await self._drop(endpoint)
            return health

    async def _check(self, endpoint: Endpoint, access: Access, service: str, timeout_s: float) -> Health:
        deadline = asyncio.get_running_loop().time() + timeout_s
        caller = await self._caller(endpoint, access)
        obstacle = await connect(caller, endpoint, access.secure, timeout_s)
        if obstacle is not None:
            return _obstructed(obstacle)
        reply, took_s = await self._ask(caller, access, service, deadline)
        if reply.origin is Origin.TRANSPORT and caller.has_failed:  # it was lost before, and cannot be had again
            left = deadline - asyncio.get_running_loop().time()
            return _obstructed(await explain(endpoint, reply.reason, access.secure, left))
        return _health(reply, took_s, timeout_s)

    async def _ask(self, caller: Caller, access: Access, service: str, deadline: float) -> tuple[Reply, float]:
        question = HealthCheckRequest(service=service).SerializeToString()
        left = deadline - asyncio.get_running_loop().time()
        began_ns = self._clock.now_ns()  # the loop's own time may count in milliseconds
        result = await caller.unary(CHECK_PATH, question, timeout_s=left, metadata=access.metadata)
        return result.reply, (self._clock.now_ns() - began_ns) / 1e9

    async def _caller(self, endpoint: Endpoint, access: Access) -> Caller:
        kept = self._kept.get(endpoint)
        # One that failed since would answer from its back-off; a new one dials at once.
        if kept is not None and (kept.access != access or kept.caller.has_failed):
            await self._drop(endpoint)
            kept = None
        if kept is None:
            caller = access.caller(endpoint)
            kept = self._kept[endpoint] = _Kept(access, await caller.__aenter__())
        return kept.caller

    def _turn(self, endpoint: Endpoint) -> asyncio.Lock:
        return self._turns.setdefault(endpoint, asyncio.Lock())

    async def _release(self, endpoint: Endpoint) -> None:
        async with self._turn(endpoint):
            await self._drop(endpoint)

    async def _drop(self, endpoint: Endpoint) -> None:
        kept = self._kept.pop(endpoint, None)
        if kept is not None:
            await kept.caller.__aexit__(None, None, None)


def _health(reply: Reply, took_s: float, timeout_s: float) -> Health:
    if reply.code is not Code.OK:
        return _refused(reply, took_s, timeout_s)
    status = status_of(reply.message)
    return Health(status, took_s, "" if status is not Status.ERROR else _NO_STATUS)


def status_of(message: bytes) -> Status:
    """What a HealthCheckResponse says; ERROR where the octets are none, UNKNOWN for a status without a name."""
    try:
        number = HealthCheckResponse.FromString(message).status
    except DecodeError:
        return Status.ERROR
    with suppress(ValueError):
        return Status(HealthCheckResponse.ServingStatus.Name(number))
    return Status.UNKNOWN


def _refused(reply: Reply, took_s: float, timeout_s: float) -> Health:
    if is_late(reply):
        return _obstructed(silent(timeout_s))
    if reply.origin not in (Origin.SERVER, Origin.HTTP):
        return Health(Status.ERROR, None, told(reply))
    if reply.code is Code.UNIMPLEMENTED:
        how = "" if reply.origin is Origin.SERVER else f" ({told(reply)})"
        return Health(Status.UNIMPLEMENTED, took_s, f"does not offer grpc.health.v1.Health{how}")
    status = Status.SERVICE_UNKNOWN if reply.code is Code.NOT_FOUND else Status.ERROR
    return Health(status, took_s, told(reply))


def _obstructed(obstacle: Obstacle) -> Health:
    return Health(Status(obstacle.kind), None, obstacle.text)
