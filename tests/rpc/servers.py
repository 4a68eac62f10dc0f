"""Real servers on 127.0.0.1, each with one property that lbctl has to cope with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc.aio
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha.reflection_pb2 import (
    ErrorResponse,
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)

from lbctl.model import Endpoint
from lbctl.rpc.schemas.schema import find_service

V1 = "grpc.reflection.v1.ServerReflection"
V1ALPHA = "grpc.reflection.v1alpha.ServerReflection"
HEALTH = "grpc.health.v1.Health"
CERTS = Path(__file__).parent.parent / "certs"
F = FieldDescriptorProto


def echo_files() -> dict[str, FileDescriptorProto]:
    """A service of all four kinds of method in one file, its messages in another."""
    messages = FileDescriptorProto(name="test/message.proto", package="test", syntax="proto3")
    message = messages.message_type.add(name="Text")
    message.field.add(name="message", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL, json_name="message")
    message.field.add(name="count", number=2, type=F.TYPE_INT64, label=F.LABEL_OPTIONAL, json_name="count")
    file = FileDescriptorProto(name="test/echo.proto", package="test", syntax="proto3", dependency=[messages.name])
    echo = file.service.add(name="Echo")
    for name, client, server in (
        ("Say", False, False),
        ("Watch", False, True),
        ("Push", True, False),
        ("Chat", True, True),
    ):
        echo.method.add(
            name=name,
            input_type=".test.Text",
            output_type=".test.Text",
            client_streaming=client,
            server_streaming=server,
        )
    file.service.add(name="Admin").method.add(name="Reset", input_type=".test.Text", output_type=".test.Text")
    return {file.name: file, messages.name: messages}


class Reflection:
    """Server reflection over given files: one file an answer, as lazy servers do."""

    def __init__(self, files: Mapping[str, FileDescriptorProto], listing: Sequence[str]) -> None:
        self.files = files
        self.listing = listing

    async def converse(
        self, questions: AsyncIterator[ServerReflectionRequest], _: object
    ) -> AsyncIterator[ServerReflectionResponse]:
        async for question in questions:
            yield self._answer(question)

    def _answer(self, question: ServerReflectionRequest) -> ServerReflectionResponse:
        if question.HasField("list_services"):
            services = [ServiceResponse(name=name) for name in self.listing]
            return ServerReflectionResponse(list_services_response=ListServiceResponse(service=services))
        file = self.files.get(question.file_by_filename) or self._by_symbol(question.file_containing_symbol)
        if file is None:
            return ServerReflectionResponse(error_response=ErrorResponse(error_code=5, error_message="not found"))
        answer = FileDescriptorResponse(file_descriptor_proto=[file.SerializeToString()])
        return ServerReflectionResponse(file_descriptor_response=answer)

    def _by_symbol(self, name: str) -> FileDescriptorProto | None:
        found = find_service(self.files, name)
        if found is not None:
            return found[0]
        messages = ((f"{file.package}.{m.name}", file) for file in self.files.values() for m in file.message_type)
        return next((file for full_name, file in messages if full_name == name), None)


def reflecting(reflection: Reflection, *names: str) -> list[grpc.GenericRpcHandler[Any, Any]]:
    """Serve reflection under the given service names."""
    handler = grpc.stream_stream_rpc_method_handler(
        reflection.converse,
        request_deserializer=ServerReflectionRequest.FromString,
        response_serializer=ServerReflectionResponse.SerializeToString,
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler}) for name in names]


def hanging(name: str) -> grpc.GenericRpcHandler[Any, Any]:
    """Serve reflection that takes the question and never answers."""

    async def hang(_: object, __: object) -> None:
        await asyncio.Event().wait()

    handler = grpc.stream_stream_rpc_method_handler(hang)
    return grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler})


def failing(name: str, code: grpc.StatusCode, details: str = "") -> grpc.GenericRpcHandler[Any, Any]:
    """Serve reflection that ends at once with a status."""

    async def fail(_: object, context: Any) -> None:  # noqa: ANN401 # grpc's context has no public type
        await context.abort(code, details)

    handler = grpc.stream_stream_rpc_method_handler(fail)
    return grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler})


def checking(answer: Callable[[Any], Awaitable[bytes]]) -> grpc.GenericRpcHandler[Any, Any]:
    """Serve Health/Check with whatever the given function does with the call's context."""

    async def check(_: bytes, context: object) -> bytes:
        return await answer(context)

    return grpc.method_handlers_generic_handler(HEALTH, {"Check": grpc.unary_unary_rpc_method_handler(check)})


@asynccontextmanager
async def serving(
    handlers: Iterable[grpc.GenericRpcHandler[Any, Any]] = (),
    *,
    healthy: HealthServicer | None = None,
    tls: bool | grpc.ServerCredentials = False,
    port: int = 0,
) -> AsyncIterator[Endpoint]:
    """Run a grpcio server for a block."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(tuple(handlers))
    if healthy is not None:
        health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    address = f"127.0.0.1:{port}"
    secret = credentials() if tls is True else tls
    port = server.add_secure_port(address, secret) if secret else server.add_insecure_port(address)
    await server.start()
    try:
        yield Endpoint("127.0.0.1", port)
    finally:
        await server.stop(None)


def credentials(name: str = "server", *, mutual: bool = False) -> grpc.ServerCredentials:
    """One of the certificates in tests/certs; where it is mutual, clients have to show one of theirs."""
    pair = (CERTS.joinpath(f"{name}.key").read_bytes(), CERTS.joinpath(f"{name}.pem").read_bytes())
    authority = CERTS.joinpath("ca.pem").read_bytes() if mutual else None
    return grpc.ssl_server_credentials([pair], authority, mutual)


def health_of(status: health_pb2.HealthCheckResponse.ServingStatus, service: str = "") -> HealthServicer:
    """Serve grpc.health.v1 with one status."""
    servicer = HealthServicer()
    servicer._server_status[service] = status
    return servicer


@asynccontextmanager
async def listening(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[Endpoint]:
    """Run a TCP server whose connections are all over when the block is; clients must have hung up by then."""
    talks: list[asyncio.Task[None]] = []

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await talk(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.ensure_future(whole(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield Endpoint(*server.sockets[0].getsockname())
    finally:
        server.close()
        await server.wait_closed()
        await asyncio.wait_for(asyncio.gather(*talks), 5)


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[Endpoint]:
    """Run a TCP server that reads once, sends the given bytes and closes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1024)
        writer.write(answer)

    async with listening(talk) as endpoint:
        yield endpoint


@asynccontextmanager
async def http2_not_found() -> AsyncIterator[Endpoint]:
    """Run an HTTP/2 server that answers every request with 404 and a page."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(24)
        writer.write(_frame(4))
        while True:
            head = await reader.readexactly(9)
            await reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] == 4 and not head[4]:
                writer.write(_frame(4, flags=1))
            elif head[3] == 1:
                stream = int.from_bytes(head[5:], "big")
                writer.write(_frame(1, flags=4, stream=stream, payload=b"\x8d"))  # :status 404, from HPACK's table
                writer.write(_frame(0, flags=1, stream=stream, payload=b"<p>not found</p>"))

    async with listening(talk) as endpoint:
        yield endpoint


def _frame(kind: int, *, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@contextmanager
def black_hole() -> Iterator[Endpoint]:
    """Hold a port that completes the TCP handshake and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield Endpoint(*listener.getsockname())


@contextmanager
def refused_port() -> Iterator[Endpoint]:
    """Hold a port on which nobody listens: bound, so that no one else can take it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield Endpoint(*holder.getsockname())
