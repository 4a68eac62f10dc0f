"""Requests to fill in: protobuf's own JSON mapping reads what was made."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.schemas.schema import build_pool, well_known
from lbctl.rpc.schemas.template import template
from tests.rpc.protos import WELL_KNOWN, kitchen_sink
from tests.rpc.schemas.written import written


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


def test_what_proto2_says_is_the_value_to_begin_with() -> None:
    fields = (
        'field { name: "n" json_name: "n" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL default_value: "7" }'
        'field { name: "b" json_name: "b" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL default_value: "true" }'
    )
    assert template(message(written("d.proto", f'message_type {{ name: "D" {fields} }}'), "d.D")) == {"n": 7, "b": True}
