"""The two sides of a comparison in a check, as values that can be compared.

Beside what JSON writes for it a message of protobuf's own is that value: a wrapper what it holds, a Timestamp or a
Duration its moment or length, a FieldMask its text, a Value whatever it is. Beside an enum the name of a value is its
number. Beside null whatever can be told to be unset is whether it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from difflib import get_close_matches
from math import inf, isnan
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages import mistake
from lbctl.rpc.messages.check_kinds import (
    BOOL,
    FLOAT,
    INT,
    NULL,
    NUMBERS,
    STR,
    Kind,
    Mistake,
    OtherType,
    Term,
    as_shown,
    constant,
    kind_of,
)
from lbctl.rpc.messages.kinds import PROTOBUF, WRAPPERS
from lbctl.rpc.messages.own_values import FITS

_TIMES: Final = frozenset({f"{PROTOBUF}Timestamp", f"{PROTOBUF}Duration"})
_MASK: Final = f"{PROTOBUF}FieldMask"
_VALUE: Final = f"{PROTOBUF}Value"
_NULL: Final = f"{PROTOBUF}NullValue"
_BEYOND: Final = {"Infinity": inf, "-Infinity": -inf}
_FREE: Final = {"str": "string_value", "int": "number_value", "float": "number_value", "bool": "bool_value"}


def paired(node: ast.expr, left: Term, right: Term) -> tuple[Term, Term]:
    """Both sides as they are compared; raises Mistake where they cannot be."""
    if NULL in (left.kind, right.kind):
        return _with_null(node, left, right)
    if "NaN" in (left.literal, right.literal) and FLOAT in (left.kind, right.kind):
        number = (right if left.literal == "NaN" else left).value
        return Term(BOOL, lambda message: isnan(number(message))), constant(True)
    one, other = beside(node, left, right), beside(node, right, left)
    if not comparable(one.kind, other.kind):
        raise Mistake(node, f"{_told(left.kind)} cannot be compared with {_told(right.kind)}{_advice(left, right)}")
    return one, other


def comparable(kind: Kind, other: Kind) -> bool:
    """Whether one type can be compared with another."""
    if kind.name == "list" and other.name == "list":
        return _alike(kind.element, other.element)
    if kind.name in ("message", "map", "null") or other.name in ("message", "map", "null"):
        return False
    numbers = {each.name for each in NUMBERS} | {"enum"}
    return kind.name == other.name or {kind.name, other.name} <= numbers


def _alike(kind: Kind | None, other: Kind | None) -> bool:
    """Whether what is in lists can be compared; in a list of nothing is anything."""
    if kind is None or other is None or NULL in (kind, other):
        return True
    if kind.name == other.name == "message":
        return bool(kind.type.full_name == other.type.full_name)
    return comparable(kind, other)


def beside(node: ast.expr, found: Term, other: Term) -> Term:
    """A term as the value that can be compared with another one; raises Mistake for text that cannot be its value."""
    if isinstance(found.literal, str):
        return _text(node, found, other.kind)
    if isinstance(found.literal, list) and other.kind.element is not None:
        items = [beside(node, constant(each), Term(other.kind.element, other.value)) for each in found.literal]
        element = items[0].kind if items else NULL
        return Term(Kind("list", element=element), lambda message: [each.value(message) for each in items])
    return _own(found, other.kind) if found.kind.name == "message" else found


def _text(node: ast.expr, found: Term, other: Kind) -> Term:
    """A text as the value that it is of an enum, a moment, or a number that has no other spelling."""
    if other.name == "enum":
        return _named(node, found.literal, other)
    if other.name == "message" and other.type.full_name in _TIMES:
        return constant(_nanos(_parsed(node, found.literal, other)))
    if other == FLOAT and found.literal in _BEYOND:
        return constant(_BEYOND[found.literal])
    return found


def _own(found: Term, other: Kind) -> Term:
    """A message of protobuf's own as what it is beside such a type; any other message as it is."""
    name, value = found.kind.type.full_name, found.value
    if name in WRAPPERS and other.name != "message":
        held = kind_of(found.kind.type.fields_by_name["value"])
        return Term(held, as_shown(held, lambda message: value(message).value), present=found.present)
    if name in _TIMES and (other == STR or other == found.kind):
        return Term(INT, lambda message: _nanos(value(message)))
    if name == _MASK and other == STR:
        return Term(STR, lambda message: ",".join(map(_camel, value(message).paths)))
    if name == _VALUE and other.name in _FREE:
        return Term(other, _free(value, other))
    return found


def _free(value: Callable[[Any], Any], kind: Kind) -> Callable[[Any], Any]:
    wanted = _FREE[kind.name]

    def found(message: Any) -> Any:  # noqa: ANN401
        held = value(message)
        if held.WhichOneof("kind") != wanted:
            raise OtherType(f"no {kind} in the Value")
        return getattr(held, wanted)

    return found


def _with_null(node: ast.expr, left: Term, right: Term) -> tuple[Term, Term]:
    found = right if left.kind == NULL else left
    value, present = found.value, found.present
    unset: Callable[[Any], bool] = lambda message: present is not None and not present(message)  # noqa: E731
    if found.kind.name == "null" or (found.kind.name == "enum" and found.kind.type.full_name == _NULL):
        return constant(True), constant(True)
    if found.kind.name == "message" and found.kind.type.full_name == _VALUE:
        return Term(BOOL, lambda message: unset(message) or _is_null(value(message))), constant(True)
    if present is None:
        raise Mistake(node, f"{found.kind} is never null: nobody can tell whether it is set")
    return Term(BOOL, unset), constant(True)


def _is_null(value: Any) -> bool:  # noqa: ANN401
    return value.WhichOneof("kind") in (None, "null_value")


def _named(node: ast.expr, name: str, kind: Kind) -> Term:
    """The name of an enum's value, as its number."""
    values = kind.type.values_by_name
    if name not in values:
        near = get_close_matches(name.upper(), values, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {mistake.one_of(list(values))}"
        raise Mistake(node, f"{kind.type.full_name} has no value {name!r}; {meant}")
    number = values[name].number
    return Term(kind, lambda _: number, number)


def _parsed(node: ast.expr, text: str, kind: Kind) -> Message:
    try:
        FITS[kind.type.full_name](text, "", 0)
    except mistake.Mistake as error:
        raise Mistake(node, str(error).replace("the request", f"a {kind.type.name}", 1)) from None
    message: Any = GetMessageClass(kind.type)()
    message.FromJsonString(text)
    return message  # type: ignore[no-any-return]


def _nanos(message: Any) -> int:  # noqa: ANN401  # a Timestamp or a Duration
    return int(message.seconds) * 10**9 + int(message.nanos)


def _camel(path: str) -> str:
    head, *rest = path.split("_")
    return head + "".join(each[:1].upper() + each[1:] for each in rest)


def _told(kind: Kind) -> str:
    return f"a list of {kind.element}" if kind.name == "list" else str(kind)


def _advice(left: Term, right: Term) -> str:
    """What to write instead, where that is known."""
    kinds = {left.kind.name, right.kind.name}
    if kinds == {"int", "str"} or kinds == {"float", "str"} or kinds == {"bool", "str"}:
        return " (numbers, true and false stand without quotes)"
    if kinds == {"bytes", "str"}:
        return ' (bytes are written b"...")'
    message = next((each.kind.type for each in (left, right) if each.kind.name == "message"), None)
    if message is not None and message.full_name in _TIMES:
        return f' (compare it with text such as "{"1.5s" if message.name == "Duration" else "2026-01-02T03:04:05Z"}")'
    return " (compare its fields)" if message is not None else ""
