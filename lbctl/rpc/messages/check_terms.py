"""The terms of a check expression: each knows its type, and how to get its value out of a decoded message."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from lbctl.rpc.messages.check_brackets import bracketed
from lbctl.rpc.messages.check_kinds import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NULL,
    NUMBERS,
    STR,
    Kind,
    field_of,
    kind_of,
    message_kind,
)

Value = Callable[[Any], Any]

_ORDERS: Final[Mapping[type, Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SUMS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_NAMES: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_LITERALS: Final[Mapping[type, Kind]] = {bool: BOOL, int: INT, float: FLOAT, str: STR, bytes: BYTES, type(None): NULL}


class Mistake(Exception):
    """What is wrong with an expression, and at which byte of it."""

    def __init__(self, node: ast.expr, text: str) -> None:
        super().__init__(text)
        last = isinstance(node, ast.Attribute) and node.end_col_offset  # the name is what is wrong, not what is before
        self.at: int = last - len(node.attr) if last else node.col_offset  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Term:
    """Part of an expression: its type and its value; ``literal`` is the value itself where no reply decides it.

    ``present`` tells whether a field is set, where the schema can tell.
    """

    kind: Kind
    value: Value
    literal: Any = None
    present: Value | None = None


def term(node: ast.expr, root: Any) -> Term:  # noqa: ANN401 - protobuf's descriptors have no stable type
    """The term of a node; ``root`` is the type of ``resp``. Raises Mistake."""
    build = _BUILDERS.get(type(node))
    if build is None:
        raise Mistake(node, _unknown(node))
    return build(node, root)


def _unknown(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):
        return "only + - * / % can be calculated with"
    if isinstance(node, ast.NamedExpr):
        return "only resp.field, literals, comparisons, and, or, not, len() and has() are known (equal is ==)"
    return "only resp.field, literals, comparisons, and, or, not, len() and has() are known"


def _name(node: ast.Name, root: Any) -> Term:  # noqa: ANN401
    if node.id == "resp":
        return Term(message_kind(root), lambda message: message)
    if node.id in _NAMES:
        return _constant(_NAMES[node.id])
    raise Mistake(node, f"unknown name {node.id!r} (the reply is resp; text needs quotes)")


def _constant(value: object) -> Term:
    return Term(_LITERALS[type(value)], lambda _: value, value)


def _literal(node: ast.Constant, root: Any) -> Term:  # noqa: ANN401
    if type(node.value) not in _LITERALS:
        raise Mistake(node, f"{node.value!r} is nothing a reply could hold")
    return _constant(node.value)


def _list(node: ast.List | ast.Tuple, root: Any) -> Term:  # noqa: ANN401
    items = [term(each, root) for each in node.elts]
    for each, item in zip(node.elts, items, strict=True):
        if item.kind.name != items[0].kind.name and not {item.kind, items[0].kind} <= NUMBERS:
            raise Mistake(each, f"a list of {items[0].kind} cannot hold {item.kind}")
    values = [item.value for item in items]
    literal = [item.literal for item in items]
    element = items[0].kind if items else NULL
    return Term(Kind("list", element=element), lambda message: [value(message) for value in values], literal)


def _attribute(node: ast.Attribute, root: Any) -> Term:  # noqa: ANN401
    return _field(node, term(node.value, root), node.attr)


def _field(node: ast.expr, of: Term, name: str) -> Term:
    if of.kind.name != "message":
        raise Mistake(node, f"{of.kind} has no fields, so no {name!r}")
    if name.startswith("["):
        return _in_brackets(node, of, name)
    field = field_of(of.kind.type, name)
    if field is None:
        near = get_close_matches(name, of.kind.type.fields_by_name, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(of.kind.type.fields_by_name) or 'none'}"
        raise Mistake(node, f"{of.kind} has no field {name!r}; {meant}")
    read, inner = operator.attrgetter(field.name), of.value
    is_set: Value | None = None
    if field.has_presence:
        is_set = lambda message: inner(message).HasField(field.name)  # noqa: E731
    return Term(kind_of(field), lambda message: read(inner(message)), present=is_set)


def _in_brackets(node: ast.expr, of: Term, name: str) -> Term:
    try:
        kind, read, is_there = bracketed(of.kind.type, name)
    except LookupError as error:
        raise Mistake(node, error.args[0]) from None
    inner = of.value
    present = None if is_there is None else lambda message: is_there(inner(message))
    return Term(kind, lambda message: read(inner(message)), present=present)


def _subscript(node: ast.Subscript, root: Any) -> Term:  # noqa: ANN401
    of = term(node.value, root)
    if isinstance(node.slice, ast.Slice):
        raise Mistake(node.slice, "slices are not known, only one index")
    at = term(node.slice, root)
    if of.kind.name == "message" and isinstance(at.literal, str):
        return _field(node, of, at.literal)  # resp["from"]: a field whose name is a word of the language
    if of.kind.name == "map":
        assert of.kind.key is not None
        if not _comparable(of.kind.key, at):
            raise Mistake(node.slice, f"the keys of this map are {of.kind.key}, not {at.kind}")
        return _looked_up(of, at)
    if of.kind.name != "list":
        raise Mistake(node, f"{of.kind} has no parts to pick by index")
    if at.kind != INT:
        raise Mistake(node.slice, f"an index is a whole number, not {at.kind}")
    return _picked(of, at)


def _picked(of: Term, at: Term) -> Term:
    assert of.kind.element is not None
    values, index = of.value, at.value
    return Term(of.kind.element, lambda message: values(message)[index(message)])


def _looked_up(of: Term, at: Term) -> Term:
    assert of.kind.element is not None
    values, key = of.value, at.value

    def found(message: Any) -> Any:  # noqa: ANN401
        entries, wanted = values(message), key(message)
        if wanted not in entries:  # protobuf would make one up
            raise KeyError(wanted)
        return entries[wanted]

    return Term(of.kind.element, found)


def _call(node: ast.Call, root: Any) -> Term:  # noqa: ANN401
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in ("len", "has") or len(node.args) != 1 or node.keywords:
        raise Mistake(node, "only len(x) and has(resp.field) can be called")
    inner = term(node.args[0], root)
    value = inner.value
    if name == "len":
        if inner.kind.name not in ("str", "bytes", "list", "map"):
            raise Mistake(node.args[0], f"{inner.kind} has no length")
        return Term(INT, lambda message: len(value(message)))
    if inner.present is None:
        raise Mistake(node.args[0], "has() takes a field that can be told to be absent: a message, optional or oneof")
    return Term(BOOL, inner.present)


def _needs_bool(node: ast.expr, root: Any) -> Value:  # noqa: ANN401
    found = term(node, root)
    if found.kind != BOOL:
        raise Mistake(node, f"this must be true or false, and is {found.kind}: compare it")
    return found.value


def _both(node: ast.BoolOp, root: Any) -> Term:  # noqa: ANN401
    parts = [_needs_bool(each, root) for each in node.values]
    if isinstance(node.op, ast.And):
        return Term(BOOL, lambda message: all(part(message) for part in parts))
    return Term(BOOL, lambda message: any(part(message) for part in parts))


def _unary(node: ast.UnaryOp, root: Any) -> Term:  # noqa: ANN401
    if isinstance(node.op, ast.Not):
        part = _needs_bool(node.operand, root)
        return Term(BOOL, lambda message: not part(message))
    found = term(node.operand, root)
    if not isinstance(node.op, ast.USub | ast.UAdd) or found.kind not in NUMBERS:
        raise Mistake(node, f"{found.kind} has no sign")
    value, sign = found.value, -1 if isinstance(node.op, ast.USub) else 1
    literal = None if found.literal is None else sign * found.literal
    return Term(found.kind, lambda message: sign * value(message), literal)


def _sum(node: ast.BinOp, root: Any) -> Term:  # noqa: ANN401
    calculate = _SUMS.get(type(node.op))
    if calculate is None:
        raise Mistake(node, _unknown(node))
    left, right = term(node.left, root), term(node.right, root)
    for side, found in ((node.left, left), (node.right, right)):
        if found.kind not in NUMBERS:
            raise Mistake(side, f"{found.kind} cannot be calculated with")
    kind = INT if left.kind == right.kind == INT and not isinstance(node.op, ast.Div) else FLOAT
    one, other = left.value, right.value
    return Term(kind, lambda message: calculate(one(message), other(message)))


def _compare(node: ast.Compare, root: Any) -> Term:  # noqa: ANN401
    sides = [node.left, *node.comparators]
    terms = [term(each, root) for each in sides]
    links = [
        _link(where, how, left, right)
        for where, how, left, right in zip(sides[1:], node.ops, terms, terms[1:], strict=False)
    ]
    return Term(BOOL, lambda message: all(link(message) for link in links))


def _link(node: ast.expr, how: ast.cmpop, left: Term, right: Term) -> Value:
    if isinstance(how, ast.In | ast.NotIn):
        return _membership(node, left, right, wanted=isinstance(how, ast.In))
    if isinstance(how, ast.Is | ast.IsNot):
        raise Mistake(node, "compare with == or !=")
    left, right = _named(node, left, right), _named(node, right, left)
    if not _comparable(left.kind, right):
        raise Mistake(node, f"{left.kind} cannot be compared with {right.kind}{_advice(left, right)}")
    one, other = left.value, right.value
    if isinstance(how, ast.Eq):
        return lambda message: one(message) == other(message)
    if isinstance(how, ast.NotEq):
        return lambda message: one(message) != other(message)
    if left.kind not in NUMBERS | {STR, BYTES}:
        raise Mistake(node, f"{left.kind} is neither more nor less than another")
    order = _ORDERS[type(how)]
    return lambda message: order(one(message), other(message))


def _membership(node: ast.expr, left: Term, right: Term, *, wanted: bool) -> Value:
    holder = right.kind
    inside = {"list": holder.element, "map": holder.key, "str": STR, "bytes": BYTES}.get(holder.name)
    if inside is None:
        raise Mistake(node, f"nothing can be in {holder}")
    if left.kind.name == "enum" and right.literal is not None:
        numbers = [_named(node, _constant(each), left).literal for each in right.literal]
        right = Term(Kind("list", element=left.kind), lambda _: numbers)
        inside = left.kind
    if inside is not NULL and not _comparable(inside, left):
        raise Mistake(node, f"{left.kind} cannot be in {holder}")
    one, other = left.value, right.value
    return lambda message: (one(message) in other(message)) is wanted


def _named(node: ast.expr, found: Term, beside: Term) -> Term:
    """The name of an enum's value, beside such an enum, as its number."""
    if beside.kind.name != "enum" or not isinstance(found.literal, str):
        return found
    values = beside.kind.type.values_by_name
    if found.literal not in values:
        near = get_close_matches(found.literal.upper(), values, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(list(values)[:10])}"
        raise Mistake(node, f"{beside.kind.type.full_name} has no value {found.literal!r}; {meant}")
    number = values[found.literal].number
    return Term(beside.kind, lambda _: number, number)


def _comparable(kind: Kind, other: Term) -> bool:
    if kind.name in ("message", "map", "null") or other.kind.name in ("message", "map", "null"):
        return False
    if kind.name == "list" and other.kind.name == "list":
        return True
    numbers = {each.name for each in NUMBERS} | {"enum"}
    return kind.name == other.kind.name or {kind.name, other.kind.name} <= numbers


def _advice(left: Term, right: Term) -> str:
    return " (ask has(resp.field))" if NULL in (left.kind, right.kind) else ""


_BUILDERS: Final[Mapping[type, Callable[[Any, Any], Term]]] = {
    ast.Name: _name,
    ast.Constant: _literal,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BoolOp: _both,
    ast.UnaryOp: _unary,
    ast.BinOp: _sum,
    ast.Compare: _compare,
}
