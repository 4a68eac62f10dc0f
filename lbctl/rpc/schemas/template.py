"""A message as JSON to be filled in: every field once, with a value of its kind.

Of a oneof there is its first field, of what is repeated and of a map one entry. A message inside itself is left empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

_OF_PROTOBUF: Final = "google.protobuf."
# What protobuf's JSON mapping writes for messages that have a form of their own.
_OWN_FORM: Final[Mapping[str, Any]] = {
    "Any": {"@type": "type.googleapis.com/google.protobuf.Empty"},
    "Duration": "0s",
    "Timestamp": "1970-01-01T00:00:00Z",
    "FieldMask": "",
    "Struct": {},
    "ListValue": [],
    "Value": None,
    "Empty": {},
    "BoolValue": False,
    "BytesValue": "",
    "DoubleValue": 0.0,
    "FloatValue": 0.0,
    "Int32Value": 0,
    "Int64Value": "0",
    "StringValue": "",
    "UInt32Value": 0,
    "UInt64Value": "0",
}
_SCALARS: Final[Mapping[int, Any]] = {
    FieldDescriptor.CPPTYPE_BOOL: False,
    FieldDescriptor.CPPTYPE_DOUBLE: 0.0,
    FieldDescriptor.CPPTYPE_FLOAT: 0.0,
    FieldDescriptor.CPPTYPE_INT32: 0,
    FieldDescriptor.CPPTYPE_INT64: "0",
    FieldDescriptor.CPPTYPE_STRING: "",  # bytes are base64, and empty ones nothing
    FieldDescriptor.CPPTYPE_UINT32: 0,
    FieldDescriptor.CPPTYPE_UINT64: "0",
}
# Keys of maps are strings in JSON.
_KEYS: Final[Mapping[int, str]] = {
    FieldDescriptor.CPPTYPE_BOOL: "false",
    FieldDescriptor.CPPTYPE_STRING: "key",
}
_MOST_DEEP: Final = 32  # messages inside each other, all different


def template(message: Descriptor, outer: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON
    """Return a message as JSON data, in the form that protobuf's JSON mapping reads; ``outer`` are those around it."""
    if message.full_name.startswith(_OF_PROTOBUF):
        name = message.full_name.removeprefix(_OF_PROTOBUF)
        if name in _OWN_FORM:
            return _OWN_FORM[name]
    inside = (*outer, message.full_name)
    if message.full_name in outer or len(outer) >= _MOST_DEEP:
        return {}
    return {_json_name(field): _value(field, inside) for field in message.fields if _is_first(field)}


def _is_first(field: FieldDescriptor) -> bool:
    """Whether it is the field that stands for its oneof, or is in none."""
    oneof = field.containing_oneof
    return oneof is None or oneof.fields[0].number == field.number


def _json_name(field: FieldDescriptor) -> str:
    name: str = field.json_name
    return name or field.name


def _value(field: FieldDescriptor, outer: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
        if _recurs(value, outer):
            return {}
        return {_KEYS.get(key.cpp_type, "0"): _single(value, outer)}
    if field.is_repeated:
        return [] if _recurs(field, outer) else [_single(field, outer)]
    return _single(field, outer)


def _recurs(field: FieldDescriptor, outer: tuple[str, ...]) -> bool:
    return field.message_type is not None and field.message_type.full_name in outer


def _single(field: FieldDescriptor, outer: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    if field.message_type is not None:
        return template(field.message_type, outer)
    if field.enum_type is not None:
        if field.enum_type.full_name == f"{_OF_PROTOBUF}NullValue":
            return None
        return field.enum_type.values[0].name
    return field.default_value if _says(field) else _SCALARS[field.cpp_type]


def _says(field: FieldDescriptor) -> bool:
    """Whether proto2 says what the field is where it is not given, in a form that JSON has as well."""
    return bool(field.has_default_value) and field.cpp_type in (
        FieldDescriptor.CPPTYPE_BOOL,
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_UINT32,
    )
