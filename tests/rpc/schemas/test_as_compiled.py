"""Descriptor files of servers that describe themselves in their own way."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from lbctl.rpc.messages.message import decode, encode
from lbctl.rpc.schemas.as_compiled import as_compiled, in_full, with_optionals
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


def optional_beside_a_oneof(*, syntax: str = "proto3") -> FileDescriptorProto:
    """An optional field before a oneof of one field, as protobufjs describes them: in the source's order, unmarked."""
    file = FileDescriptorProto(name="a.proto", package="a", syntax=syntax)
    message = file.message_type.add(name="Outer").nested_type.add(name="M")
    message.oneof_decl.add(name="_tame")
    message.oneof_decl.add(name="home")
    message.field.add(name="plain", number=1, type=F.TYPE_BOOL, label=1)
    message.field.add(name="tame", number=2, type=F.TYPE_BOOL, label=1, oneof_index=0)
    message.field.add(name="city", number=3, type=F.TYPE_STRING, label=1, oneof_index=1)
    file.service.add(name="S").method.add(name="Say", input_type=".a.Outer.M", output_type=".a.Outer.M")
    return file


def test_an_optional_field_is_marked_and_its_oneof_behind_all_others() -> None:
    file = optional_beside_a_oneof()
    found = as_compiled({file.name: file})
    message = found[file.name].message_type[0].nested_type[0]
    assert [oneof.name for oneof in message.oneof_decl] == ["home", "_tame"]
    assert [(field.proto3_optional, field.HasField("oneof_index")) for field in message.field] == [
        (False, False),
        (True, True),
        (False, True),
    ]
    assert [message.field[number].oneof_index for number in (1, 2)] == [1, 0]
    assert not file.message_type[0].nested_type[0].field[1].proto3_optional
    method = build_method(found, "a.S", "Say")
    assert decode(method, encode(method, '{"tame": false}')) == {"tame": False}
    again = found[file.name]
    assert with_optionals({again.name: again})[again.name] is again


def test_a_oneof_that_is_no_optional_field_stays_one() -> None:
    old, shared, other = (optional_beside_a_oneof(syntax=syntax) for syntax in ("proto2", "proto3", "proto3"))
    shared.message_type[0].nested_type[0].field[0].oneof_index = 0
    other.message_type[0].nested_type[0].oneof_decl[0].name = "_wild"
    for file in (old, shared, other):
        assert with_optionals({file.name: file})[file.name] is file


def test_a_oneof_that_is_not_there_is_left_to_whoever_uses_the_file() -> None:
    file = optional_beside_a_oneof()
    file.message_type[0].nested_type[0].field[2].oneof_index = 7
    fields = as_compiled({file.name: file})[file.name].message_type[0].nested_type[0].field
    assert (fields[1].proto3_optional, fields[1].oneof_index, fields[2].oneof_index) == (True, 1, 7)
