"""Replies side by side: which are alike, and where the others differ from most."""

from __future__ import annotations

from typing import Any

import pytest

from lbctl.load.agreement import MISSING, Agreement, Asked, Difference, differences, grouped, without
from lbctl.load.single import Answer, Done, Picked
from lbctl.model import Code, Endpoint, Instance, Reply

BACKENDS = [Instance(f"/s/{number}", "s", "seed", Endpoint("10.0.0.1", number)) for number in range(30)]


def said(place: int, *values: Any, code: Code = Code.OK, streams: bool = False) -> Asked:  # noqa: ANN401
    answers = tuple(Answer(b"", value) for value in values)
    return Asked(
        BACKENDS[place], Done(Picked(BACKENDS[place], 1), Reply(code), 0.001, answers=answers, streams=streams)
    )


def test_the_most_frequent_reply_is_a_and_of_equally_many_the_first() -> None:
    groups = grouped([said(0, {"v": 2}), said(1, {"v": 1}), said(2, {"v": 3}), said(3, {"v": 1})])
    assert [(each.name, each.value, [m.endpoint.port for m in each.members]) for each in groups] == [
        ("A", {"v": 1}, [1, 3]),
        ("B", {"v": 2}, [0]),
        ("C", {"v": 3}, [2]),
    ]
    assert [each.differences for each in groups] == [(), (Difference("v", 2, 1),), (Difference("v", 3, 1),)]


def test_the_order_of_keys_is_no_difference_and_failed_calls_say_nothing() -> None:
    asked = (
        said(0, {"a": 1, "b": 2}),
        said(1, {"b": 2, "a": 1}),
        said(2, code=Code.NOT_FOUND),
        Asked(BACKENDS[3], obstacle=("REFUSED", "refused the connection")),
    )
    (group,) = grouped(asked)
    found = Agreement("s", "S/M", "unary", "v1", asked, (group,))
    assert (len(group.members), found.failed, found.is_whole) == (2, 2, False)
    assert [found.group_of(each.instance) for each in asked] == ["A", "A", "", ""]
    assert Agreement("s", "S/M", "unary", "v1", asked[:2], (group,)).is_whole
    assert grouped(asked[2:]) == ()


def test_streams_are_compared_message_by_message() -> None:
    groups = grouped([said(0, 1, 2, streams=True), said(1, 1, 2, streams=True), said(2, 1, streams=True)])
    assert [each.value for each in groups] == [[1, 2], 1]
    groups = grouped([said(0, 1, 2, streams=True), said(1, 1, 3, 4, streams=True)])
    assert groups[1].differences == (Difference("[1]", 3, 2), Difference("[2]", 4, MISSING))


@pytest.mark.parametrize(
    ("usual", "here", "found"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [("a.b[1]", 3, 2)]),
        ({"a": 1}, {}, [("a", MISSING, 1)]),
        ({}, {"a": 1}, [("a", 1, MISSING)]),
        ({"a": 1}, {"a": "1"}, [("a", "1", 1)]),
        ({"a": 1}, {"a": True}, [("a", True, 1)]),
        ({"a": [1]}, {"a": {"b": 1}}, [("a", {"b": 1}, [1])]),
        ("x", "y", [("", "y", "x")]),
        ({"a": None}, {"a": None}, []),
    ],
)
def test_differences_go_as_deep_as_they_are(
    usual: object, here: object, found: list[tuple[str, object, object]]
) -> None:
    assert [tuple(each) for each in differences(usual, here)] == found


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("id", {"items": [{"id": 1, "itemName": "x"}], "who": {"id": 2}}),
        ("items.id", {"id": 0, "items": [{"itemName": "x"}], "who": {"id": 2}}),
        ("items.item_name", {"id": 0, "items": [{"id": 1}], "who": {"id": 2}}),
        ("*.id", {"id": 0, "items": [{"itemName": "x"}], "who": {}}),
        ("who", {"id": 0, "items": [{"id": 1, "itemName": "x"}]}),
        ("nothing.there", {"id": 0, "items": [{"id": 1, "itemName": "x"}], "who": {"id": 2}}),
    ],
)
def test_fields_are_ignored_by_their_paths(path: str, left: object) -> None:
    value = {"id": 0, "items": [{"id": 1, "itemName": "x"}], "who": {"id": 2}}
    assert without(value, [tuple(path.split("."))]) == left


def test_there_are_names_for_more_replies_than_letters() -> None:
    groups = grouped([said(place, place) for place in range(28)])
    assert [each.name for each in groups][24:] == ["Y", "Z", "AA", "AB"]


def test_fields_that_no_reply_has_are_known() -> None:
    asked = (said(0, {"a": {"b": 1}, "snakeCase": 2}), said(1, code=Code.NOT_FOUND))
    found = Agreement("s", "S/M", "unary", "v1", asked, grouped(asked), ("a.b", "a.c", "snake_case", "d"))
    assert found.unmet == ("a.c", "d")
