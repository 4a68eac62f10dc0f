"""Messages as JSON by protobuf's own mapping; what that has no words for is shown all the same, with the reason."""

from __future__ import annotations

from base64 import b64encode
from math import isnan
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message

from lbctl.rpc.messages.kinds import ANY, contents, entries, find_type, is_map, is_special, type_name
from lbctl.rpc.messages.ordering import in_order

NOT_TEXT: Final = "the octets are no UTF-8"
# What the mapping raises: types that the pool does not have, contents that are none, times that no calendar has.
_TROUBLE: Final = (json_format.Error, DecodeError, TypeError, ValueError, AttributeError, KeyError, OverflowError)


def shown(message: Message, *, defaults: bool = False) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Show a message; with ``defaults`` also the fields of which nobody can tell whether they are set.

    An Any that cannot be decoded is ``{"@type", "@error", "@value"}``, the last in base64. Text that is not UTF-8 is
    ``{"@error", "@value"}``, and a map with such a key a list of ``{"key", "value"}``. A message of protobuf's own
    whose value has no form in JSON, such as a Timestamp of the year 10000, is ``{"@error"}`` and its fields. Maps are
    in the order of their keys. Raises RecursionError.
    """
    kind: Any = message.DESCRIPTOR
    return in_order(_shown(message, defaults=defaults), kind)


def _shown(message: Message, *, defaults: bool) -> Any:  # noqa: ANN401
    kind: Any = message.DESCRIPTOR
    pool = kind.file.pool
    if has_octets_for_text(message):
        return (
            _any(message, pool, defaults=defaults) if kind.full_name == ANY else _in_parts(message, defaults=defaults)
        )
    try:
        return json_format.MessageToDict(message, descriptor_pool=pool, always_print_fields_with_no_presence=defaults)
    except _TROUBLE as error:
        if kind.full_name == ANY:
            return _any(message, pool, defaults=defaults)
        if is_special(kind):
            return _value(message, error)
        return _in_parts(message, defaults=defaults)


def has_octets_for_text(message: Any) -> bool:  # noqa: ANN401  # of any type of protobuf
    """Tell whether text that is not UTF-8 is in a message, as proto2 has it, or in what an Any of it holds."""
    kind = message.DESCRIPTOR
    if kind.full_name == ANY:
        inner = contents(message, kind.file.pool)
        return inner is not None and has_octets_for_text(inner)
    return any(_in_octets(message, field, value) for field, value in message.ListFields())


def _in_octets(message: Any, field: FieldDescriptor, value: Any) -> bool:  # noqa: ANN401
    if is_map(field):
        return any(_is_odd(key) or _is_odd(held, _held(field)) for key, held in entries(message, field))
    if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_GROUP):
        return False
    return any(_is_odd(item, field) for item in (value if field.is_repeated else (value,)))


def _is_odd(value: Any, field: FieldDescriptor | None = None) -> bool:  # noqa: ANN401
    """Whether a key, or the value of a field, is text that is not UTF-8, or has such in it."""
    if isinstance(value, Message):
        return has_octets_for_text(value)
    return isinstance(value, bytes) and (field is None or field.type == FieldDescriptor.TYPE_STRING)


def _held(field: FieldDescriptor) -> FieldDescriptor:
    """The field of a map's values."""
    assert field.message_type is not None
    return field.message_type.fields_by_name["value"]


def _in_parts(message: Any, *, defaults: bool) -> dict[str, Any]:  # noqa: ANN401  # of any type of protobuf
    """Show what is not a message by the mapping, and every message, and text in octets, on its own."""
    scalars = type(message)()
    scalars.CopyFrom(message)
    parts = {}
    for field, value in message.ListFields():
        if _holds_messages(field) or _in_octets(message, field, value):
            parts[_name(field)] = _field(message, field, value, defaults=defaults)
            scalars.ClearExtension(field) if field.is_extension else scalars.ClearField(field.name)
    rest = json_format.MessageToDict(scalars, always_print_fields_with_no_presence=defaults)
    order = [_name(field) for field, _ in message.ListFields()]
    return {name: parts[name] if name in parts else rest[name] for name in dict.fromkeys([*order, *rest])}


def _name(field: FieldDescriptor) -> str:
    return f"[{field.full_name}]" if field.is_extension else str(field.json_name)


def _holds_messages(field: FieldDescriptor) -> bool:
    if field.message_type is None:
        return False
    return not is_map(field) or _held(field).message_type is not None


def _field(message: Any, field: FieldDescriptor, value: Any, *, defaults: bool) -> Any:  # noqa: ANN401
    if is_map(field):
        found = [(key, _item(held, defaults=defaults)) for key, held in entries(message, field)]
        if any(isinstance(key, bytes) for key, _ in found):
            return [{"key": _item(key, defaults=defaults), "value": held} for key, held in found]
        return {_key(key): held for key, held in found}
    if field.is_repeated:
        return [_item(item, defaults=defaults) for item in value]
    return _item(value, defaults=defaults)


def _item(value: Any, *, defaults: bool) -> Any:  # noqa: ANN401
    if isinstance(value, Message):
        return _shown(value, defaults=defaults)
    return {"@error": NOT_TEXT, "@value": b64encode(value).decode()} if isinstance(value, bytes) else value


def _key(key: Any) -> str:  # noqa: ANN401
    return str(key).lower() if isinstance(key, bool) else str(key)


def _any(message: Any, pool: DescriptorPool, *, defaults: bool) -> dict[str, Any]:  # noqa: ANN401
    """Show an Any of an unknown type, or one that holds something that cannot be shown."""
    url = message.type_url
    inner = contents(message, pool)
    if inner is None:
        name = type_name(url)
        known = find_type(pool, name) is not None
        reason = f"the octets are no {name}" if known else f"nobody describes {name}" if name else "no type is named"
        return {"@type": url, "@error": reason, "@value": b64encode(message.value).decode()}
    kind: Any = inner.DESCRIPTOR
    found = _shown(inner, defaults=defaults)
    return {"@type": url, "value": found} if is_special(kind) else {"@type": url, **found}


def _value(message: Any, error: Exception) -> Any:  # noqa: ANN401
    """Show a message of protobuf's own whose value has no form in JSON."""
    name = message.DESCRIPTOR.name
    if name == "Struct":
        return {key: _shown(item, defaults=False) for key, item in message.fields.items()}
    if name == "ListValue":
        return [_shown(item, defaults=False) for item in message.values]
    if name == "Value" and message.WhichOneof("kind") != "number_value":
        return _shown(getattr(message, message.WhichOneof("kind")), defaults=False)
    if name == "Value":
        return "NaN" if isnan(message.number_value) else "Infinity" if message.number_value > 0 else "-Infinity"
    reason = " ".join(ascii(str(error).rstrip("."))[1:-1].split())
    fields = {field.json_name: value for field, value in message.ListFields()}
    return {"@error": reason} | {
        name: list(value) if name == "paths" else str(value) if name == "seconds" else value
        for name, value in fields.items()
    }
