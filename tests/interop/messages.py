"""The messages of gRPC's interoperability tests (package grpc.testing), described without a compiler."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

F = FieldDescriptorProto
PACKAGE: Final = "grpc.testing"
SERVICE: Final = f"{PACKAGE}.TestService"

# Message -> field, number, type; a capital letter begins another message's name, brackets a repeated field.
MESSAGES: Final[dict[str, list[tuple[str, int, int | str]]]] = {
    "Empty": [],
    "BoolValue": [("value", 1, F.TYPE_BOOL)],
    "Payload": [("type", 1, F.TYPE_INT32), ("body", 2, F.TYPE_BYTES)],
    "EchoStatus": [("code", 1, F.TYPE_INT32), ("message", 2, F.TYPE_STRING)],
    "SimpleRequest": [
        ("response_size", 2, F.TYPE_INT32),
        ("payload", 3, "Payload"),
        ("response_compressed", 6, "BoolValue"),
        ("response_status", 7, "EchoStatus"),
        ("expect_compressed", 8, "BoolValue"),
    ],
    "SimpleResponse": [("payload", 1, "Payload")],
    "StreamingInputCallRequest": [("payload", 1, "Payload")],
    "StreamingInputCallResponse": [("aggregated_payload_size", 1, F.TYPE_INT32)],
    "ResponseParameters": [("size", 1, F.TYPE_INT32), ("interval_us", 2, F.TYPE_INT32)],
    "StreamingOutputCallRequest": [
        ("response_parameters", 2, "[ResponseParameters]"),
        ("payload", 3, "Payload"),
        ("response_status", 7, "EchoStatus"),
    ],
    "StreamingOutputCallResponse": [("payload", 1, "Payload")],
}


def _described() -> FileDescriptorProto:
    file = FileDescriptorProto(name="interop.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            repeated = isinstance(kind, str) and kind.startswith("[")
            added = message.field.add(name=field, number=number)
            added.label = F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL
            if isinstance(kind, str):
                added.type, added.type_name = F.TYPE_MESSAGE, f".{PACKAGE}.{kind.strip('[]')}"
            else:
                added.type = F.Type.ValueType(kind)
    return file


_POOL = DescriptorPool()
_POOL.Add(_described())


def new(name: str, /, **fields: Any) -> Any:  # noqa: ANN401  # its class is made from a description
    """A message of the package."""
    return GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))(**fields)


def read(name: str, raw: bytes) -> Any:  # noqa: ANN401
    """A message of the package from its bytes."""
    message = new(name)
    message.ParseFromString(raw)
    return message


def payload(size: int) -> Any:  # noqa: ANN401
    return new("Payload", body=bytes(size))
