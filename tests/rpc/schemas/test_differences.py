"""Where two descriptions of the same thing differ."""

from __future__ import annotations

import pytest

from lbctl.rpc.schemas.catalogue import Catalogue, catalogue
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.differences import Difference, Variant, differences
from tests.rpc.schemas.written import written

SERVICE = 'service { name: "S" method { name: "M" input_type: ".p.Q" output_type: ".p.R" } }'
REPLY = 'message_type { name: "R" }'


async def described(text: str) -> Catalogue:
    """A service p.S whose request is what the text says."""
    file = written("p.proto", f'syntax: "proto3" {SERVICE} {REPLY} {text}')
    return await catalogue(DescribedFiles([("p", [file])]), whole=True)


async def between(one: str, other: str) -> list[tuple[str, str, dict[str | None, tuple[str, ...]]]]:
    told = {"a": await described(one), "b": await described(other)}
    return [
        (each.symbol, each.part, {variant.text: variant.backends for variant in each.variants})
        for each in differences(told, ["p.S/M"])
    ]


def message(fields: str, more: str = "") -> str:
    return f'message_type {{ name: "Q" {fields} {more} }}'


ID = 'field { name: "id" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }'
NOTE = 'field { name: "note" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }'


async def test_what_is_alike_does_not_differ() -> None:
    assert await between(message(ID + NOTE), message(NOTE + ID)) == []


async def test_a_field_that_was_added_is_named() -> None:
    assert await between(message(ID + NOTE), message(ID)) == [
        ("p.Q", "field 2", {"string note": ("a",), None: ("b",)}),
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("TYPE_INT32", "TYPE_SINT32"), "sint32 id"),
        (('"id"', '"key"'), "int32 key"),
        (("LABEL_OPTIONAL", "LABEL_REPEATED"), "repeated int32 id"),
        (("LABEL_OPTIONAL", "LABEL_OPTIONAL options { deprecated: true }"), "int32 id (deprecated)"),
        (("LABEL_OPTIONAL", 'LABEL_OPTIONAL default_value: "7"'), "int32 id (default 7)"),
    ],
)
async def test_a_field_that_was_changed_is_shown_both_ways(change: tuple[str, str], text: str) -> None:
    changed = [("p.Q", "field 1", {"int32 id": ("a",), text: ("b",)})]
    assert await between(message(ID), message(ID.replace(*change))) == changed


async def test_a_field_that_went_into_a_oneof_differs() -> None:
    inside = ID.replace("LABEL_OPTIONAL", "LABEL_OPTIONAL oneof_index: 0")
    found = await between(message(ID), message(inside, 'oneof_decl { name: "which" }'))
    assert found == [("p.Q", "field 1", {"int32 id": ("a",), "int32 id (oneof which)": ("b",)})]


async def test_a_field_of_presence_differs_from_one_without() -> None:
    inside = ID.replace("LABEL_OPTIONAL", "LABEL_OPTIONAL oneof_index: 0 proto3_optional: true")
    found = await between(message(ID), message(inside, 'oneof_decl { name: "_id" }'))
    assert found == [("p.Q", "field 1", {"int32 id": ("a",), "optional int32 id": ("b",)})]


async def test_maps_are_told_as_maps() -> None:
    entry = (
        'nested_type { name: "TagsEntry" options { map_entry: true }'
        ' field { name: "key" number: 1 type: TYPE_STRING } field { name: "value" number: 2 type: TYPE_INT64 } }'
    )
    field = 'field { name: "tags" number: 3 type: TYPE_MESSAGE label: LABEL_REPEATED type_name: ".p.Q.TagsEntry" }'
    assert await between(message(ID), message(ID + field, entry)) == [
        ("p.Q", "field 3", {"map<string, int64> tags": ("b",), None: ("a",)}),
    ]


async def test_types_far_down_are_compared_too() -> None:
    def deep(value: str) -> str:
        field = 'field { name: "c" number: 1 type: TYPE_ENUM label: LABEL_OPTIONAL type_name: ".p.C" }'
        values = f'value {{ name: "NONE" number: 0 }} {value}'
        return message(field) + f'enum_type {{ name: "C" {values} }}'

    red = 'value { name: "RED" number: 1 }'
    assert await between(deep(red), deep(red.replace("RED", "PINK"))) == [
        ("p.C", "value 1", {"RED": ("a",), "PINK": ("b",)}),
    ]


async def test_a_method_that_some_lack_is_told_and_its_types_are_not() -> None:
    without = await catalogue(DescribedFiles([("p", [written("p.proto", 'service { name: "S" }')])]), whole=True)
    told = {"a": await described(message(ID)), "b": without, "c": await described(message(ID))}
    assert differences(told, ["p.S/M"]) == (
        Difference("p.S/M", "", (Variant("p.Q -> p.R", ("a", "c")), Variant(None, ("b",)))),
    )


async def test_what_is_not_shown_is_not_compared() -> None:
    told = {"a": await described(message(ID)), "b": await described(message(NOTE))}
    assert differences(told, []) == ()
