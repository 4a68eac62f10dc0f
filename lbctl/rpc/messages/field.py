"""One field of a request message, by its path, as text."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import UsageError


def text_at(kind: Descriptor, message: bytes, path: str, *, option: str) -> bytes:
    """The value at ``user.id`` in this message; names as in the .proto file or as in JSON.

    Raises UsageError, which calls the path ``option``, for a field that does not exist, is not set or has no single
    value. A field that cannot be unset has the value it has for its reader: 0, "" or false.
    """
    try:
        value: Any = GetMessageClass(kind).FromString(message)
    except DecodeError as error:
        raise UsageError(f"{option}: the request is not a {kind.full_name} message") from error
    *parents, last = path.split(".")
    for step in parents:
        field = _field(value.DESCRIPTOR, step, option)
        if field.message_type is None or field.is_repeated:
            raise UsageError(f"{option}: {step} is not a single message, so there is no field in it")
        value = _value(value, field, option)
    field = _field(value.DESCRIPTOR, last, option)
    if field.message_type is not None or field.is_repeated:
        what = "a list or map" if field.is_repeated else "a message"
        raise UsageError(f"{option}: {last} is not a single value but {what}")
    return _text(_value(value, field, option), field)


def _field(kind: Descriptor, name: str, option: str) -> FieldDescriptor:
    for field in kind.fields:
        if name in (field.name, field.json_name):
            return field
    names = [field.name for field in kind.fields]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names[:10]) or 'none'}"
    raise UsageError(f"{option}: {kind.full_name} has no field {name!r}", hint)


def _value(message: Any, field: FieldDescriptor, option: str) -> Any:  # noqa: ANN401 - of any type of protobuf
    if field.has_presence and not message.HasField(field.name):
        raise UsageError(f"{option}: {field.name} is not set in the request", "set it in -d")
    return getattr(message, field.name)


def _text(value: Any, field: FieldDescriptor) -> bytes:  # noqa: ANN401 - of any type of protobuf
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if field.enum_type is not None:
        found = field.enum_type.values_by_number.get(value)
        return str(value if found is None else found.name).encode()
    return str(value).encode()
