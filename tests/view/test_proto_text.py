"""Descriptors as protobuf source: what protoc makes of that source is what it was written from."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from lbctl.rpc.schemas.protoc import compile_protos
from lbctl.rpc.schemas.symbols import Kind, Symbol, index
from lbctl.view.proto_names import Names
from lbctl.view.proto_text import ProtoText

ZOO: Final = Path(__file__).parent / "protos"
NAMES: Final = ("late", "newest", "old", "plain")

Files = Mapping[str, FileDescriptorProto]


def compiled(folder: Path) -> Files:
    sources = [Path("zoo") / f"{name}.proto" for name in NAMES]
    return {file.name: file for file in compile_protos(sources, [folder])}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "zoo").mkdir()
    for name in NAMES:
        (folder / "zoo" / f"{name}.proto").write_text((ZOO / f"{name}.proto").read_text())
    return compiled(folder)


def zoo_text(name: str) -> str:
    return (ZOO / name).read_text().replace('import public "zoo/plain.proto";', 'import "plain.proto";')


def written(name: str, text: str, *, without: bool = False) -> list[str]:
    """The lines that are written of a file; ``without`` what it extends of protobuf's own messages."""
    with TemporaryDirectory() as folder:
        for each in NAMES:
            Path(folder, f"{each}.proto").write_text(zoo_text(f"{each}.proto"))
        Path(folder, name).write_text(text)
        files = {file.name: file for file in compile_protos([Path(folder, name)], [Path(folder)])}
    if without:
        own = [each for each in files[name].extension if not each.extendee.startswith(".google.protobuf.")]
        del files[name].extension[:]
        files[name].extension.extend(own)
    return ProtoText(files).of(whole(files[name])).split("\n")


def whole(file: FileDescriptorProto) -> Symbol:
    return Symbol(file.name, Kind.FILE, file, file, (), file.package)


def in_order(file: FileDescriptorProto) -> FileDescriptorProto:
    """A copy without comments, whose messages are in the order of their names: source may have them in any."""
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.ClearField("source_code_info")
    _sort(copy.message_type)
    return copy


def _sort(messages: MutableSequence[DescriptorProto]) -> None:
    ordered = sorted(messages, key=lambda each: each.name)
    copies = [DescriptorProto.FromString(each.SerializeToString()) for each in ordered]
    del messages[:]
    messages.extend(copies)
    for each in messages:
        _sort(each.nested_type)


def test_source_that_was_written_is_compiled_to_what_it_was_written_from(zoo: Files, tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    writer = ProtoText(zoo)
    for name in NAMES:
        text = writer.of(whole(zoo[f"zoo/{name}.proto"]))
        (tmp_path / "zoo" / f"{name}.proto").write_text(text)
    again = compiled(tmp_path)
    assert set(again) == set(zoo)
    for name in zoo:
        assert in_order(again[name]) == in_order(zoo[name])


def test_protobufs_own_descriptors_survive_it_too(zoo: Files, tmp_path: Path) -> None:
    name = "google/protobuf/descriptor.proto"
    (tmp_path / "google" / "protobuf").mkdir(parents=True)
    (tmp_path / name).write_text(ProtoText(zoo).of(whole(zoo[name])))
    (again,) = compile_protos([Path(name)], [tmp_path])
    assert in_order(again) == in_order(zoo[name])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zoo.plain.Empty", "message Empty {}"),
        (
            "zoo.plain.Season",
            "enum Season {\n  SEASON_UNKNOWN = 0;\n  WINTER = -1 [deprecated = true];\n}",
        ),
        (
            "zoo.old.Keeper.Feed",
            "// Feeds one.\nrpc Feed(Animal) returns (plain.Empty) {\n  option idempotency_level = IDEMPOTENT;\n"
            '  option (zoo.old.roles) = "keeper";\n  option (zoo.old.roles) = "vet";\n}',
        ),
        ("zoo.old.Keeper.Watch", "rpc Watch(stream plain.Empty) returns (stream Animal);"),
        ("zoo.old.age", "extend Animal {\n  optional int32 age = 102;\n}"),
        (
            "zoo.old.visit",
            "extend Animal {\n  repeated group Visit = 103 {\n    optional int64 at = 1;\n  }\n}",
        ),
        ("zoo.old.Animal.Inner.inner", "extend Animal {\n  optional Inner inner = 101;\n}"),
    ],
)
def test_each_kind_of_definition_is_written_alone(zoo: Files, name: str, text: str) -> None:
    assert ProtoText(zoo).of(index(zoo)[name]) == text


def test_a_message_has_everything_that_is_in_it(zoo: Files) -> None:
    lines = ProtoText(zoo).of(index(zoo)["zoo.old.Animal"]).split("\n")
    assert lines[:4] == ["// An animal.", "//", "// It has a name.", "message Animal {"]
    for line in (
        r'  required string name = 1 [default = "a \"b\"\n"];',
        r'  optional bytes mark = 2 [default = "\001\377x"];',
        '  optional double weight = 3 [default = inf, (zoo.old.unit) = "kg", (zoo.old.rule) = { max: 9 text: "so" }];',
        "  repeated int32 legs = 5 [packed = true, deprecated = true];",
        "  optional group Cage = 6 {",
        "    string meat = 7;  // raw",
        "  map<string, Animal> young = 9;",
        '  optional string odd_name = 10 [json_name = "strange"];',
        "    reserved 5, 10 to 20, 1000 to max;",
        "  extensions 1000 to max;",
        '  reserved "gone", "lost";',
    ):
        assert line in lines


def test_options_that_nobody_describes_are_there_by_their_numbers() -> None:
    text = written("old.proto", zoo_text("old.proto"), without=True)
    for line in (
        '  // option (50001) = "kg"; which nobody describes',
        '  // option (50002) = "\\010\\011\\022\\002so"; which nobody describes',
        "  // option (50004) = 1; which nobody describes",
        '    // option (50003) = "keeper"; which nobody describes',
        '    // option (50003) = "vet"; which nobody describes',
    ):
        assert line in text
    assert "  optional double weight = 3 [default = inf];" in text


def test_options_are_described_without_protobufs_own_file(zoo: Files) -> None:
    alone = {name: file for name, file in zoo.items() if name == "zoo/old.proto"}
    text = ProtoText(alone).of(index(alone)["zoo.old.Keeper.Feed"])
    assert '  option (zoo.old.roles) = "vet";' in text.split("\n")


GROUPS: Final = """\
syntax = "proto2";
message M {
  // About the group.
  optional group Bone = 1 {  // behind the brace
    // About the length.
    required int32 length = 1;  // behind it
    // Of a group in a group.
    repeated group Inner = 2 {
      // Inside.
      optional int32 x = 1;
    }
  }
  oneof one {
    // In a oneof.
    group Two = 3 {
      // Of the town.
      optional string town = 1;
    }
  }
  extensions 100 to 199;
}
extend M {
  // Outside.
  optional group Ext = 100 {
    // Of an extension.
    optional int32 y = 1;
  }
}
"""


def test_comments_on_groups_and_in_them_are_where_they_were() -> None:
    text = written("g.proto", GROUPS)
    for before, line in pairwise(each.strip() for each in GROUPS.split("\n")):
        if before.startswith("//"):
            assert [before, line] in [list(pair) for pair in pairwise(each.strip() for each in text)], before
    assert "  optional group Bone = 1 {  // behind the brace" in text
    assert "    required int32 length = 1;  // behind it" in text


@pytest.mark.parametrize(
    ("full", "scope", "short"),
    [
        ("a.b.M", "a.b", "M"),
        (".a.b.M", "a.b.M", "M"),
        ("a.b.M.N", "a.b.M", "N"),
        ("a.c.M", "a.b", "c.M"),
        ("d.M", "a.b", ".d.M"),  # a.d is nearer
        ("e.M", "a.b", "e.M"),
        ("a.b.M", "a.b.X.Y", "b.M"),  # a.b.X.M is nearer
    ],
)
def test_names_are_as_short_as_the_rules_of_scopes_allow(full: str, scope: str, short: str) -> None:
    files = {}
    for package, names in {"a.b": ["M.N", "X.M", "X.Y"], "a.c": ["M"], "a.d": ["Q"], "d": ["M"], "e": ["M"]}.items():
        file = FileDescriptorProto(name=f"{package}.proto", package=package)
        for outer, _, inner in (name.partition(".") for name in names):
            message = next((each for each in file.message_type if each.name == outer), None)
            message = message or file.message_type.add(name=outer)
            if inner:
                message.nested_type.add(name=inner)
        files[file.name] = file
    assert Names(files).short(full, scope) == short
