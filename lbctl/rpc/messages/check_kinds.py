"""The terms of a check expression, and the types that they have."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from struct import Struct
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor


@dataclass(frozen=True, slots=True)
class Kind:
    """bool, int, float, str, bytes, null, enum, message, list or map.

    ``type`` is the descriptor of an enum or message, ``element`` what a list or map holds, ``key`` the keys of a map.
    A ``single`` float has half the digits of others, and is the same type.
    """

    name: str
    type: Any = None
    element: Kind | None = None
    key: Kind | None = None
    single: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return str(self.type.full_name) if self.type is not None else self.name


BOOL: Final = Kind("bool")
INT: Final = Kind("int")
FLOAT: Final = Kind("float")
STR: Final = Kind("str")
BYTES: Final = Kind("bytes")
NULL: Final = Kind("null")
NUMBERS: Final = frozenset({INT, FLOAT})
LITERALS: Final = {bool: BOOL, int: INT, float: FLOAT, str: STR, bytes: BYTES, type(None): NULL}

_SCALARS: Final = {
    FieldDescriptor.CPPTYPE_BOOL: BOOL,
    FieldDescriptor.CPPTYPE_FLOAT: Kind("float", single=True),
    FieldDescriptor.CPPTYPE_DOUBLE: FLOAT,
    FieldDescriptor.CPPTYPE_INT32: INT,
    FieldDescriptor.CPPTYPE_INT64: INT,
    FieldDescriptor.CPPTYPE_UINT32: INT,
    FieldDescriptor.CPPTYPE_UINT64: INT,
}


_SINGLE: Final = Struct("<f")

Value = Callable[[Any], Any]


class Mistake(Exception):
    """What is wrong with an expression, and at which byte of it."""

    def __init__(self, node: ast.expr, text: str) -> None:
        super().__init__(text)
        last = isinstance(node, ast.Attribute) and node.end_col_offset  # the name is what is wrong, not what is before
        self.at: int = last - len(node.attr) if last else node.col_offset  # type: ignore[attr-defined]


class OtherType(LookupError):
    """A part of a reply does not hold what a check takes out of it."""


@dataclass(frozen=True, slots=True)
class Term:
    """Part of an expression: its type and its value; ``literal`` is the value itself where no reply decides it.

    ``present`` tells whether a field is set, where the schema can tell.
    """

    kind: Kind
    value: Value
    literal: Any = None
    present: Value | None = None


def constant(value: object) -> Term:
    """The term of a literal."""
    return Term(LITERALS[type(value)], lambda _: value, value)


def as_shown(kind: Kind, value: Value) -> Value:
    """The same value with single floats as JSON shows them: 0.1, where they are 0.10000000149011612."""
    if kind.single:
        return lambda message: _shortest(value(message))
    if kind.name == "list" and kind.element is not None and kind.element.single:
        return lambda message: [_shortest(each) for each in value(message)]
    return value


def _shortest(value: float) -> float:
    """The number of the fewest digits that is the same single float."""
    if not isfinite(value):
        return value
    found = (float(f"{value:.{digits}g}") for digits in (6, 7, 8))
    return next((each for each in found if _SINGLE.unpack(_SINGLE.pack(each))[0] == value), value)


def message_kind(descriptor: Any) -> Kind:  # noqa: ANN401 - protobuf's descriptors have no stable type
    """The type of a message."""
    return Kind("message", descriptor)


def kind_of(field: Any) -> Kind:  # noqa: ANN401
    """The type of a field."""
    if not field.is_repeated:
        return _single(field)
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        return Kind("map", element=_single(entry.fields_by_name["value"]), key=_single(entry.fields_by_name["key"]))
    return Kind("list", element=_single(field))


def field_of(descriptor: Any, name: str) -> Any:  # noqa: ANN401
    """The field of that name, or of that name in JSON; None if there is none."""
    known = descriptor.fields_by_name.get(name)
    return known or next((field for field in descriptor.fields if field.json_name == name), None)


def _single(field: Any) -> Kind:  # noqa: ANN401
    if field.message_type is not None:
        return message_kind(field.message_type)
    if field.enum_type is not None:
        return Kind("enum", field.enum_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return BYTES
    return _SCALARS.get(field.cpp_type, STR)
