"""One field of a request, found by its path."""

from __future__ import annotations

import pytest

from lbctl.errors import UsageError
from lbctl.rpc.messages.field import text_at
from lbctl.rpc.messages.message import encode
from tests.rpc.protos import KITCHEN_SINK


def found(text: str, path: str) -> bytes:
    message = encode(KITCHEN_SINK, text)
    return text_at(KITCHEN_SINK.input_type, message, path, option=f"--hash-key field:{path}")


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ('{"name": "ä b"}', "name", "ä b".encode()),
        ('{"big": "-9007199254740993"}', "big", b"-9007199254740993"),
        ('{"unsigned": 18446744073709551615}', "unsigned", b"18446744073709551615"),
        ('{"ratio": 0.5}', "ratio", b"0.5"),
        ('{"raw": "AP8="}', "raw", b"\x00\xff"),
        ('{"flag": true}', "flag", b"true"),
        ('{"colour": "GREEN"}', "colour", b"GREEN"),
        ('{"colour": 99}', "colour", b"99"),
        ('{"snake_name": "x"}', "snake_name", b"x"),
        ('{"snake_name": "x"}', "snakeName", b"x"),
        ('{"when": "1970-01-01T00:00:01Z"}', "when.seconds", b"1"),
        ('{"maybe": "5"}', "maybe.value", b"5"),
        ('{"left": "a"}', "left", b"a"),
        ("{}", "name", b""),
        ("{}", "big", b"0"),
        ("{}", "flag", b"false"),
    ],
)
def test_a_value_is_written_as_it_is_in_the_message(text: str, path: str, value: bytes) -> None:
    assert found(text, path) == value


@pytest.mark.parametrize(
    ("text", "path", "message", "hint"),
    [
        ("{}", "nmae", "t.Sink has no field 'nmae'", "did you mean name?"),
        ("{}", "when.xyz", "when is not set in the request", "set it in -d"),
        ('{"when": "1970-01-01T00:00:01Z"}', "when.qqq", "has no field 'qqq'", "it has seconds, nanos"),
        ("{}", "left", "left is not set in the request", "set it in -d"),
        ("{}", "tags", "tags is not a single value but a list or map", ""),
        ("{}", "by_number", "by_number is not a single value but a list or map", ""),
        ("{}", "items.number", "items is not a single message, so there is no field in it", ""),
        ("{}", "name.first", "name is not a single message, so there is no field in it", ""),
        ('{"when": "1970-01-01T00:00:01Z"}', "when", "when is not a single value but a message", ""),
    ],
)
def test_a_path_that_leads_to_no_single_value_is_refused(text: str, path: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        found(text, path)
    assert str(refused.value).startswith(f"--hash-key field:{path}: ")
    assert message in str(refused.value)
    assert refused.value.hint == hint


def test_bytes_that_are_no_such_message_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--x: the request is not a t\.Sink message"):
        text_at(KITCHEN_SINK.input_type, b"\xff\xff", "name", option="--x")
