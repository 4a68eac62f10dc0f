"""The terms of a check expression: each knows its type, and how to get its value out of a decoded message."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from lbctl.rpc.messages.check_brackets import bracketed
from lbctl.rpc.messages.check_free import free_part, is_free_part
from lbctl.rpc.messages.check_kinds import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    LITERALS,
    NULL,
    NUMBERS,
    STR,
    Kind,
    Mistake,
    Term,
    Value,
    as_shown,
    constant,
    field_of,
    kind_of,
    message_kind,
)
from lbctl.rpc.messages.check_pairs import beside, comparable, paired
from lbctl.rpc.messages.mistake import one_of

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
        return constant(_NAMES[node.id])
    raise Mistake(node, f"unknown name {node.id!r} (the reply is resp; text needs quotes)")


def _literal(node: ast.Constant, root: Any) -> Term:  # noqa: ANN401
    if type(node.value) not in LITERALS:
        raise Mistake(node, f"{node.value!r} is nothing a reply could hold")
    return constant(node.value)


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
        meant = (
            f"did you mean {near[0]!r}?" if near else f"it has {one_of(list(of.kind.type.fields_by_name)) or 'none'}"
        )
        raise Mistake(node, f"{of.kind} has no field {name!r}; {meant}")
    read, inner = operator.attrgetter(field.name), of.value
    is_set: Value | None = None
    if field.has_presence:
        is_set = lambda message: inner(message).HasField(field.name)  # noqa: E731
    kind = kind_of(field)
    return Term(kind, as_shown(kind, lambda message: read(inner(message))), present=is_set)


def _in_brackets(node: ast.expr, of: Term, name: str) -> Term:
    try:
        kind, read, is_there = bracketed(of.kind.type, name)
    except LookupError as error:
        raise Mistake(node, error.args[0]) from None
    inner = of.value
    present = None if is_there is None else lambda message: is_there(inner(message))
    return Term(kind, as_shown(kind, lambda message: read(inner(message))), present=present)


def _subscript(node: ast.Subscript, root: Any) -> Term:  # noqa: ANN401
    of = term(node.value, root)
    if isinstance(node.slice, ast.Slice):
        raise Mistake(node.slice, "slices are not known, only one index")
    at = term(node.slice, root)
    if is_free_part(of.kind, at.literal):
        return free_part(of, at.literal)
    if of.kind.name == "message" and isinstance(at.literal, str):
        return _field(node, of, at.literal)  # resp["from"]: a field whose name is a word of the language
    if of.kind.name == "map":
        assert of.kind.key is not None
        if not comparable(of.kind.key, at.kind):
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

    return Term(of.kind.element, as_shown(of.kind.element, found))


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
    left, right = paired(node, left, right)
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
    if isinstance(right.literal, list) and None not in right.literal:
        pairs = [paired(node, left, constant(each)) for each in right.literal]
        return lambda message: any(one.value(message) == other.value(message) for one, other in pairs) is wanted
    inside = {"list": holder.element, "map": holder.key, "str": STR, "bytes": BYTES}.get(holder.name)
    if inside is None:
        raise Mistake(node, f"nothing can be in {holder}")
    left = beside(node, left, Term(inside, right.value))
    if inside is not NULL and not comparable(inside, left.kind):
        raise Mistake(node, f"{left.kind} cannot be in {holder}")
    one, other = left.value, right.value
    return lambda message: (one(message) in other(message)) is wanted


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
