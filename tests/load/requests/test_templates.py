"""Templates: what each action draws, that a seed makes the same again, and what is said of a wrong one."""

from __future__ import annotations

import re
from random import Random

import pytest

from lbctl.load.requests.templates import Drawing, Names, parse_template
from tests.fakes import FakeClock

NAMES = Names("pkg.Svc", "M")


def drawn(text: str, count: int = 200, seed: int = 7) -> list[str]:
    template, drawing, found = parse_template(text, NAMES), Drawing(Random(seed), FakeClock()), []
    for drawing.number in range(count):
        found.append(template.text(drawing))
    return found


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("{{uuid}}", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ("{{hex 5}}", r"[0-9a-f]{5}"),
        ("{{string 9}}", r"[A-Za-z0-9]{9}"),
        ("{{randomString 9}}", r"[A-Za-z0-9]{9}"),
        ("{{bytes 3}}", r"[A-Za-z0-9+/]{4}"),
        ("{{float -1 1}}", r"-?0\.\d+(e-\d+)?"),
        ("{{bool}}", r"true|false"),
        ("{{now}}", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
        ("{{now unix_ms}}", r"\d{12,}"),
        ("{{now %Y}}", r"\d{4}"),
        ("{{service}}/{{method}} {{.FullyQualifiedName}}", r"pkg\.Svc/M pkg\.Svc\.M"),
        ("a{{pick 'b c' d}}e", r"a(b c|d)e"),
    ],
)
def test_an_action_draws_what_it_says(text: str, pattern: str) -> None:
    assert all(re.fullmatch(pattern, each) for each in drawn(text))


def test_every_value_of_a_range_comes_with_both_its_ends() -> None:
    assert set(drawn("{{int -1 2}}")) == {"-1", "0", "1", "2"}
    assert set(drawn("{{randomInt 1 3}}")) == {"1", "2"}
    assert set(drawn("{{pick a b c}}")) == {"a", "b", "c"}


def test_the_number_of_a_call_is_the_same_in_all_its_actions() -> None:
    assert drawn("{{seq}} {{.RequestNumber}} {{seq 10}} {{seq 5 -2}}", 3) == ["0 0 10 5", "1 1 11 3", "2 2 12 1"]


def test_a_seed_makes_the_same_again_and_another_does_not() -> None:
    text = "{{uuid}} {{int 1 1000000}} {{string}} {{float 0 1}}"
    assert drawn(text) == drawn(text)
    assert drawn(text)[0] != drawn(text, seed=8)[0]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("{{itn 1 2}}", "{{itn 1 2}}: there is no itn; did you mean int?"),
        ("{{int 5 1}}", "{{int 5 1}}: 5 is above 1"),
        ("{{int a 1}}", "{{int a 1}}: 'a' is not a whole number"),
        ("{{int 1}}", "{{int 1}}: int takes 2 arguments, not 1"),
        ("{{pick}}", "{{pick}}: pick takes at least 1 argument, not 0"),
        ("{{uuid 1}}", "{{uuid 1}}: uuid takes 0 arguments, not 1"),
        ("{{hex 0}}", "{{hex 0}}: 0 is not a length from 1 to 1048576"),
        ("{{}}", "{{}} is empty; there is seq, uuid"),
        ("x {{uuid", "'{{uuid' is not closed: }} is missing"),
        ("{{pick 'a}}", "{{pick 'a}}: a quote is not closed"),
        ("{{.WorkerID}}", "{{.WorkerID}}: lbctl has no workers; {{seq}} is the number of the call"),
        ("{{now soon}}", "{{now soon}}: 'soon' is not one of unix, unix_ms, unix_us, unix_ns, or a format such as"),
        ("{{float 1 x}}", "{{float 1 x}}: '1 x' are not two numbers"),
    ],
)
def test_a_mistake_is_told_with_the_action_it_is_in(text: str, mistake: str) -> None:
    with pytest.raises(ValueError, match=re.escape(mistake)):
        parse_template(text, NAMES)
