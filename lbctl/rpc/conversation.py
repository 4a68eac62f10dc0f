"""One server reflection stream: questions in, descriptor files out, v1 first and v1alpha where that is missing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

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
MAX_FILES: Final = 5000
MAX_RESCUES: Final = 32


class ReflectionFailed(Exception):
    """A backend ended the reflection stream: its status by name, and its words."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(f"{code}: {details}")
        self.code = code
        self.details = details

    @property
    def obstacle(self) -> Obstacle:
        if self.code == "UNIMPLEMENTED":
            return Obstacle(Kind.UNIMPLEMENTED, "answered UNIMPLEMENTED")
        text = f"{self.code}: {printable(self.details)}" if self.details else self.code
        return Obstacle(Kind.ERROR, f"answered {text}")


class Conversation:
    """An open reflection stream with the files it has delivered; questions are asked one at a time."""

    def __init__(
        self, call: grpc.aio.StreamStreamCall[ServerReflectionRequest, ServerReflectionResponse], protocol: Protocol
    ) -> None:
        self._call = call
        self.protocol = protocol
        self.listing: list[str] = []
        self.files: dict[str, FileDescriptorProto] = {}

    def end(self) -> None:
        """Let the stream go; the files stay."""
        self._call.cancel()

    async def list_services(self) -> None:
        """Ask what the backend offers."""
        reply = await self._ask(ServerReflectionRequest(list_services=""))
        if reply.HasField("error_response"):
            error = reply.error_response
            raise ReflectionFailed(_code_name(error.error_code), error.error_message)
        self.listing = [service.name for service in reply.list_services_response.service]

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
        try:
            await self._call.write(question)
            reply = await self._call.read()
        except grpc_aio.AioRpcError as error:
            raise ReflectionFailed(error.code().name, error.details() or "") from error
        except asyncio.InvalidStateError as error:  # the stream had ended before the question left
            raise await self._ended() from error
        if reply is grpc_aio.EOF:
            raise await self._ended()
        assert isinstance(reply, ServerReflectionResponse)
        return reply

    async def _ended(self) -> ReflectionFailed:
        code = (await self._call.code()).name
        details = await self._call.details() or ""
        return ReflectionFailed(*(("UNAVAILABLE", "the stream ended early") if code == "OK" else (code, details)))


def _code_name(number: int) -> str:
    codes: dict[int, str] = {code.value[0]: code.name for code in load_grpc().StatusCode}
    return codes.get(number, f"code {number}")


@asynccontextmanager
async def conversation(channel: grpc.aio.Channel) -> AsyncIterator[Conversation]:
    """Open a reflection stream on a connected channel, with the list of services already read."""
    talk = await _begin(channel)
    try:
        yield talk
    finally:
        talk.end()


async def _begin(channel: grpc.aio.Channel) -> Conversation:
    try:
        return await _try_version(channel, "v1")
    except ReflectionFailed as error:
        if error.code not in UNKNOWN_VERSION:
            raise
        first = error
    try:
        return await _try_version(channel, "v1alpha")
    except ReflectionFailed as error:
        # Of two refusals the one that says more.
        raise (first if error.code == "UNIMPLEMENTED" else error) from None


async def _try_version(channel: grpc.aio.Channel, protocol: Protocol) -> Conversation:
    open_stream: Any = channel.stream_stream(
        PATHS[protocol],
        request_serializer=ServerReflectionRequest.SerializeToString,
        response_deserializer=ServerReflectionResponse.FromString,
    )
    talk = Conversation(open_stream(), protocol)
    try:
        await talk.list_services()
    except BaseException:
        talk.end()
        raise
    return talk
