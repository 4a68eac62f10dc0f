"""A server for tests of single calls: it echoes, streams, fails with details, and tells what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final

import grpc.aio
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from jsonschema import Draft202012Validator

from lbctl.rpc.messages.own_types import own_files, own_types
from lbctl.rpc.schemas.schema import build_method, build_pool
from tests.e2e.runs import ROOT, Ended
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

SCHEMA: Final = json.loads((ROOT / "docs" / "reference" / "call.schema.json").read_text(encoding="utf-8"))
LISTING: Final = ["test.Echo", "test.Admin", V1]
ECHO: Final = "test.Echo"
_TEXT: Final[Descriptor] = build_method(echo_files(), ECHO, "Say").input_type

Answering = Callable[[str], str]


def document(ended: Ended) -> dict[str, Any]:
    """Standard output as the one document that it must be."""
    found: dict[str, Any] = json.loads(ended.out)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def text(message: str, number: int = 0) -> bytes:
    """Write a Text."""
    made: Any = GetMessageClass(_TEXT)(message=message, count=number)
    return bytes(made.SerializeToString())


def message_of(octets: bytes) -> str:
    """What a Text says."""
    read: Any = GetMessageClass(_TEXT).FromString(octets)
    return str(read.message)


def status_with(*details: Message) -> bytes:
    """A google.rpc.Status of NOT_FOUND with these details."""
    pool = build_pool(own_files(), own_types()["google.rpc.Status"])
    status: Any = GetMessageClass(pool.FindMessageTypeByName("google.rpc.Status"))(code=5, message="no such cart")
    for each in details:
        status.details.add().Pack(each)
    return bytes(status.SerializeToString())


def error_info(**fields: str) -> Message:
    """A google.rpc.ErrorInfo."""
    pool = build_pool(own_files(), own_types()["google.rpc.ErrorInfo"])
    return GetMessageClass(pool.FindMessageTypeByName("google.rpc.ErrorInfo"))(**fields)


class Server:
    """The methods of test.Echo. ``heard`` is what calls carried; ``replied`` makes the reply of Say.

    Say never answers "hang", and answers "garbage" with what is no Text; Watch ends "hang" never.
    """

    def __init__(self, replied: Answering = str) -> None:
        self.heard: list[dict[str, Any]] = []
        self.messages: list[str] = []
        self._replied = replied

    def handlers(self) -> list[grpc.GenericRpcHandler[Any, Any]]:
        """Everything that is served, reflection included."""
        methods = {
            "Say": grpc.unary_unary_rpc_method_handler(self._say),
            "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
            "Push": grpc.stream_unary_rpc_method_handler(self._push),
            "Chat": grpc.stream_stream_rpc_method_handler(self._chat),
        }
        own = grpc.method_handlers_generic_handler(ECHO, methods)
        return [own, *reflecting(Reflection(echo_files(), LISTING), V1)]

    async def _say(self, request: bytes, context: Any) -> bytes:  # noqa: ANN401 # grpc's context has no public type
        said = await self._began(request, context)
        if said == "missing":
            trailers = (("grpc-status-details-bin", status_with(error_info(reason="CART_GONE", domain="shop"))),)
            context.set_trailing_metadata(trailers)
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such cart")
        if said == "hang":
            await asyncio.Event().wait()
        if said == "garbage":
            return b"\n\x05a"  # a text of five octets, of which one is there
        if said == "large":
            return text("x" * (5 << 20))
        context.set_trailing_metadata((("x-cost", "3"), ("set-cookie", "id=17")))
        return text(self._replied(said), len(self.heard))

    async def _began(self, request: bytes, context: Any) -> str:  # noqa: ANN401
        self.heard.append(dict(context.invocation_metadata()))
        await context.send_initial_metadata((("x-served-by", "b1"),))
        said = message_of(request)
        self.messages.append(said)
        return said

    async def _watch(self, request: bytes, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        for number in count() if message_of(request) == "endless" else range(3):
            yield text(message_of(request), number + 1)
            if message_of(request) == "hang":
                await asyncio.Event().wait()
        if message_of(request) == "broken":
            await context.abort(grpc.StatusCode.DATA_LOSS, "the rest is gone")

    async def _push(self, requests: AsyncIterator[bytes], context: Any) -> bytes:  # noqa: ANN401
        said = []
        async for each in requests:
            said.append(message_of(each))
            if said[-1] == "stop":
                await context.abort(grpc.StatusCode.ABORTED, "that is enough")
        return text(" ".join(said), len(said))

    async def _chat(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        async for each in requests:
            if message_of(each) == "stop":
                await context.abort(grpc.StatusCode.ABORTED, "that is enough")
            yield text(message_of(each).upper())


@asynccontextmanager
async def called(server: Server | None = None, **how: Any) -> AsyncIterator[str]:  # noqa: ANN401
    """Run the server for a block; its address."""
    async with serving((server or Server()).handlers(), **how) as endpoint:
        yield str(endpoint)
