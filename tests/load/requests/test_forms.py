"""Messages with actions: every type of field, set at once or through JSON, and all extremes tried beforehand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lbctl.errors import UsageError
from lbctl.load.requests.forms import Form, quoted, understood
from lbctl.load.requests.templates import Drawing, Names
from lbctl.rpc.messages.message import decode, parse
from tests.fakes import FakeClock
from tests.rpc.protos import KITCHEN_SINK


def form(text: str) -> Form:
    return Form(KITCHEN_SINK, understood(parse(quoted(text), "request"), Names("t.S", "M"), "request"), "request")


def drawn(text: str, count: int = 5) -> list[dict[str, Any]]:
    made, drawing, found = form(text), Drawing(Random(1), FakeClock()), []
    for drawing.number in range(count):
        found.append(decode(KITCHEN_SINK, made.draw(drawing)))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"name": "n{{seq}}"}', [{"name": "n0"}, {"name": "n1"}]),
        ('{"big": {{seq 9007199254740993}}}', [{"big": "9007199254740993"}, {"big": "9007199254740994"}]),
        ('{"big": "{{seq 1}}", "small": {{seq 5}}}', [{"big": "1", "small": 5}, {"big": "2", "small": 6}]),
        ('{"raw": "{{pick AAE=}}"}', [{"raw": "AAE="}, {"raw": "AAE="}]),
        ('{"flag": {{pick true}}, "ratio": {{float 2 2}}}', [{"flag": True, "ratio": 2.0}] * 2),
        ('{"colour": "{{pick GREEN}}"}', [{"colour": "GREEN"}] * 2),
        ('{"colour": {{seq 1}}}', [{"colour": "GREEN"}, {"colour": 2}]),
        ('{"tags": ["a", "{{seq}}"]}', [{"tags": ["a", "0"]}, {"tags": ["a", "1"]}]),
        (
            '{"items": [{"number": 7}, {"number": {{seq 3}}}]}',
            [{"items": [{"number": 7}, {"number": n}]} for n in (3, 4)],
        ),
        ('{"snakeName": "{{seq}}", "left": "{{seq}}"}', [{"snakeName": n, "left": n} for n in ("0", "1")]),
        ('{"by_flag": {"true": "{{seq 2}}"}}', [{"byFlag": {"true": "2"}}, {"byFlag": {"true": "3"}}]),
        ('{"maybe": "{{seq 2}}"}', [{"maybe": "2"}, {"maybe": "3"}]),
        ('{"free": {"a": {{seq}}}}', [{"free": {"a": 0.0}}, {"free": {"a": 1.0}}]),
        ("{\"name\": \"{{pick '{}' '}'}}\"}", [{"name": "}"}, {"name": "}"}]),
    ],
)
def test_a_field_of_any_type_can_be_drawn(text: str, expected: list[dict[str, Any]]) -> None:
    if "'}'" in text:
        assert all(each["name"] in ("{}", "}") for each in drawn(text))
    else:
        assert drawn(text, 2) == expected


def test_times_are_now() -> None:
    (found,) = drawn('{"when": "{{now}}"}', 1)
    assert found["when"].startswith(FakeClock().wall().strftime("%Y-%m-%dT%H:%M"))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('{"small": {{int 0 5000000000}}}', 'field "small" must be an integer from -2147483648 to 2147483647'),
        ('{"colour": "{{pick RED BLUE}}"}', 'field "colour" must be one of RED, GREEN, not "BLUE"'),
        ('{"flag": "{{bool}}"}', 'field "flag" must be true or false, not "true"'),
        ('{"raw": "{{pick AAE= !}}"}', 'field "raw" must be a string of base64'),
        ('{"nmae": "{{uuid}}"}', 't.Sink has no field "nmae"; did you mean "name"?'),
        ('{"name": "{{nothing}}"}', "request: {{nothing}}: there is no nothing"),
    ],
)
def test_what_could_not_be_sent_is_told_before_anything_is(text: str, mistake: str) -> None:
    with pytest.raises(UsageError) as raised:
        form(text)
    assert str(raised.value).startswith(mistake)


@pytest.mark.parametrize("text", ['{"a": "{{x}}", "b": 1}', '{"a": "\\"{{x}}"}', "{}", '{"a": {"b": {}}}'])
def test_what_stands_in_quotes_is_left_alone(text: str) -> None:
    assert quoted(text) == text
