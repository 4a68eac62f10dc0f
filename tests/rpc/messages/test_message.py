"""Requests from JSON and replies to JSON, by protobuf's own mapping, in a pool that is not the default one."""

from __future__ import annotations

from typing import Any

import pytest

from lbctl.errors import CannotCall, UsageError
from lbctl.rpc.messages.message import decode, encode, encode_all
from tests.rpc.protos import KITCHEN_SINK


@pytest.mark.parametrize("text", [None, "", "  \n", "{}"])
def test_no_request_is_the_empty_message(text: str | None) -> None:
    assert encode(KITCHEN_SINK, text) == b""


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ('{"big": 9007199254740993}', "10 8180808080808010"),
        ('{"big": "9007199254740993"}', "10 8180808080808010"),
        ('{"big": 9007199254740993.0}', "10 8180808080808010"),
        ('{"big": 1e3}', "10 e807"),
        ('{"unsigned": 18446744073709551615}', "18 ffffffffffffffffff01"),
        ('{"ratio": "NaN"}', "29 000000000000f87f"),
        ('{"ratio": "-Infinity"}', "29 000000000000f0ff"),
        ('{"raw": "AAE="}', "32 02 0001"),
        ('{"raw": "AAE"}', "32 02 0001"),
        ('{"raw": "-_8="}', "32 02 fbff"),
        ('{"colour": "GREEN"}', "40 01"),
        ('{"colour": 99}', "40 63"),
        ('{"tags": ["a", ""]}', "4a 01 61 4a 00"),
        ('{"snakeName": "a"}', "8a01 01 61"),
        ('{"snake_name": "a"}', "8a01 01 61"),
        ('{"when": "1970-01-01T00:00:01Z"}', "5a 02 0801"),
        ('{"pause": "1.5s"}', "62 08 0801 1080cab5ee01"),
        ('{"maybe": "5"}', "8201 02 0805"),
        ('{"by_number": {"1": {"number": 2}}}', "9201 06 0801 1202 0802"),
        ('{"by_flag": {"true": "7"}}', "9a01 04 0801 1007"),
        ('{"left": "a", "right": null}', "c202 01 61"),
        ('{"big": "9007199254740993.0"}', "10 8180808080808010"),
        ('{"unsigned": "1.8446744073709551615e19"}', "18 ffffffffffffffffff01"),
        ('{"single": 3.4028235e38}', "ad01 ffff7f7f"),
        ('{"single": "Infinity"}', "ad01 0000807f"),
        ('{"mask": "user.displayName,id"}', "b201 17 0a11" + b"user.display_name".hex() + "0a02" + b"id".hex()),
        ('{"value": null}', "7a 02 0800"),
        ('{"colour": "99"}', "40 63"),
        ('{"colour": 1.0}', "40 01"),
        ('{"anything": {}}', "6a 00"),
    ],
)
def test_values_follow_protobufs_json_mapping(text: str, encoded: str) -> None:
    assert encode(KITCHEN_SINK, text) == bytes.fromhex(encoded)


def test_an_any_is_encoded_with_the_services_own_types() -> None:
    text = '{"anything": {"@type": "type.googleapis.com/t.Item", "number": 5}}'
    assert decode(KITCHEN_SINK, encode(KITCHEN_SINK, text)) == {
        "anything": {"@type": "type.googleapis.com/t.Item", "number": 5}
    }


def test_free_form_values_keep_their_shape() -> None:
    text = '{"free": {"a": [1, null]}, "value": [true, "x"]}'
    assert decode(KITCHEN_SINK, encode(KITCHEN_SINK, text)) == {"free": {"a": [1.0, None]}, "value": [True, "x"]}


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("", {}),
        ("10 8180808080808010", {"big": "9007199254740993"}),
        ("32 02 0001", {"raw": "AAE="}),
        ("8a01 01 61", {"snakeName": "a"}),
        ("40 63", {"colour": 99}),
        ("f87f 01", {}),
    ],
)
def test_replies_are_shown_without_loss(reply: str, shown: dict[str, Any]) -> None:
    assert decode(KITCHEN_SINK, bytes.fromhex(reply)) == shown


def test_a_reply_that_is_no_message_is_said() -> None:
    with pytest.raises(CannotCall, match=r"^the reply is not a t\.Sink message$"):
        decode(KITCHEN_SINK, b"\x0a\xff")


def test_a_reply_with_an_unknown_any_is_shown_in_base64() -> None:
    assert decode(KITCHEN_SINK, b"\x6a\x10\x0a\x0bx/q.Unknown\x12\x01\x08") == {
        "anything": {"@type": "x/q.Unknown", "@error": "nobody describes q.Unknown", "@value": "CA=="}
    }


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (None, [{}]),
        ("  ", [{}]),
        ('{"name": "a"}', [{"name": "a"}]),
        ('[{"name": "a"}, {"name": "b"}]', [{"name": "a"}, {"name": "b"}]),
        ('{"name": "a"}\n\n{"name": "b"}\r\n', [{"name": "a"}, {"name": "b"}]),
        ('{"name": "a"} {"name": "b"}', [{"name": "a"}, {"name": "b"}]),
        ('{\n  "name": "a"\n}\n{"name": "b"}', [{"name": "a"}, {"name": "b"}]),
        ("[]", []),
    ],
)
def test_a_client_that_streams_may_be_given_several_messages(text: str | None, messages: list[dict[str, str]]) -> None:
    assert [decode(KITCHEN_SINK, each) for each in encode_all(KITCHEN_SINK, text)] == messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "a"}\n{"nmae": "b"}', 'message 2: t.Sink has no field "nmae"; did you mean "name"?'),
        ('[{"name": "a"}, 5]', "message 2: the request must be an object of t.Sink, not 5"),
        ('{"name": 1}', 'field "name" must be a string, not 1'),
        ('{"name": "a"}\n{"name": }', "request is not valid JSON: line 2 column 10: expecting value"),
        ('{"name": "a"}\nb', "request is not valid JSON: line 2 column 1: expecting value"),
        ('{"name": "a", "name": "b"}', 'request is not usable JSON: the key "name" appears twice in one object'),
    ],
)
def test_a_mistake_in_one_of_several_messages_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        encode_all(KITCHEN_SINK, text)
    assert str(refused.value).split("\n")[0] == message


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t\n"])
def test_a_file_without_a_line_is_no_message_of_a_client_that_streams_and_an_empty_one_of_any_other(text: str) -> None:
    assert encode_all(KITCHEN_SINK, text, source="m.ndjson") == ()
    assert encode(KITCHEN_SINK, text, source="m.json") == b""


def test_a_file_is_named_beside_the_message() -> None:
    with pytest.raises(UsageError, match=r'm.ndjson: message 2: t.Sink has no field "x"'):
        encode_all(KITCHEN_SINK, '{}\n{"x": 1}', source="m.ndjson")
