"""gRPC's interoperability cases against grpcio and grpc-go, through a single call's way and a load's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.wire.frames import ErrorCode
from lbctl.wire.request import Request, Stream
from tests.interop.messages import PACKAGE, SERVICE, new, payload, read
from tests.wire.clients import Ended
from tests.wire.hot_client import HotClient

pytestmark = pytest.mark.slow

REQUEST_SIZES = (27182, 8, 1828, 45904)
RESPONSE_SIZES = (31415, 9, 2653, 58979)
LARGE_REQUEST, LARGE_RESPONSE = 271828, 314159
SPECIAL = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
TIMEOUT_NS = 10 * 10**9
CANCELLED = Reply(Code.CANCELLED, Origin.CLIENT, "cancelled")


class Client:
    """Calls of the service; ``keeps`` tells whether the replies' messages are there to look at."""

    def __init__(self, hot: HotClient, *, keeps: bool) -> None:
        self.hot = hot
        self.keeps = keeps

    async def unary(self, method: str, message: Any, *, gzip: bool = False) -> Ended:  # noqa: ANN401
        request = Request(
            f"/{SERVICE}/{method}", message.SerializeToString(), "interop", timeout_ns=TIMEOUT_NS, gzip=gzip
        )
        return await self.hot.call(request)

    async def stream(
        self,
        method: str,
        messages: Sequence[Any],
        *,
        sides: tuple[bool, bool],
        timeout_ns: int = TIMEOUT_NS,
        **how: Any,  # noqa: ANN401 - fields of Stream
    ) -> Ended:
        raw = tuple(message.SerializeToString() for message in messages)
        spec = Stream(client=sides[0], server=sides[1], messages=raw, count=len(raw), **how)
        return await self.hot.call(Request(f"/{SERVICE}/{method}", b"", "interop", timeout_ns, stream=spec))

    def sizes(self, ended: Ended) -> list[int] | None:
        """How large the payloads of the reply are, where they were kept."""
        replies = ended.reply.messages
        if not self.keeps:
            return None
        return [len(read("StreamingOutputCallResponse", raw).payload.body) for raw in replies]


@pytest.fixture(params=[True, False], ids=["call", "load"])
async def client(request: pytest.FixtureRequest, endpoint: Endpoint) -> AsyncIterator[Client]:
    keeps: bool = request.param
    async with HotClient(endpoint, authority="interop", connect_timeout_s=5.0, keep_messages=keeps) as hot:
        yield Client(hot, keeps=keeps)


def ok(ended: Ended) -> Reply:
    assert (ended.reply.code, ended.reply.origin) == (Code.OK, Origin.SERVER), ended.reply
    return ended.reply


def wanted(*sizes: int, **more: Any) -> Any:  # noqa: ANN401
    """A streaming request that asks for messages of these sizes."""
    return new("StreamingOutputCallRequest", response_parameters=[{"size": size} for size in sizes], **more)


async def test_empty_unary(client: Client) -> None:
    for _ in range(3):  # the second and third take the short ways
        assert ok(await client.unary("EmptyCall", new("Empty"))).message == b""


async def test_large_unary(client: Client) -> None:
    request = new("SimpleRequest", response_size=LARGE_RESPONSE, payload=payload(LARGE_REQUEST))
    for _ in range(5):  # beyond any window that is not given back
        reply = ok(await client.unary("UnaryCall", request))
        if client.keeps:
            assert len(read("SimpleResponse", reply.message).payload.body) == LARGE_RESPONSE


async def test_client_compressed_unary(client: Client) -> None:
    request = new(
        "SimpleRequest", response_size=LARGE_RESPONSE, payload=payload(LARGE_REQUEST), expect_compressed={"value": True}
    )
    for gzip in (True, False):
        reply = ok(await client.unary("UnaryCall", request, gzip=gzip))
        if client.keeps:
            assert len(read("SimpleResponse", reply.message).payload.body) == LARGE_RESPONSE


async def test_server_compressed_unary(client: Client) -> None:
    for compressed in (True, False):
        request = new("SimpleRequest", response_size=LARGE_RESPONSE, response_compressed={"value": compressed})
        reply = ok(await client.unary("UnaryCall", request))
        if client.keeps:
            assert len(read("SimpleResponse", reply.message).payload.body) == LARGE_RESPONSE


async def test_client_streaming(client: Client) -> None:
    messages = [new("StreamingInputCallRequest", payload=payload(size)) for size in REQUEST_SIZES]
    reply = ok(await client.stream("StreamingInputCall", messages, sides=(True, False)))
    assert (reply.sent, reply.received) == (4, 1)
    if client.keeps:
        assert read("StreamingInputCallResponse", reply.message).aggregated_payload_size == 74922


async def test_server_streaming(client: Client) -> None:
    ended = await client.stream("StreamingOutputCall", [wanted(*RESPONSE_SIZES)], sides=(False, True))
    assert (ok(ended).sent, ended.reply.received) == (1, 4)
    assert client.sizes(ended) in (None, list(RESPONSE_SIZES))


async def test_ping_pong(client: Client) -> None:
    """Each message is answered by one; the next ones do not wait for it, as nothing of lbctl looks at replies."""
    messages = [
        wanted(response, payload=payload(size)) for size, response in zip(REQUEST_SIZES, RESPONSE_SIZES, strict=True)
    ]
    for interval_ns in (0, 5_000_000):
        ended = await client.stream("FullDuplexCall", messages, sides=(True, True), interval_ns=interval_ns)
        assert (ok(ended).sent, ended.reply.received) == (4, 4)
        assert client.sizes(ended) in (None, list(RESPONSE_SIZES))


async def test_empty_stream(client: Client) -> None:
    ended = await client.stream("FullDuplexCall", [], sides=(True, True))
    assert (ok(ended).sent, ended.reply.received) == (0, 0)


async def test_status_code_and_message(client: Client) -> None:
    status = {"code": 2, "message": "test status message"}
    ended = await client.unary("UnaryCall", new("SimpleRequest", response_status=status))
    assert ended.reply[:3] == (Code.UNKNOWN, Origin.SERVER, "test status message")
    ended = await client.stream("FullDuplexCall", [wanted(response_status=status)], sides=(True, True))
    assert ended.reply[:3] == (Code.UNKNOWN, Origin.SERVER, "test status message")


async def test_special_status_message(client: Client) -> None:
    request = new("SimpleRequest", response_status={"code": 2, "message": SPECIAL})
    assert (await client.unary("UnaryCall", request)).reply[:3] == (Code.UNKNOWN, Origin.SERVER, SPECIAL)


async def test_unimplemented_method(client: Client) -> None:
    ended = await client.unary("UnimplementedCall", new("Empty"))
    assert ended.reply[:2] == (Code.UNIMPLEMENTED, Origin.SERVER)


async def test_unimplemented_service(client: Client) -> None:
    request = Request(f"/{PACKAGE}.UnimplementedService/UnimplementedCall", b"", "interop", TIMEOUT_NS)
    assert (await client.hot.call(request)).reply[:2] == (Code.UNIMPLEMENTED, Origin.SERVER)


async def test_cancel_after_begin(client: Client) -> None:
    ok(await client.unary("EmptyCall", new("Empty")))
    message = new("StreamingInputCallRequest", payload=payload(8))
    call = asyncio.create_task(
        client.stream("StreamingInputCall", [message, message], sides=(True, False), interval_ns=TIMEOUT_NS)
    )
    await asyncio.sleep(0)  # until the call has begun
    client.hot.subchannel.cancel(CANCELLED)
    assert (await call).reply[:3] == CANCELLED[:3]
    assert client.hot.counters[f"rst_sent: {ErrorCode.CANCEL.name}"] == 1
    ok(await client.unary("EmptyCall", new("Empty")))  # on the same connection


async def test_cancel_after_first_response(client: Client) -> None:
    """What ends a call by itself after enough messages."""
    endless = wanted(*[31415] * 100)
    ended = await client.stream("StreamingOutputCall", [endless], sides=(False, True), limit=1)
    assert ended.reply.code is Code.OK
    assert ended.reply.received >= 1
    ok(await client.unary("EmptyCall", new("Empty")))
    assert client.hot.counters["connections"] == 1


async def test_timeout_on_sleeping_server(client: Client) -> None:
    ok(await client.unary("EmptyCall", new("Empty")))
    sleepy = new("StreamingOutputCallRequest", response_parameters=[{"size": 9, "interval_us": 5_000_000}])
    ended = await client.stream("FullDuplexCall", [sleepy], sides=(True, True), timeout_ns=50_000_000)
    assert ended.reply.code is Code.DEADLINE_EXCEEDED
    ok(await client.unary("EmptyCall", new("Empty")))
    assert client.hot.counters["connections"] == 1
