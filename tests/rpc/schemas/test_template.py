"""Requests to fill in: protobuf's own JSON mapping reads what was made."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages.message import encode
from lbctl.rpc.schemas.schema import Method, build_pool, join, messages, well_known
from lbctl.rpc.schemas.template import template
from tests.rpc.protos import WELL_KNOWN, kitchen_sink
from tests.rpc.schemas.written import written
from tests.rpc.zoo.keeper import pool_of, zoo_files
from tests.rpc.zoo.schemas import Schema


def message(file: FileDescriptorProto, name: str) -> Descriptor:
    own = [well_known(f"google/protobuf/{each}.proto") for each in (*WELL_KNOWN, "empty", "field_mask")]
    files = {each.name: each for each in (file, *own) if each is not None}
    needing = FileDescriptorProto(name="all.proto", dependency=files)
    pool = build_pool({**files, needing.name: needing}, needing.name)
    return pool.FindMessageTypeByName(name)


def test_every_field_is_there_with_a_value_of_its_kind() -> None:
    sink = message(kitchen_sink(), "t.Sink")
    found = template(sink)
    ParseDict(found, GetMessageClass(sink)(), descriptor_pool=sink.file.pool)
    left_out = {field.json_name for field in sink.fields} - set(found)
    assert left_out == {"right"}  # the other side of a oneof
    assert {name: found[name] for name in ("big", "colour", "when", "byNumber", "tags", "snakeName", "maybe")} == {
        "big": "0",
        "colour": "RED",
        "when": "1970-01-01T00:00:00Z",
        "byNumber": {"0": {"number": 0}},
        "tags": [""],
        "snakeName": "",
        "maybe": "0",
    }


@pytest.mark.parametrize(
    ("label", "found"), [("LABEL_OPTIONAL", {"next": {}}), ("LABEL_REPEATED", {"next": []}), ("LABEL_REQUIRED", None)]
)
def test_a_message_inside_itself_ends(label: str, found: dict[str, Any] | None) -> None:
    field = f'field {{ name: "next" json_name: "next" number: 1 type: TYPE_MESSAGE label: {label} type_name: ".n.N" }}'
    node = message(written("n.proto", f'message_type {{ name: "N" {field} }}'), "n.N")
    assert template(node) == (found or {"next": {}})


def test_two_messages_inside_each_other_end() -> None:
    def holding(name: str, other: str) -> str:
        field = f'name: "f" json_name: "f" number: 1 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".n.{other}"'
        return f'message_type {{ name: "{name}" field {{ {field} }} }}'

    assert template(message(written("n.proto", holding("A", "B") + holding("B", "A")), "n.A")) == {"f": {"f": {}}}


@pytest.mark.parametrize(
    ("kind", "default", "found"),
    [
        ("TYPE_INT32", "7", 7),
        ("TYPE_BOOL", "true", True),
        ("TYPE_UINT64", "18446744073709551615", "18446744073709551615"),
        ("TYPE_DOUBLE", "-inf", "-Infinity"),
        ("TYPE_FLOAT", "nan", "NaN"),
        ("TYPE_DOUBLE", "0.1", 0.1),
        ("TYPE_STRING", "hi", "hi"),
        ("TYPE_BYTES", "\\\\001", "AQ=="),
        ('TYPE_ENUM type_name: ".d.E"', "TWO", "TWO"),
    ],
)
def test_what_proto2_says_is_the_value_to_begin_with(kind: str, default: str, found: object) -> None:
    field = f'name: "f" json_name: "f" number: 1 type: {kind} label: LABEL_OPTIONAL default_value: "{default}"'
    enum = 'enum_type { name: "E" value { name: "ONE" number: 1 } value { name: "TWO" number: 2 } }'
    assert template(message(written("d.proto", f'message_type {{ name: "D" field {{ {field} }} }} {enum}'), "d.D")) == {
        "f": found
    }


def field(name: str, label: str, type_name: str, number: int) -> str:
    start = f'field {{ name: "{name}" json_name: "{name}" number: {number} label: LABEL_{label}'
    return f'{start} type: TYPE_MESSAGE type_name: ".n.{type_name}" }}'


def test_a_message_inside_itself_has_what_it_requires() -> None:
    node = f'message_type {{ name: "N" {field("next", "OPTIONAL", "N", 1)} {field("leaf", "REQUIRED", "L", 2)} }}'
    number = 'field { name: "id" json_name: "id" number: 1 type: TYPE_INT32 label: LABEL_REQUIRED }'
    leaf = f'message_type {{ name: "L" {number} }}'
    assert template(message(written("n.proto", node + leaf), "n.N")) == {
        "next": {"leaf": {"id": 0}},
        "leaf": {"id": 0},
    }


def test_what_requires_itself_is_left_out() -> None:
    root = f'message_type {{ name: "R" {field("never", "OPTIONAL", "N", 1)} {field("some", "OPTIONAL", "L", 2)} }}'
    node = f'message_type {{ name: "N" {field("next", "REQUIRED", "N", 1)} }} message_type {{ name: "L" }}'
    assert template(message(written("n.proto", root + node), "n.R")) == {"some": {}}


def test_messages_that_all_have_each_other_are_not_written_without_end() -> None:
    names = [f"M{number}" for number in range(12)]
    fields = "".join(field(name.lower(), "OPTIONAL", name, number) for number, name in enumerate(names, 1))
    each = "".join(f'message_type {{ name: "{name}" {fields} }}' for name in names)
    found = template(message(written("n.proto", each), "n.M0"))
    assert set(found) == {name.lower() for name in names}
    assert len(str(found)) < 100_000


def test_a_field_that_nobody_describes_is_left_out() -> None:
    fields = field("lost", "OPTIONAL", "Lost", 1) + field("lists", "REPEATED", "Lost", 2)
    assert template(message(written("n.proto", f'message_type {{ name: "N" {fields} }}'), "n.N")) == {}


@pytest.mark.parametrize("seed", range(40))
def test_a_template_of_any_message_is_a_request_that_can_be_sent(seed: int) -> None:
    files = Schema(Random(seed)).files if seed else zoo_files()
    pool = pool_of(files)
    for file in files:
        for scope, each in messages(file):
            if each.options.map_entry:
                continue
            kind = pool.FindMessageTypeByName(join(scope, each.name))
            method = Method("s.S/M", "/s.S/M", kind, kind, client_streaming=False, server_streaming=False)
            encode(method, json.dumps(template(kind)))
