from __future__ import annotations

import pytest

from lbctl.errors import NotFound
from lbctl.rpc.schemas.catalogue import MethodFacts
from lbctl.rpc.schemas.offering import like, matches

SAY = MethodFacts("test.Echo", "Say", "test.Text", "test.Text")
CHECK = MethodFacts("grpc.health.v1.Health", "Check", "Q", "R")


@pytest.mark.parametrize(
    "pattern",
    [
        "Say",
        "say",
        "Echo/S",
        "test.Echo/Say",
        "/test.Echo/Say",
        "echo.say",
        "test",
        "*",
        "Echo/*",
        "S?y",
        "*Echo",
        "test.*",
    ],
)
def test_a_pattern_is_a_part_of_the_name_or_has_wildcards(pattern: str) -> None:
    assert matches(pattern, "test.Echo/Say")


@pytest.mark.parametrize("pattern", ["Sya", "Echo/", "Echo*x", "Say?", "*.Admin/*"])
def test_what_is_not_like_the_name_does_not_match(pattern: str) -> None:
    assert matches(pattern, "test.Echo/Say") is (pattern == "Echo/")


def test_methods_of_grpc_itself_are_left_out_unless_they_are_asked_for_or_all_there_is() -> None:
    assert like([SAY, CHECK], "") == ([SAY], ("grpc.health.v1.Health",))
    assert like([CHECK], "") == ([CHECK], ())
    assert like([SAY, CHECK], "grpc.*") == ([CHECK], ())


def test_nothing_like_the_pattern_names_what_is_near() -> None:
    with pytest.raises(NotFound, match='no method is like "Sya"') as raised:
        like([SAY, CHECK], "Sya")
    assert raised.value.hint == "did you mean test.Echo/Say?"
    with pytest.raises(NotFound) as raised:
        like([SAY], "xyz")
    assert raised.value.hint == "leave the pattern out to see all"


def test_no_methods_at_all_are_not_found() -> None:
    with pytest.raises(NotFound, match="echo offers no methods"):
        like([], "", "echo")
