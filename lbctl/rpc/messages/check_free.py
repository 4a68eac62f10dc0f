"""Parts of free-form JSON in a check: of Struct, ListValue and Value, by name or by index."""

from __future__ import annotations

from typing import Any

from lbctl.rpc.messages.check_kinds import Kind, OtherType, Term, message_kind
from lbctl.rpc.messages.kinds import FREE_FORM, PROTOBUF

_VALUE = f"{PROTOBUF}Value"


def is_free_part(kind: Kind, at: object) -> bool:
    """Whether what stands in brackets behind a term of that type is a part of its JSON, and not one of its fields."""
    if kind.name != "message" or kind.type.full_name not in FREE_FORM:
        return False
    return type(at) is int or (isinstance(at, str) and at not in kind.type.fields_by_name and not at.startswith("["))


def free_part(of: Term, at: Any) -> Term:  # noqa: ANN401  # text or a whole number
    """The part of that name, or at that place; whether it is there can be told."""
    whole = of.value

    def value(message: Any) -> Any:  # noqa: ANN401
        parts = _parts(whole(message), at)
        if isinstance(at, str) and at not in parts:
            raise KeyError(at)
        return parts[at]

    def present(message: Any) -> bool:  # noqa: ANN401
        try:
            value(message)
        except LookupError:
            return False
        return True

    return Term(message_kind(_value_type(of.kind)), value, present=present)


def _parts(message: Any, at: object) -> Any:  # noqa: ANN401
    """The members of an object, or the items of a list, whichever is asked for."""
    wanted = "Struct" if isinstance(at, str) else "ListValue"
    if message.DESCRIPTOR.full_name == _VALUE:
        holder = "struct_value" if isinstance(at, str) else "list_value"
        if message.WhichOneof("kind") != holder:
            raise OtherType(f"no {wanted} in the Value")
        message = getattr(message, holder)
    if message.DESCRIPTOR.name != wanted:
        raise OtherType(f"no {wanted} but a {message.DESCRIPTOR.name}")
    return message.fields if isinstance(at, str) else message.values


def _value_type(kind: Kind) -> Any:  # noqa: ANN401
    if kind.type.full_name == _VALUE:
        return kind.type
    holder = kind.type.fields_by_name["fields" if kind.type.name == "Struct" else "values"].message_type
    return holder.fields_by_name["value"].message_type if kind.type.name == "Struct" else holder
