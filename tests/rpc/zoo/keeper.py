"""A real server for any schema: it reads requests by the schema, remembers them, and answers what it was told to."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.descriptor_pb2 import FeatureSet, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha._async import ReflectionServicer
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from lbctl.model import Endpoint
from lbctl.rpc.schemas.protoc import compile_protos
from lbctl.rpc.schemas.schema import messages
from tests.rpc.servers import V1ALPHA, serving

F = FieldDescriptorProto
PROTOS: Final = Path(__file__).parent / "protos"
UNPACKABLE: Final = (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE, F.TYPE_GROUP)


@cache
def zoo_files() -> Sequence[FileDescriptorProto]:
    """The files of the zoo, as protoc compiles them."""
    return compile_protos(sorted(PROTOS.glob("*.proto")), [PROTOS])


def pool_of(files: Sequence[FileDescriptorProto]) -> DescriptorPool:
    """The files in a pool, in their order."""
    pool = DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool


def repacked(files: Sequence[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """The same files with every list that is packed written otherwise, and the other way round."""
    found = []
    for each in files:
        file = FileDescriptorProto()
        file.CopyFrom(each)
        fields = [*file.extension, *(field for _, message in messages(file) for field in message.field)]
        for field in fields:
            if field.label == F.LABEL_REPEATED and field.type not in UNPACKABLE:
                _repack(file, field)
        found.append(file)
    return found


def _repack(file: FileDescriptorProto, field: F) -> None:
    if file.syntax == "editions":
        features = field.options.features
        expanded = features.repeated_field_encoding == FeatureSet.EXPANDED
        features.repeated_field_encoding = FeatureSet.PACKED if expanded else FeatureSet.EXPANDED
    elif field.options.HasField("packed"):
        field.options.packed = not field.options.packed
    else:
        field.options.packed = file.syntax != "proto3"


class Keeper(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio's types are Any here
    """Answers every unary method with the next of ``replies``, or with the request where there is none."""

    def __init__(self, files: Sequence[FileDescriptorProto]) -> None:
        self.pool = pool_of(files)
        self._repacked = pool_of(repacked(files))
        self.heard: list[Message] = []
        self.replies: deque[bytes] = deque()

    def repacked(self, reply: Message) -> bytes:
        """The octets of a reply whose lists are packed where ours are not, and the other way round."""
        kind = self._repacked.FindMessageTypeByName(reply.DESCRIPTOR.full_name)
        message = GetMessageClass(kind).FromString(reply.SerializeToString())
        return bytes(message.SerializeToString())

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        name, method = details.method[1:].split("/")
        if name.startswith("grpc."):
            return None
        kind = self.pool.FindServiceByName(name).FindMethodByName(method).input_type

        async def answer(message: Message, _: object) -> bytes:
            self.heard.append(message)
            return self.replies.popleft() if self.replies else message.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(answer, request_deserializer=GetMessageClass(kind).FromString)


@asynccontextmanager
async def keeping(files: Sequence[FileDescriptorProto]) -> AsyncIterator[tuple[Keeper, Endpoint]]:
    """Serve all services of some files, with server reflection."""
    keeper = Keeper(files)
    names = [f"{file.package}.{service.name}" for file in files for service in file.service]
    async with serving([keeper, _reflection(names, keeper.pool)]) as endpoint:
        yield keeper, endpoint


def _reflection(names: Sequence[str], pool: DescriptorPool) -> Any:  # noqa: ANN401  # grpcio's own type
    info = grpc.stream_stream_rpc_method_handler(
        ReflectionServicer(names, pool=pool).ServerReflectionInfo,
        request_deserializer=ServerReflectionRequest.FromString,
        response_serializer=ServerReflectionResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(V1ALPHA, {"ServerReflectionInfo": info})
