"""Where a JSON value does not fit a message: protobuf decides whether, this says where and what was expected."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.schemas.schema import is_placeholder

MAX_SHOWN: Final = 40
MAX_DEPTH: Final = 100
MAX_NAMES: Final = 10
BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
F: Final = FieldDescriptor

SIGNED_32: Final = "an integer from -2147483648 to 2147483647"
SIGNED_64: Final = "an integer from -9223372036854775808 to 9223372036854775807"
UNSIGNED_32: Final = "an integer from 0 to 4294967295"
UNSIGNED_64: Final = "an integer from 0 to 18446744073709551615"
FLOAT: Final = 'a number, or "NaN", "Infinity", "-Infinity"'
EXPECTED: Final = {
    F.TYPE_INT32: SIGNED_32,
    F.TYPE_SINT32: SIGNED_32,
    F.TYPE_SFIXED32: SIGNED_32,
    F.TYPE_INT64: SIGNED_64,
    F.TYPE_SINT64: SIGNED_64,
    F.TYPE_SFIXED64: SIGNED_64,
    F.TYPE_UINT32: UNSIGNED_32,
    F.TYPE_FIXED32: UNSIGNED_32,
    F.TYPE_UINT64: UNSIGNED_64,
    F.TYPE_FIXED64: UNSIGNED_64,
    F.TYPE_FLOAT: FLOAT,
    F.TYPE_DOUBLE: FLOAT,
    F.TYPE_BOOL: "true or false",
    F.TYPE_STRING: "a string",
    F.TYPE_BYTES: "a string of base64",
}
# Messages whose JSON form is not an object of their fields.
SPECIAL: Final = {
    "Timestamp": 'a time such as "2026-01-02T03:04:05Z"',
    "Duration": 'seconds such as "1.5s"',
    "FieldMask": 'paths such as "user.name,id"',
    "Struct": "an object",
    "ListValue": "a list",
    "Value": "any JSON value without NaN",
    "Any": 'an object with "@type" naming a type of this service',
    "BoolValue": EXPECTED[F.TYPE_BOOL],
    "StringValue": EXPECTED[F.TYPE_STRING],
    "BytesValue": EXPECTED[F.TYPE_BYTES],
    "Int32Value": SIGNED_32,
    "Int64Value": SIGNED_64,
    "UInt32Value": UNSIGNED_32,
    "UInt64Value": UNSIGNED_64,
    "FloatValue": FLOAT,
    "DoubleValue": FLOAT,
}


def find_mistake(value: object, kind: Descriptor, path: str = "", depth: int = 0) -> str:
    """Say where a value does not fit a message type; empty where nothing is wrong that can be located."""
    if is_placeholder(kind):
        return f"{_named(path)} is a {kind.full_name}, which server reflection does not describe"
    if _is_special(kind):
        return "" if _fits(value, kind) else _wrong(path, SPECIAL[kind.name], value)
    if not isinstance(value, dict):
        return _wrong(path, f"an object of {kind.full_name}", value)
    if depth > MAX_DEPTH:
        return f"{_named(path[:MAX_SHOWN] + '…')} is nested too deeply"
    for name, item in value.items():
        mistake = _in_member(name, item, kind, path, depth)
        if mistake:
            return mistake
    return _conflict(value, kind)


def _in_member(name: str, value: object, kind: Descriptor, path: str, depth: int) -> str:
    field = _field(kind, name)
    if field is None:
        # An extension in brackets: left to protobuf.
        return "" if name.startswith("[") else _unknown(name, kind, path)
    return "" if value is None else _in_field(value, field, f"{path}.{name}" if path else name, depth)


def _in_field(value: object, field: FieldDescriptor, path: str, depth: int) -> str:
    if _is_map(field):
        return _in_map(value, field, path, depth)
    if not field.is_repeated:
        return _in_item(value, field, path, depth)
    if not isinstance(value, list):
        return _wrong(path, "a list", value)
    mistakes = (_in_item(item, field, f"{path}[{i}]", depth) for i, item in enumerate(value))
    return next(filter(None, mistakes), "")


def _in_map(value: object, field: FieldDescriptor, path: str, depth: int) -> str:
    if not isinstance(value, dict):
        return _wrong(path, "an object (a map)", value)
    entry = field.message_type
    assert entry is not None
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    for key, item in value.items():
        place = f"{path}[{_shown(key)}]"
        if not _is_key(key, key_field):
            return f"the key of {place} must be {_expected(key_field)}"
        mistake = _in_item(item, value_field, place, depth)
        if mistake:
            return mistake
    return ""


def _in_item(value: object, field: FieldDescriptor, path: str, depth: int) -> str:
    if field.message_type is not None:
        return find_mistake(value, field.message_type, path, depth + 1)
    return "" if _is_scalar(value, field) else _wrong(path, _expected(field), value)


def _is_scalar(value: object, field: FieldDescriptor) -> bool:
    if field.type == F.TYPE_BYTES:
        # protobuf skips characters that are not base64, and so sends other bytes than were meant.
        return isinstance(value, str) and BASE64.fullmatch(value) is not None and len(value.rstrip("=")) % 4 != 1
    if field.type == F.TYPE_ENUM and not isinstance(value, str | int):
        return False
    assert field.containing_type is not None
    return _fits({field.name: [value] if field.is_repeated else value}, field.containing_type)


def _is_key(key: str, field: FieldDescriptor) -> bool:
    if field.type == F.TYPE_BOOL:
        return key in ("true", "false")
    return _is_scalar(key, field)


def _fits(value: object, kind: Descriptor) -> bool:
    """Ask protobuf."""
    json_value: Any = value
    try:
        json_format.ParseDict(json_value, GetMessageClass(kind)(), descriptor_pool=kind.file.pool)
    except (json_format.ParseError, TypeError, ValueError, AttributeError, KeyError, RecursionError):
        return False
    return True


def _conflict(value: dict[str, object], kind: Descriptor) -> str:
    taken: dict[str, str] = {}
    for name in value:
        field = None if value[name] is None else _field(kind, name)
        if field is None:
            continue
        oneof = field.containing_oneof
        group = f"oneof {oneof.name}" if oneof is not None else field.name
        if group in taken:
            return f'{kind.full_name} takes only one of "{taken[group]}" and "{name}"'
        taken[group] = name
    return ""


def _unknown(name: str, kind: Descriptor, path: str) -> str:
    fields = [field.name for field in kind.fields]
    near = get_close_matches(name, [*fields, *(field.json_name for field in kind.fields)], n=1)
    place = f" (at {path})" if path else ""
    if near:
        return f'{kind.full_name} has no field {_shown(name)}{place}; did you mean "{near[0]}"?'
    return f"{kind.full_name} has no field {_shown(name)}{place}; it has {', '.join(fields[:MAX_NAMES]) or 'none'}"


def _wrong(path: str, expected: str, value: object) -> str:
    return f"{_named(path)} must be {expected}, not {_shown(value)}"


def _named(path: str) -> str:
    return f'field "{path}"' if path else "the request"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=not _is_printable(value))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _is_printable(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _expected(field: FieldDescriptor) -> str:
    if field.enum_type is None:
        return EXPECTED[field.type]
    names = [value.name for value in field.enum_type.values]
    more = ", …" if len(names) > MAX_NAMES else ""
    return f"one of {', '.join(names[:MAX_NAMES])}{more}"


def _is_special(kind: Descriptor) -> bool:
    """Tell whether protobuf's JSON mapping treats a message type as a value of its own."""
    return kind.name in SPECIAL and kind.full_name == f"google.protobuf.{kind.name}"


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _field(kind: Descriptor, name: str) -> FieldDescriptor | None:
    by_json_name = {field.json_name: field for field in kind.fields}
    return by_json_name.get(name) or kind.fields_by_name.get(name)
