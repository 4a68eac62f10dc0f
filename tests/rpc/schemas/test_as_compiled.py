"""Descriptor files of servers that describe themselves in their own way."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from lbctl.rpc.messages.message import decode, encode
from lbctl.rpc.schemas.as_compiled import as_compiled, in_full
from lbctl.rpc.schemas.schema import build_method

F = FieldDescriptorProto


def short_named() -> FileDescriptorProto:
    """A file as protobufjs writes it: names as in the source, and no word of what it imports."""
    file = FileDescriptorProto(name="a_v1.proto", package="a.v1", syntax="proto3")
    outer = file.message_type.add(name="Outer")
    outer.nested_type.add(name="Inner")
    outer.nested_type[0].field.add(name="up", number=1, type=F.TYPE_MESSAGE, type_name="Outer", label=1)
    file.message_type.add(name="Inner")
    for number, type_name in enumerate(("Inner", "Outer.Inner", "v1.Inner", "google.protobuf.Any", ".a.v1.Inner"), 1):
        outer.field.add(name=f"f{number}", number=number, type=F.TYPE_MESSAGE, type_name=type_name, label=1)
    service = file.service.add(name="Zoo")
    service.method.add(name="Say", input_type="Outer", output_type="a.v1.Inner")
    return file


def test_names_are_looked_for_from_the_inside_out() -> None:
    file = short_named()
    found = in_full({file.name: file})[file.name]
    outer = found.message_type[0]
    assert [field.type_name for field in outer.field] == [
        ".a.v1.Outer.Inner",
        ".a.v1.Outer.Inner",
        ".a.v1.Inner",
        ".google.protobuf.Any",
        ".a.v1.Inner",
    ]
    assert outer.nested_type[0].field[0].type_name == ".a.v1.Outer"
    assert found.service[0].method[0].input_type == ".a.v1.Outer"
    assert found.service[0].method[0].output_type == ".a.v1.Inner"
    assert file.message_type[0].field[0].type_name == "Inner"


def test_extensions_are_named_in_full_too() -> None:
    file = FileDescriptorProto(name="a.proto", package="a")
    file.message_type.add(name="M").extension_range.add(start=100, end=200)
    file.extension.add(name="x", number=100, type=F.TYPE_MESSAGE, type_name="M", extendee="M", label=1)
    found = in_full({file.name: file})[file.name]
    assert (found.extension[0].type_name, found.extension[0].extendee) == (".a.M", ".a.M")


def test_files_of_a_compiler_are_left_as_they_are() -> None:
    file = FileDescriptorProto(name="a.proto", package="a")
    file.message_type.add(name="M").field.add(name="m", number=1, type=F.TYPE_MESSAGE, type_name=".a.M", label=1)
    assert in_full({file.name: file})[file.name] is file


def test_a_method_is_built_of_files_that_name_no_imports() -> None:
    file, other = short_named(), FileDescriptorProto(name="google_protobuf.proto", package="google.protobuf")
    other.message_type.add(name="Any")
    method = build_method(as_compiled({file.name: file, other.name: other}), "a.v1.Zoo", "Say")
    types = {name: method.input_type.fields_by_name[name].message_type for name in ("f1", "f4")}
    names = {name: None if found is None else found.full_name for name, found in types.items()}
    assert names == {"f1": "a.v1.Outer.Inner", "f4": "google.protobuf.Any"}


def test_types_of_protobuf_are_its_own_however_they_are_described() -> None:
    """A Struct of protobufjs has fields that are no map, so that no JSON object would fit it."""
    file = FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    file.message_type.add(name="M").field.add(
        name="notes", json_name="notes", number=1, type=F.TYPE_MESSAGE, type_name="google.protobuf.Struct", label=1
    )
    file.service.add(name="S").method.add(name="Say", input_type="M", output_type="M")
    other = FileDescriptorProto(name="google_protobuf.proto", package="google.protobuf", syntax="proto3")
    struct = other.message_type.add(name="Struct")
    struct.nested_type.add(name="FieldsEntry")
    struct.field.add(name="fields", number=1, type=F.TYPE_MESSAGE, type_name="FieldsEntry", label=3)
    other.message_type.add(name="Value")
    other.message_type.add(name="Mine")
    found = as_compiled({file.name: file, other.name: other})
    assert [message.name for message in found[other.name].message_type] == ["Mine"]
    assert [message.name for message in other.message_type] == ["Struct", "Value", "Mine"]
    method = build_method(found, "a.S", "Say")
    assert decode(method, encode(method, '{"notes": {"a": [1, null]}}')) == {"notes": {"a": [1, None]}}
