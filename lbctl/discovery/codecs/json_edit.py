r"""JSON texts changed in one place and left alone everywhere else: spaces, order, spelling and unknown fields stay.

An edit is found in the text itself, not in what it means. It can be carried out of a string that holds JSON again:
``"{\"weight\":\"3\"}"`` becomes ``"{\"weight\":\"5\"}"``. Every text here has been parsed before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_DECODER = json.JSONDecoder()


class Edit(NamedTuple):
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


class Part(NamedTuple):
    """A value in a text: what it is, and where it stands."""

    value: Any
    start: int
    end: int


def applied(text: str, edit: Edit) -> str:
    """Return the text with the edit made."""
    return text[: edit.start] + edit.new + text[edit.end :]


def part_at(text: str, at: int = 0) -> Part:
    """Return the value that stands at a place, or after the space there."""
    start = _past_space(text, at)
    value, end = _DECODER.raw_decode(text, start)
    return Part(value, start, end)


def member(text: str, of: Part, name: str) -> Part | None:
    """Return a member of an object, the last of that name, as parsers do; None where there is none."""
    return next((part for found, part in reversed(list(_members(text, of))) if found == name), None)


def first_item(text: str, of: Part) -> Part:
    """Return the first item of a list that is not empty."""
    return part_at(text, of.start + 1)


def inserted(text: str, of: Part, name: str, value: str) -> Edit:
    """The edit that adds a member, whose value is spelled so, as the last of an object."""
    spelled = f"{json.dumps(name)}:{value}"
    if not of.value:
        return Edit(of.start + 1, of.start + 1, spelled)
    *_, (_, last) = _members(text, of)
    return Edit(last.end, last.end, f",{spelled}")


def carried_out(text: str, string: Part, inner: Edit) -> Edit:
    """The edit of a text that makes an edit of what one of its strings says."""
    places = _places(text, string)
    return Edit(places[inner.start], places[inner.end], json.dumps(inner.new)[1:-1])


def _members(text: str, of: Part) -> Iterator[tuple[str, Part]]:
    at = _past_space(text, of.start + 1)
    while text[at] != "}":
        name = part_at(text, at)
        value = part_at(text, _past_space(text, name.end) + 1)  # past the colon
        yield name.value, value
        at = _past_space(text, value.end)
        if text[at] == ",":
            at = _past_space(text, at + 1)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _places(text: str, string: Part) -> list[int]:
    """Where each character that a string says is spelled, and where its spelling ends."""
    places, at = [], string.start + 1
    while text[at] != '"':
        places.append(at)
        at += _width(text, at)
    return [*places, at]


def _width(text: str, at: int) -> int:
    if text[at] != "\\":
        return 1
    if _PAIR.match(text, at):
        return 12
    return 6 if text[at + 1] == "u" else 2
