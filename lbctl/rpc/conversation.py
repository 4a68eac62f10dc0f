"""Server reflection with one backend: questions in, descriptor files out, v1 first, v1alpha where that is missing."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from lbctl.rpc.channel import load_grpc, printable
from lbctl.rpc.probe import Kind, Obstacle
from lbctl.rpc.schema import find_service, missing_imports, missing_types, well_known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import grpc.aio
    from google.protobuf.descriptor_pb2 import MethodDescriptorProto

Protocol = Literal["v1", "v1alpha"]

# Both versions have the same messages on the wire and differ in their package only.
PATHS: Final[dict[Protocol, str]] = {
    "v1": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "v1alpha": "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}
# What servers and proxies answer for a version they do not know; gRPC makes UNIMPLEMENTED of HTTP 404.
UNKNOWN_VERSION: Final = frozenset({"UNIMPLEMENTED", "UNAVAILABLE", "UNKNOWN", "INTERNAL"})
# What grpcio says of a response that ends without a gRPC status, such as a web server's page.
NO_STATUS: Final = "Stream removed"
MAX_FILES: Final = 5000
MAX_RESCUES: Final = 32


class Refusal(NamedTuple):
    """How a backend declined to reflect: its status by name, and its words."""

    code: str
    details: str = ""

    @property
    def obstacle(self) -> Obstacle:
        """Whatever the status: the backend is there, and does not reflect."""
        if self.code == "UNIMPLEMENTED":
            return Obstacle(Kind.UNIMPLEMENTED, "answered UNIMPLEMENTED")
        if self.details.startswith(NO_STATUS):
            return Obstacle(Kind.UNIMPLEMENTED, "answered with something that is not gRPC")
        text = f"{self.code}: {printable(self.details)}" if self.details else self.code
        return Obstacle(Kind.UNIMPLEMENTED, f"answered {text}")


class ReflectionFailed(Exception):
    """A question was refused."""

    def __init__(self, code: str, details: str = "") -> None:
        super().__init__(f"{code}: {details}")
        self.refusal = Refusal(code, details)


class Conversation:
    """Questions to one backend in one version, and the files its answers brought.

    Every question is a stream of its own that ends with it: a server that refuses the stream while a question is
    being written would otherwise be reported as a broken write.
    """

    def __init__(self, channel: grpc.aio.Channel, protocol: Protocol) -> None:
        self._open: Any = channel.unary_stream(
            PATHS[protocol],
            request_serializer=ServerReflectionRequest.SerializeToString,
            response_deserializer=ServerReflectionResponse.FromString,
        )
        self._calls: list[Any] = []
        self.protocol = protocol
        self.listing: list[str] = []
        self.files: dict[str, FileDescriptorProto] = {}

    def end(self) -> None:
        """Cancel what a server has not ended by itself; only now, since many resets in a row look like an attack."""
        for call in self._calls:
            call.cancel()

    async def begin(self) -> Refusal | None:
        """Ask what the backend offers; a refusal is returned, since it may only mean the other version."""
        try:
            reply = await self._ask(ServerReflectionRequest(list_services=""))
        except ReflectionFailed as error:
            return error.refusal
        if reply.HasField("error_response"):
            error_response = reply.error_response
            return Refusal(_code_name(error_response.error_code), error_response.error_message)
        self.listing = [service.name for service in reply.list_services_response.service]
        return None

    async def methods(self, service: str) -> dict[str, MethodDescriptorProto]:
        """Fetch what a service declares; nothing where the backend cannot describe it."""
        if find_service(self.files, service) is None:
            await self._fetch(ServerReflectionRequest(file_containing_symbol=service))
        declaration = find_service(self.files, service)
        return {method.name: method for method in declaration[1].method} if declaration else {}

    async def complete(self) -> None:
        """Fetch all that the files at hand import; what the backend cannot deliver stays missing."""
        asked: set[str] = set()
        await self._complete_imports(asked)
        # A file may be registered under another name than its importers use: then its types still lead to it.
        for name in missing_types(self.files)[:MAX_RESCUES]:
            await self._fetch(ServerReflectionRequest(file_containing_symbol=name))
        await self._complete_imports(asked)

    async def _complete_imports(self, asked: set[str]) -> None:
        while wanted := [name for name in missing_imports(self.files) if name not in asked]:
            for name in wanted:
                asked.add(name)
                await self._fetch(ServerReflectionRequest(file_by_filename=name))
                own = None if name in self.files else well_known(name)
                if own is not None:
                    self.files[name] = own

    async def _fetch(self, question: ServerReflectionRequest) -> None:
        reply = await self._ask(question)
        for data in reply.file_descriptor_response.file_descriptor_proto:
            try:
                file = FileDescriptorProto.FromString(data)
            except DecodeError as error:
                raise ReflectionFailed("INTERNAL", "a descriptor file is not a protobuf message") from error
            self.files.setdefault(file.name, file)
        if len(self.files) > MAX_FILES:
            raise ReflectionFailed("RESOURCE_EXHAUSTED", f"more than {MAX_FILES} descriptor files")

    async def _ask(self, question: ServerReflectionRequest) -> ServerReflectionResponse:
        grpc_aio = load_grpc().aio
        call = self._open(question)
        self._calls.append(call)
        try:
            reply = await call.read()
        except grpc_aio.AioRpcError as error:
            raise ReflectionFailed(error.code().name, error.details() or "") from error
        if reply is grpc_aio.EOF:
            raise ReflectionFailed("UNAVAILABLE", "the stream ended without an answer")
        assert isinstance(reply, ServerReflectionResponse)
        return reply


def _code_name(number: int) -> str:
    codes: dict[int, str] = {code.value[0]: code.name for code in load_grpc().StatusCode}
    return codes.get(number, f"code {number}")


@asynccontextmanager
async def conversation(channel: grpc.aio.Channel) -> AsyncIterator[Conversation]:
    """Open a conversation on a connected channel, in the version the backend knows, with its services listed."""
    first = Conversation(channel, "v1")
    second = Conversation(channel, "v1alpha")
    try:
        yield await _listed(first, second)
    finally:
        first.end()
        second.end()


async def _listed(first: Conversation, second: Conversation) -> Conversation:
    refusal = await first.begin()
    if refusal is None:
        return first
    if refusal.code not in UNKNOWN_VERSION:
        raise ReflectionFailed(*refusal)
    other = await second.begin()
    if other is None:
        return second
    # Of two refusals the one that says more.
    raise ReflectionFailed(*(refusal if other.code == "UNIMPLEMENTED" else other))
