"""Schemas with holes: files a server cannot deliver matter only to the messages that need them."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from lbctl.errors import CannotCall, UsageError
from lbctl.rpc.messages.message import encode
from lbctl.rpc.schemas.reflection import load_method
from lbctl.rpc.schemas.schema import build_method, missing_imports, missing_types, well_known
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

F = FieldDescriptorProto


def holey() -> FileDescriptorProto:
    """A file whose imports are all missing, and a message that uses some of them."""
    file = FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    file.dependency.extend(["gone.proto", "google/api/annotations.proto", "google/protobuf/timestamp.proto"])
    message = file.message_type.add(name="Request")
    message.field.add(name="number", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL, json_name="number")
    for number, (name, kind, type_name) in enumerate(
        (
            ("lost", F.TYPE_MESSAGE, ".gone.Lost"),
            ("kind", F.TYPE_ENUM, ".gone.Lost.Kind"),
            ("deep", F.TYPE_MESSAGE, ".gone.Lost.Inner.Deep"),
            ("colour", F.TYPE_ENUM, ".gone.Colour"),
            ("when", F.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
        ),
        start=2,
    ):
        message.field.add(
            name=name, number=number, type=kind, label=F.LABEL_OPTIONAL, type_name=type_name, json_name=name
        )
    file.extension.add(
        name="option", number=50000, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL, extendee=".gone.MethodOptions"
    )
    service = file.service.add(name="S")
    service.method.add(name="Good", input_type=".a.Request", output_type=".a.Request")
    service.method.add(name="Bad", input_type=".gone.Lost", output_type=".a.Request")
    return file


async def test_a_method_works_though_files_it_does_not_need_are_missing() -> None:
    async with serving(reflecting(Reflection({"a.proto": holey()}, ["a.S"]), V1)) as endpoint:
        found = await load_method([endpoint], "Good", timeout_s=5)
    assert encode(found.method, '{"number": 5, "when": "1970-01-01T00:00:01Z"}') == b"\x08\x05\x32\x02\x08\x01"


async def test_a_method_whose_own_message_is_missing_is_refused() -> None:
    async with serving(reflecting(Reflection({"a.proto": holey()}, ["a.S"]), V1)) as endpoint:
        with pytest.raises(CannotCall, match=r"^a\.S/Bad needs gone\.Lost, which server reflection does not describe$"):
            await load_method([endpoint], "Bad", timeout_s=5)


def test_filling_a_field_of_a_missing_type_is_a_usage_error() -> None:
    method = build_method({"a.proto": holey()}, "a.S", "Good")
    with pytest.raises(UsageError, match=r'field "lost" is a gone\.Lost, which nobody describes'):
        encode(method, '{"lost": {}}')


async def test_a_file_registered_under_another_name_is_found_by_its_types() -> None:
    files = echo_files()
    moved = files.pop("test/message.proto")
    moved.name = "elsewhere/message.proto"
    async with serving(reflecting(Reflection({**files, moved.name: moved}, ["test.Echo"]), V1)) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
    assert encode(found.method, '{"message": "hi"}') == b"\x0a\x02hi"


def test_what_is_missing_is_listed() -> None:
    files = {"a.proto": holey()}
    assert missing_imports(files) == ["gone.proto", "google/api/annotations.proto", "google/protobuf/timestamp.proto"]
    assert missing_types(files) == [
        "gone.Colour",
        "gone.Lost",
        "gone.Lost.Inner.Deep",
        "gone.Lost.Kind",
        "gone.MethodOptions",
        "google.protobuf.Timestamp",
    ]


def test_protobufs_own_files_are_at_hand() -> None:
    timestamp = well_known("google/protobuf/timestamp.proto")
    assert timestamp is not None
    assert timestamp.message_type[0].name == "Timestamp"
    assert well_known("google/protobuf/nothing.proto") is None
    assert well_known("google/protobuf/../os.proto") is None
    assert well_known("timestamp.proto") is None


def test_a_lost_default_of_a_missing_enum_does_not_matter() -> None:
    file = FileDescriptorProto(name="b.proto", package="b", syntax="proto2", dependency=["gone.proto"])
    file.message_type.add(name="R").field.add(
        name="e", number=1, type=F.TYPE_ENUM, label=F.LABEL_OPTIONAL, type_name=".gone.E", default_value="FOO"
    )
    file.service.add(name="S").method.add(name="M", input_type=".b.R", output_type=".b.R")
    assert build_method({"b.proto": file}, "b.S", "M").full_name == "b.S/M"


def test_files_that_import_each_other_are_refused() -> None:
    files = echo_files()
    files["test/message.proto"].dependency.append("test/echo.proto")
    with pytest.raises(CannotCall, match=r"the schema of test\.Echo/Say that server reflection sent cannot be used"):
        build_method(files, "test.Echo", "Say")


def test_a_file_that_contradicts_itself_is_refused() -> None:
    files = echo_files()
    files["test/message.proto"].message_type[0].field[1].number = 1
    with pytest.raises(CannotCall, match="cannot be used"):
        build_method(files, "test.Echo", "Say")


def test_a_service_that_no_file_declares_is_refused() -> None:
    with pytest.raises(CannotCall, match=r"^server reflection does not describe test\.Nobody$"):
        build_method(echo_files(), "test.Nobody", "Say")
