"""Server reflection with one backend: questions in, descriptor files out, v1 first, v1alpha where that is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Literal

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection_pb2 import ExtensionRequest, ServerReflectionRequest, ServerReflectionResponse

from lbctl.model import Code, Origin, Reply
from lbctl.rpc.obstacle import told
from lbctl.rpc.schemas.as_compiled import as_compiled
from lbctl.rpc.schemas.schema import extends, find_file, find_service, missing_imports, missing_types, well_known

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import MethodDescriptorProto

Protocol = Literal["v1", "v1alpha"]

# Both versions have the same messages on the wire and differ in their package only.
PATHS: Final[dict[Protocol, str]] = {
    "v1": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "v1alpha": "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}
# What servers and proxies answer for a version they do not know; gRPC makes UNIMPLEMENTED of HTTP 404.
UNKNOWN_VERSION: Final = frozenset({Code.UNIMPLEMENTED, Code.UNAVAILABLE, Code.UNKNOWN, Code.INTERNAL})
# What servers end the stream with where they have no such symbol, file or extension: those on tonic do, which others
# tell in an answer.
NO_SUCH_THING: Final = frozenset({Code.NOT_FOUND, Code.UNIMPLEMENTED, Code.INVALID_ARGUMENT})
_EMPTY: Final = Reply(Code.UNKNOWN, Origin.CLIENT, "the stream ended without an answer")
MAX_FILES: Final = 5000
MAX_RESCUES: Final = 32

# Sends one question to a path as a stream of its own, and returns how that ended with what was answered.
Ask = Callable[[str, bytes], Awaitable[Reply]]


class ReflectionFailed(Exception):
    """A question was refused, or got no answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(told(reply))
        self.reply = reply


class Conversation:
    """Questions to one backend in one version, and the files its answers brought.

    Every question is a stream of its own, sent and half-closed at once: nothing stays open between two of them.
    """

    origin: Final = "server reflection"

    def __init__(self, ask: Ask, protocol: Protocol) -> None:
        self._send = ask
        self.protocol = protocol
        self.listing: list[str] = []
        self.files: dict[str, FileDescriptorProto] = {}

    def goes_on(self, ask: Ask) -> None:
        """Have further questions sent in another way, such as once a connection is closed."""
        self._send = ask

    async def begin(self) -> Reply | None:
        """Ask what the backend offers; a refusal is returned, since it may only mean the other version."""
        try:
            answer = await self._ask(ServerReflectionRequest(list_services=""))
        except ReflectionFailed as error:
            return error.reply
        if answer.HasField("error_response"):
            return _in_band(answer.error_response.error_code, answer.error_response.error_message)
        self.listing = [service.name for service in answer.list_services_response.service]
        return None

    async def methods(self, service: str) -> dict[str, MethodDescriptorProto]:
        """Fetch what a service declares; nothing where the backend cannot describe it."""
        if find_service(self.files, service) is None:
            await self._fetch(ServerReflectionRequest(file_containing_symbol=service))
        declaration = find_service(self.files, service)
        return {method.name: method for method in declaration[1].method} if declaration else {}

    async def symbol(self, name: str) -> bool:
        """Fetch the file that defines a message, enum, extension or service, by full name; whether there is one."""
        if find_file(self.files, name) is None:
            await self._fetch(ServerReflectionRequest(file_containing_symbol=name))
        return find_file(self.files, name) is not None

    async def extension(self, type_name: str, number: int) -> bool:
        """Fetch the file that extends a message by that field; whether there is one."""
        if not extends(self.files, type_name, number):
            wanted = ExtensionRequest(containing_type=type_name, extension_number=number)
            await self._fetch(ServerReflectionRequest(file_containing_extension=wanted))
        return extends(self.files, type_name, number)

    async def complete(self) -> None:
        """Fetch all that the files at hand import; what the backend cannot deliver stays missing."""
        asked: set[str] = set()
        await self._complete_imports(asked)
        # A file may be registered under another name than its importers use: then its types still lead to it.
        for name in missing_types(as_compiled(self.files))[:MAX_RESCUES]:
            await self._fetch(ServerReflectionRequest(file_containing_symbol=name))
        await self._complete_imports(asked)
        self.files.update(as_compiled(self.files))

    async def _complete_imports(self, asked: set[str]) -> None:
        while wanted := [name for name in missing_imports(self.files) if name not in asked]:
            for name in wanted:
                asked.add(name)
                await self._fetch(ServerReflectionRequest(file_by_filename=name))
                own = None if name in self.files else well_known(name)
                if own is not None:
                    self.files[name] = own

    async def _fetch(self, question: ServerReflectionRequest) -> None:
        try:
            answer = await self._ask(question)
        except ReflectionFailed as error:
            if error.reply.origin is Origin.SERVER and error.reply.code in NO_SUCH_THING:
                return
            raise
        for data in answer.file_descriptor_response.file_descriptor_proto:
            try:
                file = FileDescriptorProto.FromString(data)
            except DecodeError as error:
                raise _unusable("a descriptor file is not a protobuf message") from error
            self.files.setdefault(file.name, file)
        if len(self.files) > MAX_FILES:
            raise _unusable(f"more than {MAX_FILES} descriptor files")

    async def _ask(self, question: ServerReflectionRequest) -> ServerReflectionResponse:
        reply = await self._send(PATHS[self.protocol], question.SerializeToString())
        if not reply.messages:
            raise ReflectionFailed(_EMPTY if reply.code is Code.OK else reply)
        try:
            return ServerReflectionResponse.FromString(reply.messages[0])
        except DecodeError as error:
            raise _unusable("its answer is not a reflection response") from error


def _in_band(number: int, message: str) -> Reply:
    """The status that an answer states in its own words."""
    known = number in Code.__members__.values()
    return Reply(Code(number) if known else Code.UNKNOWN, Origin.SERVER, message, raw_code=None if known else number)


def _unusable(reason: str) -> ReflectionFailed:
    return ReflectionFailed(Reply(Code.INTERNAL, Origin.CLIENT, reason))


async def converse(ask: Ask, known: Protocol | None = None) -> Conversation:
    """Begin a conversation in the version the backend knows, with its services listed; raises ReflectionFailed.

    The version it was ``known`` to have before is tried first.
    """
    first = Conversation(ask, known or "v1")
    refusal = await first.begin()
    if refusal is None:
        return first
    if refusal.code not in UNKNOWN_VERSION:
        raise ReflectionFailed(refusal)
    second = Conversation(ask, "v1" if known == "v1alpha" else "v1alpha")
    other = await second.begin()
    if other is None:
        return second
    # Of two refusals the one that says more.
    raise ReflectionFailed(refusal if other.code is Code.UNIMPLEMENTED else other)
