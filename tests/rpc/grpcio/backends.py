"""grpcio servers that count what they get, and a desk that waits for the ends of calls."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from lbctl.clock import SystemClock
from lbctl.model import Code, Endpoint, Reply
from lbctl.rpc.grpcio.transport import GrpcTransport
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Request, Stream
from lbctl.wire.state import Call, Wait
from tests.fakes import until

CERTS = Path(__file__).parents[2] / "certs"
SERVICE = "test.Count"
PATIENCE_S = 20.0


@dataclass
class Backend:
    """One server: ``calls`` by method, and the metadata of the last call."""

    endpoint: Endpoint
    calls: Counter[str] = field(default_factory=Counter)
    metadata: dict[str, str | bytes] = field(default_factory=dict)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    load_report: bytes = b""
    server: Any = None

    @property
    def unary(self) -> int:
        return self.calls["Say"]

    def _note(self, method: str, context: Any) -> None:  # noqa: ANN401  # grpc's context has no public type
        self.calls[method] += 1
        self.metadata = dict(context.invocation_metadata())

    async def _say(self, message: bytes, context: Any) -> bytes:  # noqa: ANN401
        self._note("Say", context)
        if self.load_report:
            context.set_trailing_metadata((("endpoint-load-metrics-bin", self.load_report),))
        return message

    async def _fail(self, message: bytes, context: Any) -> bytes:  # noqa: ANN401
        self._note("Fail", context)
        await context.abort(grpc.StatusCode.NOT_FOUND, "nothing here")
        return b""

    async def _wait(self, message: bytes, context: Any) -> bytes:  # noqa: ANN401
        self._note("Wait", context)
        await self.gate.wait()
        return message

    async def _watch(self, message: bytes, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        self._note("Watch", context)
        for _ in range(message[0] if message else 1 << 30):
            yield message
            await asyncio.sleep(0)

    async def _push(self, messages: AsyncIterator[bytes], context: Any) -> bytes:  # noqa: ANN401
        self._note("Push", context)
        return b"".join([message async for message in messages])

    async def _chat(self, messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        self._note("Chat", context)
        async for message in messages:
            yield message

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """Every kind of method, on raw bytes."""
        kinds = {
            "Say": grpc.unary_unary_rpc_method_handler(self._say),
            "Fail": grpc.unary_unary_rpc_method_handler(self._fail),
            "Wait": grpc.unary_unary_rpc_method_handler(self._wait),
            "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
            "Push": grpc.stream_unary_rpc_method_handler(self._push),
            "Chat": grpc.stream_stream_rpc_method_handler(self._chat),
        }
        return grpc.method_handlers_generic_handler(SERVICE, kinds)

    async def start(self, address: str = "", credentials: grpc.ServerCredentials | None = None) -> None:
        """Listen, on the port it had before if there was one."""
        self.server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        self.server.add_generic_rpc_handlers((self.handler(),))
        wanted = address or f"{self.endpoint.host}:{self.endpoint.port}"
        port = (
            self.server.add_insecure_port(wanted)
            if credentials is None
            else self.server.add_secure_port(wanted, credentials)
        )
        if not self.endpoint.is_unix:
            self.endpoint = Endpoint(self.endpoint.host, port)
        await self.server.start()

    async def stop(self) -> None:
        """Close every connection at once."""
        await self.server.stop(None)


def load_report(cpu_utilization: float, rps: float) -> bytes:
    """An xds.data.orca.v3.OrcaLoadReport: its fields 1 and 6, both doubles."""
    return b"\x09" + struct.pack("<d", cpu_utilization) + b"\x31" + struct.pack("<d", rps)


@asynccontextmanager
async def backends(count: int = 1, *, tls: bool = False, mutual: bool = False) -> AsyncIterator[list[Backend]]:
    """So many servers on the loopback interface."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(count):
            backend = Backend(Endpoint("127.0.0.1", 0))
            await backend.start(credentials=server_credentials(mutual=mutual) if tls else None)
            stack.push_async_callback(backend.stop)
            found.append(backend)
        yield found


def server_credentials(*, mutual: bool = False) -> grpc.ServerCredentials:
    """The tests' certificate for localhost."""
    pair = (CERTS.joinpath("server.key").read_bytes(), CERTS.joinpath("server.pem").read_bytes())
    roots = CERTS.joinpath("ca.pem").read_bytes() if mutual else None
    return grpc.ssl_server_credentials([pair], roots, mutual)


@dataclass(eq=False)
class OneCall:
    """A call whose end is written on it."""

    deadline_ns: int = 1 << 62
    timeout_ns: int = 0
    waited_for: Wait = Wait.NOTHING
    reply: Reply | None = None
    how: str = ""
    first_ns: int = 0

    def alone(self) -> OneCall:
        return self


class Desk:
    """A transport's listener: everything it tells is kept, every end is written on its call."""

    def __init__(self) -> None:
        self.told: list[tuple[Connectivity, str]] = []
        self.gaps: list[int] = []
        self.written: list[Call] = []
        self.flusher = Flusher(self.written.extend)
        self.clock = SystemClock()

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None:
        done, baskets.done = baskets.done, []
        replies, baskets.replies = baskets.replies, []
        refused, baskets.refused = baskets.refused, []
        early, baskets.early = baskets.early, []
        self.gaps += baskets.gaps
        baskets.gaps = []
        for call in done:
            self._end(call, "done", Reply(Code.OK))
        for call, reply in replies:
            self._end(call, "replied", reply)
        for call, reply in refused:
            self._end(call, "refused", reply)
        for call, first_ns in early:
            assert isinstance(call, OneCall)
            call.first_ns = first_ns

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None:
        for call in calls:
            self._end(call, "returned", None)

    def _end(self, call: Call, how: str, reply: Reply | None) -> None:
        assert isinstance(call, OneCall)
        assert not call.how, f"ended twice, now {how}: {reply}"
        call.how, call.reply = how, reply

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        assert (transport.state, transport.reason) == (state, reason)
        self.told.append((state, reason))


def asking(method: str, message: bytes = b"hello", **more: Any) -> Request:  # noqa: ANN401  # Request's own fields
    """A request for one of the test service's methods."""
    return Request(f"/{SERVICE}/{method}", message, more.pop("authority", "count"), more.pop("timeout_ns", 0), **more)


def stream(method: str, **more: Any) -> Request:  # noqa: ANN401  # Stream's own fields
    """A request for a streaming method."""
    kinds = {"Watch": (False, True), "Push": (True, False), "Chat": (True, True)}
    client, server = kinds[method]
    return asking(method, stream=Stream(client, server, more.pop("messages", (b"m",)), **more))


class Line:
    """A transport to one address, and its desk."""

    def __init__(self, transport: GrpcTransport, desk: Desk) -> None:
        self.transport = transport
        self.desk = desk

    async def ready(self) -> None:
        await until(lambda: self.transport.state is Connectivity.READY, PATIENCE_S)

    def start(self, count: int = 1, *, timeout_s: float = 0.0) -> list[OneCall]:
        """Send calls the way an engine does."""
        now = self.desk.clock.now_ns()
        deadline = now + int(timeout_s * 1e9) if timeout_s else 1 << 62
        calls = [OneCall(deadline) for _ in range(count)]
        for call in calls:
            self.transport.send(call)
        return calls

    async def finish(self, calls: list[OneCall]) -> list[Reply]:
        """Wait for their ends."""
        await until(lambda: all(call.how for call in calls), PATIENCE_S)
        return [call.reply for call in calls if call.reply is not None]

    async def ask(self, count: int = 1, *, timeout_s: float = 0.0) -> list[Reply]:
        return await self.finish(self.start(count, timeout_s=timeout_s))


@asynccontextmanager
async def line(
    endpoint: Endpoint,
    request: Request,
    *,
    options: ConnectionOptions = ConnectionOptions(),  # noqa: B008  # frozen
    secure: Secure | None = None,
    keep: bool = True,
    connect: Callable[[Line], bool] = lambda _: True,
) -> AsyncIterator[Line]:
    """A transport that connects, for a block."""
    desk = Desk()
    transport = GrpcTransport(
        endpoint,
        request,
        desk,
        flusher=desk.flusher,
        clock=desk.clock,
        options=options,
        secure=secure,
        keep_messages=keep,
    )
    made = Line(transport, desk)
    if connect(made):
        transport.connect()
    try:
        yield made
    finally:
        await asyncio.wait_for(transport.aclose(), PATIENCE_S)
        assert transport.is_over
