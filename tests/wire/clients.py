"""Stand-ins for the engine: a client that understands nothing, and the second engine.

``LBCTL_TEST_CLIENT=null`` or ``grpcio`` puts one of them in the engine's place for a whole run of this folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from lbctl.clock import SystemClock
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.caller import Caller
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.request import Request
from tests.wire import frames as h2

NULL_WAIT_S = 0.02


class CallResult(Protocol):
    """What a finished call tells; ``lbctl.rpc.caller.Result`` is one."""

    @property
    def reply(self) -> Reply: ...
    @property
    def attempts(self) -> int: ...


class Client(Protocol):
    """The door these tests use; ``lbctl.rpc.caller.Caller`` is one."""

    @property
    def counters(self) -> Counter[str]: ...
    async def unary(self, path: str, message: bytes, /, *, timeout_s: float) -> CallResult: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Ended(NamedTuple):
    """A stand-in's result."""

    reply: Reply
    attempts: int = 1


class NullClient:
    """Sends the preface and one request, then ignores everything and stays connected."""

    def __init__(self, endpoint: Endpoint, *, authority: str, connect_timeout_s: float) -> None:
        self.counters: Counter[str] = Counter()
        self._endpoint, self._authority = endpoint, authority
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        with contextlib.suppress(OSError):
            _, self._writer = await asyncio.open_connection(*self._endpoint)
            self._writer.write(h2.PREFACE + h2.settings())
        return self

    async def unary(self, path: str, message: bytes, /, *, timeout_s: float) -> Ended:
        if self._writer is not None and not self.counters["connections"]:
            self.counters["connections"] = 1
            self._writer.write(self._request(path, message))
        await asyncio.sleep(min(timeout_s, NULL_WAIT_S))
        return Ended(Reply(Code.UNKNOWN, Origin.CLIENT, "the null client never listens"))

    def _request(self, path: str, request: bytes) -> bytes:
        head = h2.headers(
            1,
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", self._authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        )
        return head + h2.data(1, h2.message(request[: h2.LARGEST_FRAME - 5]), end=True)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()


class GrpcioClient(Caller):
    """The engine ``grpcio`` behind the same door: only what carries the calls is another."""

    def __init__(self, endpoint: Endpoint, *, authority: str, connect_timeout_s: float) -> None:
        from lbctl.rpc.grpcio.transport import GrpcTransport

        options = ConnectionOptions(connect_timeout_s=connect_timeout_s)
        super().__init__(endpoint, authority=authority, options=options)
        self._subchannel = GrpcTransport(  # type: ignore[assignment]
            endpoint,
            Request("/", b"", authority, 0),
            self,
            flusher=Flusher(),
            clock=SystemClock(),
            options=options,
            keep_messages=True,
        )
