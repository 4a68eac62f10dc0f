"""Requests that do not fit: the message says where, what was expected and what stood there."""

from __future__ import annotations

import pytest

from lbctl.errors import ExitCode, UsageError
from lbctl.rpc.messages.message import encode, encode_all
from tests.rpc.protos import KITCHEN_SINK, REQUIRED

INT32 = "an integer from -2147483648 to 2147483647"
INT64 = "an integer from -9223372036854775808 to 9223372036854775807"
BASE64 = "a string of base64"
NUMBER = 'a number, or "NaN", "Infinity", "-Infinity"'
FLOAT = 'a number from -3.4028235e38 to 3.4028235e38, or "NaN", "Infinity", "-Infinity"'
TIME = 'a time such as "2026-01-02T03:04:05Z"'
LOCAL = '"2026-01-02T03:04:05"'
YEAR_0 = '"0000-01-01T00:00:00Z"'
PATHS = 'paths in lowerCamelCase such as "user.displayName,id"'
FIELDS = "name, big, unsigned, small, ratio, raw, flag, colour, tags, items"


def mistake(text: str, source: str = "request") -> str:
    with pytest.raises(UsageError) as raised:
        encode(KITCHEN_SINK, text, source=source)
    assert raised.value.exit_code is ExitCode.USAGE
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": }', 'line 1 column 10: expecting value\n  {"name": }\n           ^'),
        ("nope", "line 1 column 1: expecting value\n  nope\n  ^"),
        (
            '{"name": "x",\n\t"big": 1\n"a"}',
            "line 3 column 1: expecting ',' delimiter\n  \"a\"}\n  ^",
        ),
        ("{\n", "line 2 column 1: expecting property name enclosed in double quotes\n  \n  ^"),
        ("{} {}", "line 1 column 4: extra data\n  {} {}\n     ^"),
    ],
)
def test_bad_json_is_shown_with_its_place(text: str, said: str) -> None:
    assert mistake(text) == f"request is not valid JSON: {said}"


def test_a_long_line_is_cut_around_its_mistake() -> None:
    said, excerpt, caret = mistake('{"name": "' + "x" * 500 + '" 5, "tags": ["' + "y" * 500 + '"]}').split("\n")
    assert said == "request is not valid JSON: line 1 column 513: expecting ',' delimiter"
    assert len(excerpt) == 62
    assert excerpt[len(caret) - 1] == "5"


def test_control_characters_are_not_shown() -> None:
    assert "\x1b" not in mistake('{"name": \x1b[2J}')
    assert "\x1b" not in mistake('{"\\u001b[2J": 1}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', 'the key "a" appears twice in one object'),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"big": ' + "9" * 5000 + "}", "it holds a number with too many digits"),
    ],
)
def test_json_that_nobody_could_mean_is_refused(text: str, said: str) -> None:
    assert mistake(text) == f"request is not usable JSON: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"nam": "x"}', 't.Sink has no field "nam"; did you mean "name"?'),
        ('{"snakeNam": "x"}', 't.Sink has no field "snakeNam"; did you mean "snakeName"?'),
        ('{"zzz": "x"}', f't.Sink has no field "zzz"; it has {FIELDS}'),
        ('{"items": [{}, {"nunber": 1}]}', 't.Item has no field "nunber" (at items[1]); did you mean "number"?'),
        ('{"by_number": {"1": {"q": 1}}}', 't.Item has no field "q" (at by_number["1"]); it has number'),
    ],
)
def test_an_unknown_field_is_said_with_the_nearest(text: str, said: str) -> None:
    assert mistake(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the request must be an object of t.Sink, not []"),
        ('"x"', 'the request must be an object of t.Sink, not "x"'),
        ('{"name": 5}', 'field "name" must be a string, not 5'),
        ('{"name": "\\ud800"}', 'field "name" must be a string of whole characters, not "\\ud800"'),
        ('{"big": 1.5}', f'field "big" must be {INT64}, not 1.5'),
        ('{"big": "many"}', f'field "big" must be {INT64}, not "many"'),
        ('{"unsigned": -1}', 'field "unsigned" must be an integer from 0 to 18446744073709551615, not -1'),
        ('{"small": 3000000000}', f'field "small" must be {INT32}, not 3000000000'),
        ('{"small": true}', f'field "small" must be {INT32}, not true'),
        ('{"ratio": NaN}', f'field "ratio" must be {NUMBER}, not NaN'),
        ('{"ratio": "fast"}', f'field "ratio" must be {NUMBER}, not "fast"'),
        ('{"raw": "A!E="}', f'field "raw" must be {BASE64}, not "A!E="'),
        ('{"raw": "AAAAA"}', f'field "raw" must be {BASE64}, not "AAAAA"'),
        ('{"raw": 5}', f'field "raw" must be {BASE64}, not 5'),
        ('{"raws": ["AAE=", "?"]}', f'field "raws[1]" must be {BASE64}, not "?"'),
        ('{"flag": "yes"}', 'field "flag" must be true or false, not "yes"'),
        ('{"colour": "BLUE"}', 'field "colour" must be one of RED, GREEN, not "BLUE"'),
        ('{"colour": 0.5}', 'field "colour" must be one of RED, GREEN, not 0.5'),
        ('{"tags": "a"}', 'field "tags" must be a list, not "a"'),
        ('{"tags": ["a", null]}', 'field "tags[1]" must be a string, not null'),
        ('{"items": [{"number": 1}, {"number": "x"}]}', f'field "items[1].number" must be {INT32}, not "x"'),
        ('{"items": [5]}', 'field "items[0]" must be an object of t.Item, not 5'),
        ('{"when": "now"}', 'field "when" must be a time such as "2026-01-02T03:04:05Z", not "now"'),
        ('{"pause": 5}', 'field "pause" must be seconds such as "1.5s", not 5'),
        ('{"maybe": "x"}', f'field "maybe" must be {INT64}, not "x"'),
        ('{"free": 5}', 'field "free" must be an object, not 5'),
        ('{"by_number": []}', 'field "by_number" must be an object (a map), not []'),
        ('{"by_number": {"k": {}}}', f'the key of by_number["k"] must be {INT32}'),
        ('{"by_flag": {"1": 1}}', 'the key of by_flag["1"] must be true or false'),
        ('{"left": "a", "right": "b"}', 't.Sink takes only one of "left" and "right"'),
        ('{"snakeName": "a", "snake_name": "b"}', 't.Sink takes only one of "snakeName" and "snake_name"'),
        ('{"[x.y]": 1}', 't.Sink takes no extensions, so no "[x.y]"'),
        ('{"big": "1e30"}', f'field "big" must be {INT64}, not "1e30"'),
        ('{"big": "9223372036854775807.5"}', f'field "big" must be {INT64}, not "9223372036854775807.5"'),
        ('{"big": "1_000"}', f'field "big" must be {INT64}, not "1_000"'),
        ('{"ratio": "1e999"}', f'field "ratio" must be {NUMBER}, not "1e999"'),
        ('{"ratio": 1' + "0" * 400 + "}", f'field "ratio" must be {NUMBER}, not 1' + "0" * 38 + "…"),
        ('{"single": 3.5e38}', f'field "single" must be {FLOAT}, not 3.5e+38'),
        ('{"single": "-3.5e38"}', f'field "single" must be {FLOAT}, not "-3.5e38"'),
        ('{"colour": "GREN"}', 'field "colour" must be one of RED, GREEN, not "GREN"; did you mean "GREEN"?'),
        (
            '{"colour": 2147483648}',
            'field "colour" must be one of RED, GREEN or a number from -2147483648 to 2147483647, not 2147483648',
        ),
        ('{"colour": true}', 'field "colour" must be one of RED, GREEN, not true'),
        ('{"by_number": {"1": {}, "01": {}}}', 'the keys "1" and "01" of by_number are the same'),
        ('{"by_flag": {"true": 1e30}}', f'field "by_flag["true"]" must be {INT64}, not 1e+30'),
        ('{"when": "2026-01-02T03:04:05"}', f'field "when" must be {TIME} or "…+02:00": with its zone, not {LOCAL}'),
        (
            '{"when": "2026-01-02T03:04:05.0123456789Z"}',
            f'field "when" must be {TIME}, with at most 9 digits behind the point, '
            'not "2026-01-02T03:04:05.0123456789Z"',
        ),
        (
            '{"when": "0000-01-01T00:00:00Z"}',
            f'field "when" must be {TIME}, a moment that there is in the years 1 to 9999, not {YEAR_0}',
        ),
        ('{"when": "2026-01-02T03:04:05+24:00"}', f'field "when" must be {TIME}, not "2026-01-02T03:04:05+24:00"'),
        ('{"pause": "1.5"}', 'field "pause" must be seconds such as "1.5s", not "1.5"'),
        (
            '{"pause": "400000000000s"}',
            'field "pause" must be seconds such as "1.5s", from -315576000000s to 315576000000s, not "400000000000s"',
        ),
        (
            '{"pause": "0.0000000001s"}',
            'field "pause" must be seconds such as "1.5s", with at most 9 digits behind the point, not "0.0000000001s"',
        ),
        ('{"mask": "user.display_name"}', f'field "mask" must be {PATHS}, not "user.display_name"'),
        (
            '{"free": {"a": [1, {"b": NaN}]}}',
            'field "free.a[1].b" must be any JSON value without NaN and Infinity, not NaN',
        ),
        ('{"value": [1e999]}', 'field "value[0]" must be any JSON value without NaN and Infinity, not Infinity'),
        ('{"anything": 5}', 'field "anything" must be an object with "@type", not 5'),
        (
            '{"anything": {"type_url": "x/t.Item", "value": "CAE="}}',
            'field "anything" is an Any, whose type "x/t.Item" stands in "@type", not in "type_url"',
        ),
        ('{"anything": {"@type": "x/t.Item", "number": "x"}}', f'field "anything.number" must be {INT32}, not "x"'),
        (
            '{"anything": {"@type": "x/t.Item", "numbr": 1}}',
            't.Item has no field "numbr" (at anything); did you mean "number"?',
        ),
        (
            '{"anything": {"@type": "x/google.protobuf.Duration", "seconds": 1}}',
            'field "anything" holds a google.protobuf.Duration, which is written {"@type": ..., "value": ...}',
        ),
        (
            '{"anything": {"@type": "x/google.protobuf.Any", "value": {"@type": "x/t.Item", "number": 0.5}}}',
            f'field "anything.value.number" must be {INT32}, not 0.5',
        ),
    ],
)
def test_a_value_that_does_not_fit_is_said_with_what_would(text: str, said: str) -> None:
    assert mistake(text) == said


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"name": "a"} // one', "JSON has no comments: leave them out"),
        ('/* one */ {"name": "a"}', "JSON has no comments: leave them out"),
        ('# one\n{"name": "a"}', "JSON has no comments: leave them out"),
        ('{"name": "a", /* one */ "big": 1}', "JSON has no comments: leave them out"),
        ('{"name": "a",}', "JSON has no comma behind the last one: leave it out"),
        ('{"tags": ["a", ]}', "JSON has no comma behind the last one: leave it out"),
        ("{'name': 'a'}", "JSON has double quotes only"),
        ("{\"name\": 'a'}", "JSON has double quotes only"),
        ('{\\"name\\": \\"a\\"}', "the quotes are escaped once more than was taken away"),
        ("{“name”: “a”}", "these are typographic quotes"),
        ('{name: "a"}', "names and text are in double quotes"),
        ('{"flag": True}', "the words that JSON has are true, false and null"),
        ('{"name": undefined}', "the words that JSON has are true, false and null"),
        ('{"big": 0x10}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"big": +1}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"ratio": .5}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"ratio": 1.}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"big": 1_000}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"big": 01}', "a number is written such as 1, -0.5 or 1e3"),
        ('{"name": "\\x41"}', "behind \\ may be one of"),
        ('{"name": "a\nb"}', "in a text the end of a line is written \\n"),
        ('{"name": "a"', "it ends too early: something is not closed"),
        ('{"name": "a', "it ends too early: something is not closed"),
        ('{"name":', "it ends too early: something is not closed"),
        ('{"name": "a"} {"name": "b"}', "one value is wanted here, and something stands behind it"),
        ('{"name" = "a"}', ""),
    ],
)
def test_what_is_written_by_accident_is_said_with_what_json_has(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match="is not valid JSON: line") as raised:
        encode(KITCHEN_SINK, text)
    assert raised.value.hint.startswith(hint)
    assert bool(raised.value.hint) == bool(hint)


def test_a_byte_order_mark_is_no_part_of_json() -> None:
    assert encode(KITCHEN_SINK, '\ufeff{"name": "a"}') == encode(KITCHEN_SINK, '{"name": "a"}')
    assert encode_all(KITCHEN_SINK, '\ufeff{"name": "a"}\n{}') == (b"\x0a\x01a", b"")


def test_a_name_is_suggested_whatever_its_case() -> None:
    assert mistake('{"colour": "red"}').endswith('not "red"; did you mean "RED"?')
    assert mistake('{"SNAKENAME": ""}').endswith('did you mean "snakeName"?')
    assert "it has" in mistake(f'{{"{"x" * 100_000}": ""}}')


@pytest.mark.parametrize("url", ["x/q.U", "q.U", "type.googleapis.com/q.U", "x/", ""])
def test_an_any_of_an_unknown_type_is_said_with_its_type_and_how_it_is_written(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        encode(KITCHEN_SINK, f'{{"anything": {{"@type": "{url}", "number": 5}}}}')
    assert str(raised.value) == f'field "anything" holds the type "{url}", which nobody describes'
    assert raised.value.hint == (
        'an Any is written {"@type": "type.googleapis.com/pkg.Message", ...} with the fields beside the type; '
        "a type that the server does not describe is given with --proto FILE or --protoset FILE, or its octets are: "
        '{"@type": ..., "@value": "base64"}'
    )


@pytest.mark.parametrize("anything", ['{"type_url": 5}', '{"@type": 5}', "[]"])
def test_an_any_without_a_type_is_said_with_how_it_is_written(anything: str) -> None:
    with pytest.raises(UsageError, match='"anything" must be an object with "@type"') as raised:
        encode(KITCHEN_SINK, f'{{"anything": {anything}}}')
    assert raised.value.hint == (
        'an Any is written {"@type": "type.googleapis.com/pkg.Message", ...} with the fields beside the type'
    )


@pytest.mark.parametrize("name", ["type_url", "typeUrl"])
def test_an_any_by_its_fields_is_said_with_how_it_is_written_of_that_type(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        encode(KITCHEN_SINK, f'{{"anything": {{"{name}": "x/q.U", "value": "CAE="}}}}')
    assert str(raised.value) == 'field "anything" is an Any, whose type "x/q.U" stands in "@type", not in "type_url"'
    assert raised.value.hint == (
        'write {"@type": "x/q.U", ...} with the message\'s fields, or its octets: {"@type": "x/q.U", "@value": "CAE="}'
    )


@pytest.mark.parametrize(
    ("any_", "said"),
    [
        ('{"@type": "x/q.U", "@value": "x"}', 'field "anything.@value" must be a string of base64, not "x"'),
        ('{"@type": "x/q.U", "@value": [1]}', 'field "anything.@value" must be a string of base64, not [1]'),
        (
            '{"@type": "x/q.U", "@value": "CAE=", "number": 5}',
            'field "anything" has its octets in "@value", and so no "number"',
        ),
        ('{"@type": "x/q.U\\ud800"}', 'field "anything.@type" must be a string, not "x/q.U\\ud800"'),
    ],
)
def test_octets_of_an_any_that_are_none_are_said(any_: str, said: str) -> None:
    assert mistake(f'{{"anything": {any_}}}') == said


def test_a_request_from_a_file_is_called_by_its_name() -> None:
    assert mistake("{", source="a.json").startswith("a.json is not valid JSON: line 1 column 2: ")
    assert mistake('{"name": 5}', source="a.json") == 'a.json: field "name" must be a string, not 5'


def test_required_fields_are_demanded_by_name() -> None:
    with pytest.raises(UsageError, match=r"^r\.Must requires twin$"):
        encode(REQUIRED, '{"id": 1}')
