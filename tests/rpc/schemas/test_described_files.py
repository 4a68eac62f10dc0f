from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from lbctl.errors import UsageError
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.protoset import read_protoset
from tests.rpc.protos import kitchen_sink
from tests.rpc.servers import echo_files


def extending(name: str = "more.proto") -> FileDescriptorProto:
    """A file that extends a message, once outside and once inside another."""
    file = FileDescriptorProto(name=name, package="more", syntax="proto2", dependency=["test/message.proto"])
    number = FieldDescriptorProto.TYPE_INT32
    file.extension.add(name="size", number=100, type=number, label=1, extendee=".test.Text")
    inner = file.message_type.add(name="Holder").nested_type.add(name="Inner")
    inner.extension.add(name="depth", number=101, type=number, label=1, extendee=".test.Text")
    return file


def source(*files: FileDescriptorProto) -> DescribedFiles:
    return DescribedFiles([("--protoset x.pb", files)])


async def test_services_and_methods_are_those_of_all_files() -> None:
    files = source(*echo_files().values())
    assert (files.protocol, files.origin, files.listing) == ("files", "--protoset x.pb", ["test.Echo", "test.Admin"])
    assert list(await files.methods("test.Echo")) == ["Say", "Watch", "Push", "Chat"]
    assert await files.methods("test.Nobody") == {}


@pytest.mark.parametrize(
    "name", ["test.Text", "test.Echo", "more.Holder.Inner", "more.size", "more.Holder.Inner.depth"]
)
async def test_a_symbol_is_there_or_is_not(name: str) -> None:
    files = source(*echo_files().values(), extending())
    assert await files.symbol(name)
    assert not await files.symbol(f"{name}Not")


async def test_extensions_are_found_by_what_they_extend_and_their_number() -> None:
    files = source(*echo_files().values(), extending())
    assert [await files.extension("test.Text", number) for number in (100, 101, 102)] == [True, True, False]
    assert not await files.extension("test.Other", 100)


async def test_what_protobuf_brings_along_need_not_be_in_the_set() -> None:
    files = source(kitchen_sink())
    assert "google/protobuf/timestamp.proto" in files.files
    assert await files.symbol("google.protobuf.Struct")


def test_the_same_file_twice_is_one_whatever_its_comments() -> None:
    plain = echo_files()["test/echo.proto"]
    commented = FileDescriptorProto()
    commented.CopyFrom(plain)
    commented.source_code_info.location.add(path=[4, 0], leading_comments="A message.")
    assert len(DescribedFiles([("a", [plain]), ("b", [commented])]).files) == 1


def test_files_that_contradict_each_other_are_refused() -> None:
    other = FileDescriptorProto(name="test/echo.proto", package="test")
    with pytest.raises(UsageError, match=r"^--protoset a\.pb and --protoset b\.pb describe test/echo\.proto differ"):
        DescribedFiles([("--protoset a.pb", list(echo_files().values())), ("--protoset b.pb", [other])])


def test_a_protoset_is_read(tmp_path: Path) -> None:
    path = tmp_path / "echo.pb"
    path.write_bytes(FileDescriptorSet(file=echo_files().values()).SerializeToString())
    assert read_protoset(path) == list(echo_files().values())


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.pb", b"", "is empty"),
        ("a.pb", b"hello, world", "is not a FileDescriptorSet"),
        ("a.pb", b"\x0a\x00", "is not a FileDescriptorSet"),
        ("a.pb", echo_files()["test/echo.proto"].SerializeToString(), "is not a FileDescriptorSet"),
        ("a.proto", b'syntax = "proto3";', "is protobuf source, not a FileDescriptorSet"),
    ],
)
def test_what_is_no_protoset_is_refused(tmp_path: Path, name: str, data: bytes, what: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError, match=f"^--protoset: {path} {what}$") as error:
        read_protoset(path)
    assert "--proto " in error.value.hint if name.endswith(".proto") else "--descriptor_set_out" in error.value.hint


def test_a_protoset_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone\.pb: no such file or directory"):
        read_protoset(tmp_path / "gone.pb")
