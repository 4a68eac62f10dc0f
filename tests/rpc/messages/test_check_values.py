"""Checks of every kind of field: what JSON shows of it is what it is compared with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from lbctl.rpc.messages.check import compile_check
from lbctl.rpc.messages.message import encode
from lbctl.rpc.schemas.schema import Method
from tests.rpc.zoo.keeper import pool_of, zoo_files

POOL = pool_of(zoo_files())
ANIMAL: dict[str, Any] = {
    "floatValue": 0.1,
    "doubleValue": 0.1,
    "int64Value": "9007199254740993",
    "uint64Value": "18446744073709551615",
    "bytesValue": "AAE=",
    "colours": ["RED", 99],
    "doubles": ["Infinity", "NaN"],
    "byString": {"k": 0.3},
    "byBool": {"true": "5"},
    "byFixed64": {"4": "1970-01-01T00:00:01.5Z"},
    "optionalInt64": "0",
    "nothing": None,
    "duration": "1.5s",
    "timestamp": "2026-01-02T03:04:05Z",
    "fieldMask": "user.displayName,id",
    "struct": {"a": 1, "b": [True, {"c": None}], "fields": "f"},
    "value": None,
    "listValue": ["x", 2.5],
    "int64Wrapper": "7",
    "stringWrapper": "w",
    "boolWrapper": False,
    "floatWrapper": 0.1,
    "nulls": [None],
    "values": ["v"],
}


def kind(name: str) -> Method:
    found: Descriptor = POOL.FindMessageTypeByName(name)
    return Method("s.S/M", "/s.S/M", found, found, client_streaming=False, server_streaming=False)


def checked(text: str, octets: bytes, name: str) -> str:
    return compile_check(text, kind(name))(Reply(Code.OK, message=octets)).reason


@pytest.mark.parametrize(
    "text",
    [
        "resp.float_value == 0.1",
        "resp.doubleValue == 0.1",
        "resp.byString['k'] == 0.3",
        "resp.floatWrapper == 0.1",
        "resp.int64Value == 9007199254740993",
        "resp.uint64Value == 18446744073709551615",
        "resp.bytesValue == b'\\x00\\x01'",
        "'RED' in resp.colours and 'NEGATIVE' not in resp.colours and 99 in resp.colours",
        "resp.colours != ['RED'] and resp.colours[0] in ['RED', 'NEGATIVE']",
        "resp.doubles[0] == 'Infinity' and resp.doubles[1] == 'NaN' and resp.doubles[0] != 'NaN'",
        "resp.byBool[true] == 5",
        "resp.byFixed64[4] == '1970-01-01T00:00:01.500Z'",
        "resp.duration == '1.500s' and '1s' < resp.duration < '2s' and resp.duration.seconds == 1",
        "resp.duration in ['1s', '1.5s']",
        "resp.timestamp == '2026-01-02T05:04:05+02:00' and resp.timestamp > '2025-12-31T00:00:00Z'",
        "resp.timestamp >= resp.timestamp",
        "resp.field_mask == 'user.displayName,id' and resp.field_mask.paths == ['user.display_name', 'id']",
        "resp.struct['a'] == 1 and resp.struct['b'][0] == true and resp.struct.fields['a'].number_value == 1",
        "resp.struct['b'][1]['c'] == null and resp.struct['zz'] == null and not has(resp.struct['zz'])",
        "resp.listValue[0] == 'x' and resp.listValue[1] > 2 and resp.values[0] == 'v'",
        "resp.value == null and resp.nothing == null and resp.nulls[0] == null",
        "resp.int64Wrapper == 7 and resp.int64_wrapper.value > 6 and resp.int64Wrapper in [1, 7]",
        "resp.stringWrapper == 'w' and not resp.boolWrapper == true",
        "resp.int64Wrapper != null and resp.uint32Wrapper == null and resp.optional_animal == null",
        "resp.optional_int64 != null and resp.optional_string == null",
    ],
)
def test_what_json_shows_is_what_it_is_compared_with(text: str) -> None:
    octets = encode(kind("zoo.modern.Animal"), json.dumps(ANIMAL))
    assert checked(text, octets, "zoo.modern.Animal") == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("resp.struct['a'] == 'x'", "no str in the Value"),
        ("resp.struct['zz'] == 1", "no such key"),
        ("resp.struct['b'][7] == 1", "no such index"),
        ("resp.struct['a']['b'] == 1", "no Struct in the Value"),
        ("resp.listValue[0][0] == 1", "no ListValue in the Value"),
    ],
)
def test_a_part_that_is_not_there_or_is_something_else_fails_the_check(text: str, why: str) -> None:
    octets = encode(kind("zoo.modern.Animal"), json.dumps(ANIMAL))
    assert checked(text, octets, "zoo.modern.Animal") == f"check failed: {text} ({why})"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("resp.name == 'x'", ""),
        ("resp.name > 'a'", " (text in it is not UTF-8)"),
        ("'x' in resp.name", " (text in it is not UTF-8)"),
        ("resp.layers_by_name['a'] == 'LOWER'", " (no such key)"),
    ],
)
def test_text_that_is_no_utf_8_is_no_text_and_ends_no_run(text: str, why: str) -> None:
    octets = b"\x0a\x01\xff\x6a\x05\x0a\x01\xff\x10\x05"
    assert checked(text, octets, "zoo.old.Fossil") == f"check failed: {text}{why}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resp.packed == ['a']", "a list of int cannot be compared with a list of str"),
        ("resp.colours == ['BLUE']", "zoo.modern.Colour has no value 'BLUE'; it has COLOUR_UNSPECIFIED, RED, NEGATIVE"),
        ("'BLUE' in resp.colours", "zoo.modern.Colour has no value 'BLUE'; it has COLOUR_UNSPECIFIED, RED, NEGATIVE"),
        ("resp.bytes_value == 'AAE='", 'bytes cannot be compared with str (bytes are written b"...")'),
        ("resp.int64_value == '9'", "int cannot be compared with str (numbers, true and false stand without quotes)"),
        ("resp.duration == '1500ms'", 'a Duration must be seconds such as "1.5s", not "1500ms"'),
        (
            "resp.timestamp == 5",
            'google.protobuf.Timestamp cannot be compared with int (compare it with text such as "2026',
        ),
        ("resp.packed == null", "list is never null: nobody can tell whether it is set"),
        ("resp.optional_animal == 5", "zoo.modern.Animal cannot be compared with int (compare its fields)"),
    ],
)
def test_what_cannot_be_compared_is_said_with_what_can(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        compile_check(text, kind("zoo.modern.Animal"))
    assert str(refused.value).split("\n")[0].partition(": column ")[2].partition(": ")[2].startswith(said)
