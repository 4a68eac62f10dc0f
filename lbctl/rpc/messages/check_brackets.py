"""What names in brackets stand for in a check: an extension of a message, or what an Any holds, by its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from lbctl.rpc.messages.check_kinds import Kind, OtherType, kind_of, message_kind
from lbctl.rpc.messages.kinds import ANY, contents, find_type, type_name


class Bracketed(NamedTuple):
    """The type of what is meant, and how it is got out of a message; ``present`` is None where it is always there."""

    kind: Kind
    value: Callable[[Any], Any]
    present: Callable[[Any], bool] | None


def bracketed(kind: Descriptor, name: str) -> Bracketed:
    """What ``"[pkg.name]"`` is in a message of that kind; raises LookupError with what is wrong."""
    inner = name.removeprefix("[").removesuffix("]")
    return _contents(kind, inner) if kind.full_name == ANY else _extension(kind, inner)


def _contents(kind: Descriptor, name: str) -> Bracketed:
    pool = kind.file.pool
    wanted = type_name(name)
    found = find_type(pool, wanted)
    if found is None:
        raise LookupError(f"nobody describes {wanted}")

    def holds(message: Any) -> bool:  # noqa: ANN401  # an Any
        return type_name(message.type_url) == wanted and contents(message, pool) is not None

    def value(message: Any) -> Message:  # noqa: ANN401
        inner = contents(message, pool) if type_name(message.type_url) == wanted else None
        if inner is None:
            raise OtherType(f"no {wanted} in the Any")
        return inner

    return Bracketed(message_kind(found), value, holds)


def _extension(kind: Descriptor, name: str) -> Bracketed:
    try:
        field = kind.file.pool.FindExtensionByName(name)
    except KeyError:
        raise LookupError(f"nobody describes an extension [{name}]") from None
    extended = field.containing_type
    if extended is not None and extended.full_name != kind.full_name:
        raise LookupError(f"[{name}] extends {extended.full_name}, not {kind.full_name}")
    present = None if field.is_repeated else lambda message: bool(message.HasExtension(field))
    return Bracketed(kind_of(field), lambda message: message.Extensions[field], present)
