"""Replies that protobuf's mapping to JSON has no words for: shown all the same, and the rest of them as ever."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import CannotCall
from lbctl.rpc.messages.message import decode
from lbctl.rpc.messages.showing import shown
from tests.rpc.messages.envelopes import envelope
from tests.rpc.protos import KITCHEN_SINK, method_of

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
