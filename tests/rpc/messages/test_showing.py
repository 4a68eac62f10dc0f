"""Replies that protobuf's mapping to JSON has no words for: shown all the same, and the rest of them as ever."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import CannotCall
from lbctl.rpc.messages.as_text import as_text
from lbctl.rpc.messages.message import decode, decoded, encode
from lbctl.rpc.messages.resolver import lacking
from lbctl.rpc.messages.showing import shown
from lbctl.rpc.schemas.schema import build_pool
from tests.rpc.messages.envelopes import envelope
from tests.rpc.protos import KITCHEN_SINK, F, add_field, method_of

UNKNOWN = {"type_url": "x/q.No", "value": b"\x08\x01"}
SHOWN = {"@type": "x/q.No", "@error": "nobody describes q.No", "@value": "CAE="}


def sink(**fields: Any) -> Any:  # noqa: ANN401  # of a type made here
    return GetMessageClass(KITCHEN_SINK.input_type)(**fields)


def test_an_unknown_any_leaves_the_rest_as_it_is_and_in_its_order() -> None:
    message = sink(name="a", big=5, ratio=float("nan"), raw=b"\x00", tags=["t"], anything=UNKNOWN, colour=99, left="l")
    message.items.add(number=1)
    message.by_flag[True] = 7
    message.by_number[3].number = 4
    message.when.seconds = 1
    assert list(shown(message).items()) == [
        ("name", "a"),
        ("big", "5"),
        ("ratio", "NaN"),
        ("raw", "AA=="),
        ("colour", 99),
        ("tags", ["t"]),
        ("items", [{"number": 1}]),
        ("when", "1970-01-01T00:00:01Z"),
        ("anything", SHOWN),
        ("byNumber", {"3": {"number": 4}}),
        ("byFlag", {"true": "7"}),
        ("left", "l"),
    ]
    assert decode(KITCHEN_SINK, message.SerializeToString()) == shown(message)


def test_an_unknown_any_is_shown_wherever_it_is() -> None:
    method = method_of(envelope())
    message: Any = GetMessageClass(method.input_type)()
    inner: Any = GetMessageClass(method.input_type)(name="in", content=UNKNOWN)
    message.content.type_url, message.content.value = "x/e.Envelope", inner.SerializeToString()
    assert shown(message) == {"content": {"@type": "x/e.Envelope", "name": "in", "content": SHOWN}}
    outer: Any = GetMessageClass(method.input_type)()
    outer.content.type_url, outer.content.value = "x/google.protobuf.Any", inner.content.SerializeToString()
    assert shown(outer) == {"content": {"@type": "x/google.protobuf.Any", "value": SHOWN}}


@pytest.mark.parametrize(
    ("url", "value", "error"),
    [
        ("x/t.Item", b"\xff", "the octets are no t.Item"),
        ("x/", b"", "no type is named"),
        ("", b"\x01", "no type is named"),
        ("no slash", b"", "nobody describes no slash"),
    ],
)
def test_an_any_that_cannot_be_decoded_says_why(url: str, value: bytes, error: str) -> None:
    found = shown(sink(anything={"type_url": url, "value": value}))["anything"]
    assert (found["@type"], found["@error"]) == (url, error)


@pytest.mark.parametrize("value", [b"", b"\x00\xff\xfe", b"\x08\x01"])
@pytest.mark.parametrize("url", ["x/q.No", "", "no slash", "x/t.Item"])
def test_an_any_that_cannot_be_decoded_is_read_back_as_it_is_shown(url: str, value: bytes) -> None:
    message = sink(anything={"type_url": url, "value": value}, name="n")
    octets = message.SerializeToString()
    assert encode(KITCHEN_SINK, json.dumps(shown(message))) == octets


def test_an_any_of_a_type_with_such_a_field_has_the_field() -> None:
    file = envelope()
    add_field(file.message_type.add(name="Odd"), "value", 1, F.TYPE_STRING).json_name = "@value"
    method = method_of(file)
    octets = encode(method, '{"content": {"@type": "x/e.Odd", "@value": "AAAA"}}')
    assert b"\x0a\x04AAAA" in octets


def test_maps_are_in_the_order_of_their_keys_wherever_they_are() -> None:
    def filled(message: Any) -> Any:  # noqa: ANN401
        for number in (10, -2, 9, 1, 7):
            message.by_number[number].number = number
            message.by_flag[number > 5] = number
            message.free.fields[f"k{number}"].struct_value.fields[f"b{number}"].number_value = 1
            message.free.fields["one"].struct_value.fields[f"b{number}"].number_value = 1
        return message

    outer = filled(sink())
    outer.anything.Pack(filled(sink()))
    texts = [json.dumps(shown(each)) for each in (outer, decoded(KITCHEN_SINK.input_type, outer.SerializeToString()))]
    assert texts[0] == texts[1]
    found = shown(outer)
    for each in (found, found["anything"]):
        assert list(each["byNumber"]) == ["-2", "1", "7", "9", "10"]
        assert list(each["byFlag"]) == ["false", "true"]
        assert list(each["free"]) == ["k-2", "k1", "k10", "k7", "k9", "one"]
        assert list(each["free"]["one"]) == ["b-2", "b1", "b10", "b7", "b9"]


def test_the_octets_of_an_any_are_the_same_whatever_the_order() -> None:
    def of(*keys: int) -> bytes:
        by_number = {str(key): {"number": key} for key in keys}
        return encode(KITCHEN_SINK, json.dumps({"anything": {"@type": "x/t.Sink", "byNumber": by_number}}))

    assert len({of(*keys) for keys in permutations((1, 3, 5, 9, -2))}) == 1


def odd(*, syntax: str = "proto2") -> Any:  # noqa: ANN401
    file = FileDescriptorProto(name="o.proto", package="o", syntax=syntax)
    message = file.message_type.add(name="Odd")
    add_field(message, "one", 1, F.TYPE_STRING)
    add_field(message, "many", 2, F.TYPE_STRING, "[]")
    add_field(message, "held", 3, F.TYPE_MESSAGE, ".o.Odd")
    add_field(message, "raw", 4, F.TYPE_BYTES)
    for number, (name, kind) in enumerate((("texts", F.TYPE_STRING), ("odds", F.TYPE_MESSAGE)), 5):
        entry = message.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        add_field(entry, "key", 1, F.TYPE_STRING)
        add_field(entry, "value", 2, kind, ".o.Odd" if kind == F.TYPE_MESSAGE else "")
        add_field(message, name, number, F.TYPE_MESSAGE, f"[.o.Odd.{entry.name}]")
    pool = build_pool({file.name: file}, file.name)
    return GetMessageClass(pool.FindMessageTypeByName("o.Odd"))


FF = {"@error": "the octets are no UTF-8", "@value": "/w=="}


@pytest.mark.parametrize(
    ("octets", "found"),
    [
        (b"\x0a\x01\xff", {"one": FF}),
        (b"\x12\x01a\x12\x01\xff", {"many": ["a", FF]}),
        (b"\x0a\x01a\x1a\x03\x0a\x01\xff\x22\x01\xff", {"one": "a", "held": {"one": FF}, "raw": "/w=="}),
        (b"\x2a\x06\x0a\x01b\x12\x01\xff\x2a\x06\x0a\x01a\x12\x01c", {"texts": {"a": "c", "b": FF}}),
        (
            b"\x2a\x06\x0a\x01\xff\x12\x01c\x2a\x06\x0a\x01a\x12\x01c",
            {"texts": [{"key": "a", "value": "c"}, {"key": FF, "value": "c"}]},
        ),
        (b"\x32\x08\x0a\x01\xff\x12\x03\x0a\x01\xff", {"odds": [{"key": FF, "value": {"one": FF}}]}),
    ],
)
def test_text_that_is_no_utf_8_is_shown_as_octets(octets: bytes, found: dict[str, Any]) -> None:
    message = odd().FromString(octets)
    assert shown(message) == found
    json.dumps(shown(message))
    assert lacking(message, message.DESCRIPTOR.file.pool) == set()
    assert as_text(message.DESCRIPTOR, octets).count("\n") == 0
    assert "\\377" in as_text(message.DESCRIPTOR, octets)


def test_text_that_looks_like_octets_is_text() -> None:
    assert shown(odd()(one="b'\\\\xff'")) == {"one": "b'\\\\xff'"}


def test_an_any_of_nothing_is_empty() -> None:
    assert shown(sink(anything={})) == {"anything": {}}


@pytest.mark.parametrize(
    ("number", "text"), [(float("nan"), "NaN"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity")]
)
def test_free_form_numbers_that_json_does_not_have_are_text(number: float, text: str) -> None:
    message = sink()
    message.value.list_value.values.add(number_value=number)
    message.value.list_value.values.add(null_value=0)
    message.free.fields["a"].struct_value.fields["b"].number_value = number
    message.free.fields["c"].bool_value = True
    assert shown(message) == {"free": {"a": {"b": text}, "c": True}, "value": [text, None]}


def test_times_that_no_calendar_has_are_shown_by_their_fields() -> None:
    message = sink(
        when={"seconds": 253402300800, "nanos": 5}, pause={"seconds": -1, "nanos": 5}, mask={"paths": ["a__b", "c"]}
    )
    found = shown(message)
    assert all(value.pop("@error") for value in found.values())
    assert found == {
        "when": {"seconds": "253402300800", "nanos": 5},
        "pause": {"seconds": "-1", "nanos": 5},
        "mask": {"paths": ["a__b", "c"]},
    }


def test_fields_that_cannot_be_told_to_be_unset_are_shown_where_that_is_wished() -> None:
    item = {"number": 0}
    plain = shown(sink(items=[{}]), defaults=True)
    assert plain["name"] == ""
    assert plain["big"] == "0"
    assert plain["colour"] == "RED"
    assert plain["byFlag"] == {}
    assert plain["items"] == [item]
    assert not {"when", "left", "anything", "maybe"} & set(plain)
    assert shown(sink(items=[{}], anything=UNKNOWN), defaults=True) == {**plain, "anything": SHOWN}
    assert list(shown(sink(items=[{}]))) == ["items"]


def test_what_is_nested_too_deeply_is_said() -> None:
    message: Any = sink()
    value = message.value
    for _ in range(3000):
        value = value.list_value.values.add()
    value.number_value = 1
    with pytest.raises(CannotCall, match=r"^the reply"):
        decode(KITCHEN_SINK, message.SerializeToString())


@pytest.mark.parametrize(
    ("octets", "said"), [(b"\x0a\x01\xff", ": text in it is not UTF-8"), (b"\x0a\x05\xff", ""), (b"\xff", "")]
)
def test_octets_that_are_no_such_message_are_said(octets: bytes, said: str) -> None:
    with pytest.raises(CannotCall) as raised:
        decode(KITCHEN_SINK, octets)
    assert str(raised.value) == f"the reply is not a t.Sink message{said}"
