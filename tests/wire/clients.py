"""Stand-ins for the engine: a client that understands nothing, and grpc.aio as a second opinion on the scripts.

``LBCTL_TEST_CLIENT=null`` or ``grpcio`` puts one of them in the engine's place for a whole run of this folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from lbctl.model import Code, Endpoint, Origin, Reply
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


class GrpcioClient:
    """grpc.aio behind the same door; it knows neither attempts nor origins, so they are guessed."""

    def __init__(self, endpoint: Endpoint, *, authority: str, connect_timeout_s: float) -> None:
        import grpc.aio

        self.counters: Counter[str] = Counter()
        options = [("grpc.default_authority", authority), ("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.aio.insecure_channel(str(endpoint), options=options)
        self._failure = grpc.aio.AioRpcError

    async def __aenter__(self) -> Self:
        return self

    async def unary(self, path: str, message: bytes, /, *, timeout_s: float) -> Ended:
        try:
            answer = await self._channel.unary_unary(path, None, None)(message, timeout=timeout_s)
        except self._failure as error:
            return Ended(Reply(Code(error.code().value[0]), Origin.SERVER, error.details() or ""))
        return Ended(Reply(Code.OK, Origin.SERVER, "", answer or b""))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close(None)
