"""Requests from JSON and replies to JSON, by protobuf's own mapping, in a pool that is not the default one."""

from __future__ import annotations

from typing import Any

import pytest

from lbctl.errors import CannotCall
from lbctl.rpc.message import decode, encode
from tests.rpc.schemas import KITCHEN_SINK


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


def test_a_reply_with_an_unknown_any_is_said() -> None:
    with pytest.raises(CannotCall, match=r"the reply cannot be shown as JSON: .*q\.Unknown"):
        decode(KITCHEN_SINK, b"\x6a\x0d\x0a\x0b" + b"x/q.Unknown")
