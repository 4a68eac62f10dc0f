"""Message types for the tests of the JSON mapping: a field of every sort, built without a compiler."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from lbctl.rpc.schemas.schema import Method, build_method, well_known

F = FieldDescriptorProto
WELL_KNOWN: Final = ("any", "duration", "field_mask", "struct", "timestamp", "wrappers")

# Name, number, type, type name; a type name in brackets is a repeated field.
FIELDS: Final = (
    ("name", 1, F.TYPE_STRING, ""),
    ("big", 2, F.TYPE_INT64, ""),
    ("unsigned", 3, F.TYPE_UINT64, ""),
    ("small", 4, F.TYPE_INT32, ""),
    ("ratio", 5, F.TYPE_DOUBLE, ""),
    ("raw", 6, F.TYPE_BYTES, ""),
    ("flag", 7, F.TYPE_BOOL, ""),
    ("colour", 8, F.TYPE_ENUM, ".t.Colour"),
    ("tags", 9, F.TYPE_STRING, "[]"),
    ("items", 10, F.TYPE_MESSAGE, "[.t.Item]"),
    ("when", 11, F.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
    ("pause", 12, F.TYPE_MESSAGE, ".google.protobuf.Duration"),
    ("anything", 13, F.TYPE_MESSAGE, ".google.protobuf.Any"),
    ("free", 14, F.TYPE_MESSAGE, ".google.protobuf.Struct"),
    ("value", 15, F.TYPE_MESSAGE, ".google.protobuf.Value"),
    ("maybe", 16, F.TYPE_MESSAGE, ".google.protobuf.Int64Value"),
    ("snake_name", 17, F.TYPE_STRING, ""),
    ("by_number", 18, F.TYPE_MESSAGE, "[.t.Sink.ByNumberEntry]"),
    ("by_flag", 19, F.TYPE_MESSAGE, "[.t.Sink.ByFlagEntry]"),
    ("raws", 20, F.TYPE_BYTES, "[]"),
    ("single", 21, F.TYPE_FLOAT, ""),
    ("mask", 22, F.TYPE_MESSAGE, ".google.protobuf.FieldMask"),
)


def add_field(message: DescriptorProto, name: str, number: int, kind: F.Type.ValueType, type_name: str = "") -> F:
    """Add a field as a compiler would describe it."""
    label = F.LABEL_REPEATED if type_name.startswith("[") else F.LABEL_OPTIONAL
    head, *rest = name.split("_")
    field = message.field.add(name=name, number=number, type=kind, label=label)
    field.json_name = head + "".join(part.title() for part in rest)
    if type_name.strip("[]"):
        field.type_name = type_name.strip("[]")
    return field


def _add_map(message: DescriptorProto, name: str, key: F.Type.ValueType, value: F.Type.ValueType, of: str = "") -> None:
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    add_field(entry, "key", 1, key)
    add_field(entry, "value", 2, value, of)


def kitchen_sink() -> FileDescriptorProto:
    """Describe a message with a field of every sort, and the service that takes and returns it."""
    file = FileDescriptorProto(name="t.proto", package="t", syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in WELL_KNOWN)
    colour = file.enum_type.add(name="Colour")
    for number, name in enumerate(("RED", "GREEN")):
        colour.value.add(name=name, number=number)
    add_field(file.message_type.add(name="Item"), "number", 1, F.TYPE_INT32)
    sink = file.message_type.add(name="Sink")
    for name, number, kind, type_name in FIELDS:
        add_field(sink, name, number, kind, type_name)
    _add_map(sink, "ByNumberEntry", F.TYPE_INT32, F.TYPE_MESSAGE, ".t.Item")
    _add_map(sink, "ByFlagEntry", F.TYPE_BOOL, F.TYPE_INT64)
    sink.oneof_decl.add(name="side")
    for number, name in enumerate(("left", "right"), start=40):
        add_field(sink, name, number, F.TYPE_STRING).oneof_index = 0
    file.service.add(name="S").method.add(name="M", input_type=".t.Sink", output_type=".t.Sink")
    return file


def _required() -> FileDescriptorProto:
    file = FileDescriptorProto(name="r.proto", package="r", syntax="proto2")
    for name, number in (("id", 1), ("twin", 2)):
        message = file.message_type[0] if file.message_type else file.message_type.add(name="Must")
        add_field(message, name, number, F.TYPE_INT32).label = F.LABEL_REQUIRED
    file.service.add(name="S").method.add(name="M", input_type=".r.Must", output_type=".r.Must")
    return file


def method_of(file: FileDescriptorProto) -> Method:
    """The method ``S.M`` of a file, in a pool of its own."""
    own = [well_known(f"google/protobuf/{name}.proto") for name in WELL_KNOWN]
    files = {each.name: each for each in (file, *own) if each is not None}
    return build_method(files, f"{file.package}.S", "M")


KITCHEN_SINK: Final = method_of(kitchen_sink())
REQUIRED: Final = method_of(_required())
