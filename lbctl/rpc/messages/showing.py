"""Messages as JSON by protobuf's own mapping; what that has no words for is shown all the same, with the reason."""

from __future__ import annotations

from base64 import b64encode
from math import isnan
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message

from lbctl.rpc.messages.kinds import ANY, contents, find_type, is_map, is_special, type_name

# What the mapping raises: types that the pool does not have, contents that are none, times that no calendar has.
_TROUBLE: Final = (json_format.Error, DecodeError, TypeError, ValueError, AttributeError, KeyError, OverflowError)


def shown(message: Message, *, defaults: bool = False) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Show a message; with ``defaults`` also the fields of which nobody can tell whether they are set.

    An Any that cannot be decoded is ``{"@type", "@error", "@value"}``, the last in base64. A message of protobuf's
    own whose value has no form in JSON, such as a Timestamp of the year 10000, is ``{"@error"}`` and its fields.
    Raises RecursionError.
    """
    kind: Any = message.DESCRIPTOR
    pool = kind.file.pool
    try:
        return json_format.MessageToDict(message, descriptor_pool=pool, always_print_fields_with_no_presence=defaults)
    except _TROUBLE as error:
        if kind.full_name == ANY:
            return _any(message, pool, defaults=defaults)
        if is_special(kind):
            return _value(message, error)
        return _in_parts(message, defaults=defaults)


def _in_parts(message: Any, *, defaults: bool) -> dict[str, Any]:  # noqa: ANN401  # of any type of protobuf
    """Show what is not a message by the mapping, and every message in it on its own."""
    scalars = type(message)()
    scalars.CopyFrom(message)
    parts = {}
    for field, value in message.ListFields():
        if _holds_messages(field):
            parts[_name(field)] = _field(field, value, defaults=defaults)
            scalars.ClearExtension(field) if field.is_extension else scalars.ClearField(field.name)
    rest = json_format.MessageToDict(scalars, always_print_fields_with_no_presence=defaults)
    order = [_name(field) for field, _ in message.ListFields()]
    return {name: parts[name] if name in parts else rest[name] for name in dict.fromkeys([*order, *rest])}


def _name(field: FieldDescriptor) -> str:
    return f"[{field.full_name}]" if field.is_extension else str(field.json_name)


def _holds_messages(field: FieldDescriptor) -> bool:
    if field.message_type is None:
        return False
    return not is_map(field) or field.message_type.fields_by_name["value"].message_type is not None


def _field(field: FieldDescriptor, value: Any, *, defaults: bool) -> Any:  # noqa: ANN401
    if is_map(field):
        return {_key(key): shown(value[key], defaults=defaults) for key in value}
    if field.is_repeated:
        return [shown(item, defaults=defaults) for item in value]
    return shown(value, defaults=defaults)


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
    found = shown(inner, defaults=defaults)
    return {"@type": url, "value": found} if is_special(kind) else {"@type": url, **found}


def _value(message: Any, error: Exception) -> Any:  # noqa: ANN401
    """Show a message of protobuf's own whose value has no form in JSON."""
    name = message.DESCRIPTOR.name
    if name == "Struct":
        return {key: shown(item) for key, item in message.fields.items()}
    if name == "ListValue":
        return [shown(item) for item in message.values]
    if name == "Value" and message.WhichOneof("kind") != "number_value":
        return shown(getattr(message, message.WhichOneof("kind")))
    if name == "Value":
        return "NaN" if isnan(message.number_value) else "Infinity" if message.number_value > 0 else "-Infinity"
    reason = " ".join(ascii(str(error).rstrip("."))[1:-1].split())
    fields = {field.json_name: value for field, value in message.ListFields()}
    return {"@error": reason} | {
        name: list(value) if name == "paths" else str(value) if name == "seconds" else value
        for name, value in fields.items()
    }
