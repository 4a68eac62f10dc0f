"""Types that nobody has to describe: protobuf's own, and those that gRPC's error details are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from lbctl.rpc.schemas.as_compiled import OWN_FILES
from lbctl.rpc.schemas.schema import WELL_KNOWN, definitions, well_known

STATUS: Final = "google.rpc.Status"
_PACKAGE: Final = "google.rpc"
_STATUS_FILE: Final = "google/rpc/status.proto"
_DETAILS_FILE: Final = "google/rpc/error_details.proto"

F: Final = FieldDescriptorProto
_TEXT: Final = "string"
_SCALARS: Final = {_TEXT: F.TYPE_STRING, "int32": F.TYPE_INT32, "int64": F.TYPE_INT64}
# Message, then its fields in the order of their numbers from 1: a name of text alone, or name:type, with * where it
# repeats and ? where it is optional. A dot in front of a message's name: it is in the one before.
_STATUS: Final = ("Status code:int32 message details:*google.protobuf.Any",)
_DETAILS: Final = (
    "ErrorInfo reason domain metadata:map",
    "RetryInfo retry_delay:google.protobuf.Duration",
    "DebugInfo stack_entries:*string detail",
    "QuotaFailure violations:*google.rpc.QuotaFailure.Violation",
    ".Violation subject description api_service quota_metric quota_id quota_dimensions:map quota_value:int64"
    " future_quota_value:?int64",
    "PreconditionFailure violations:*google.rpc.PreconditionFailure.Violation",
    ".Violation type subject description",
    "BadRequest field_violations:*google.rpc.BadRequest.FieldViolation",
    ".FieldViolation field description reason localized_message:google.rpc.LocalizedMessage",
    "RequestInfo request_id serving_data",
    "ResourceInfo resource_type resource_name owner description",
    "Help links:*google.rpc.Help.Link",
    ".Link description url",
    "LocalizedMessage locale message",
)


@cache
def own_files() -> Mapping[str, FileDescriptorProto]:
    """The files of all these types by name; they import nothing but each other."""
    protobuf = [file for file in map(well_known, OWN_FILES) if file is not None]
    status = _file(_STATUS_FILE, _STATUS, imports="any")
    details = _file(_DETAILS_FILE, _DETAILS, imports="duration")
    return {file.name: file for file in (*protobuf, status, details)}


@cache
def own_types() -> Mapping[str, str]:
    """Which file each of these types is in, by full name."""
    return {name: file.name for file in own_files().values() for name in definitions(file)}


def _file(name: str, lines: tuple[str, ...], *, imports: str) -> FileDescriptorProto:
    file = FileDescriptorProto(name=name, package=_PACKAGE, syntax="proto3")
    file.dependency.append(f"{WELL_KNOWN}{imports}.proto")
    for line in lines:
        title, *fields = line.split()
        outer = file.message_type[-1] if title.startswith(".") else None
        message = file.message_type.add() if outer is None else outer.nested_type.add()
        message.name = title.removeprefix(".")
        scope = f"{_PACKAGE}.{message.name}" if outer is None else f"{_PACKAGE}.{outer.name}.{message.name}"
        for number, text in enumerate(fields, 1):
            _add(message, scope, number, text)
    return file


def _add(message: DescriptorProto, scope: str, number: int, text: str) -> None:
    name, _, kind = text.partition(":")
    bare = kind.lstrip("*?") or _TEXT
    head, *rest = name.split("_")
    field = message.field.add(name=name, number=number, json_name=head + "".join(part.title() for part in rest))
    field.label = F.LABEL_REPEATED if kind.startswith("*") or kind == "map" else F.LABEL_OPTIONAL
    if kind == "map":
        bare = f"{scope}.{field.json_name[0].upper()}{field.json_name[1:]}Entry"
        entry = message.nested_type.add(name=bare.rpartition(".")[2])
        entry.options.map_entry = True
        _add(entry, bare, 1, "key")
        _add(entry, bare, 2, "value")
    if kind.startswith("?"):
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    field.type = _SCALARS.get(bare, F.TYPE_MESSAGE)
    if field.type == F.TYPE_MESSAGE:
        field.type_name = f".{bare}"
