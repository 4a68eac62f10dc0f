"""A message as JSON to be filled in: every field once, with a value of its kind.

Of a oneof there is its first field, of what is repeated and of a map one entry. A message inside itself has the fields
that it requires, and nothing else; a field whose type nobody describes is left out. What is made is a request that can
be sent as it is, unless a message requires itself: then there is none.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from math import isinf, isnan
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lbctl.rpc.schemas.schema import is_placeholder

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
# How many messages there may be inside each other, all different: the first of these that is not too much.
_DEPTHS: Final = (32, 16, 8, 6, 5, 4, 3, 2, 1)
_MOST_FIELDS: Final = 3000  # that anybody would fill in

Outer = tuple[str, ...]


class _TooMuch(Exception):
    """There are more fields than anybody would fill in."""


class _Endless(Exception):
    """A message requires itself."""


def template(message: Descriptor) -> Any:  # noqa: ANN401 - JSON
    """Return a message as JSON data, in the form that protobuf's JSON mapping reads."""
    for depth in _DEPTHS:
        try:
            return _Template(depth).message(message, ())
        except _TooMuch:
            continue
    return _least(message, ())


class _Template:
    """Writes messages down to a depth; below it, and where one is inside itself, only what they require."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._fields = 0

    def message(self, message: Descriptor, outer: Outer) -> Any:  # noqa: ANN401 - JSON
        """A message inside the ``outer`` ones, by full name; raises _TooMuch, or _Endless where there is none."""
        if message.full_name.startswith(_OF_PROTOBUF):
            name = message.full_name.removeprefix(_OF_PROTOBUF)
            if name in _OWN_FORM:
                return _OWN_FORM[name]
        if message.full_name in outer or len(outer) >= self._depth:
            return _least(message, ())
        inside = (*outer, message.full_name)
        return dict(self._values(message, inside))

    def _values(self, message: Descriptor, inside: Outer) -> Iterator[tuple[str, Any]]:
        for field in _chosen(message):
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise _TooMuch
            try:
                yield field.json_name, self._value(field, inside)
            except _Endless:
                if field.is_required and len(inside) > 1:
                    raise
                if field.is_required:
                    yield field.json_name, {}

    def _value(self, field: FieldDescriptor, outer: Outer) -> Any:  # noqa: ANN401 - JSON
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
            if _recurs(value, outer) or not _is_described(value):
                return {}
            return {_KEYS.get(key.cpp_type, "0"): self._single(value, outer)}
        if field.is_repeated:
            return [] if _recurs(field, outer) else [self._single(field, outer)]
        return self._single(field, outer)

    def _single(self, field: FieldDescriptor, outer: Outer) -> Any:  # noqa: ANN401 - JSON
        return _scalar(field) if field.message_type is None else self.message(field.message_type, outer)


def _least(message: Descriptor, outer: Outer) -> Any:  # noqa: ANN401 - JSON
    """A message with what it requires; raises _Endless where that is itself."""
    if message.full_name.removeprefix(_OF_PROTOBUF) in _OWN_FORM and message.full_name.startswith(_OF_PROTOBUF):
        return _OWN_FORM[message.full_name.removeprefix(_OF_PROTOBUF)]
    if message.full_name in outer:
        raise _Endless
    inside = (*outer, message.full_name)
    required = [field for field in message.fields if field.is_required]
    return {
        field.json_name: _scalar(field) if field.message_type is None else _least(field.message_type, inside)
        for field in required
    }


def _chosen(message: Descriptor) -> Iterator[FieldDescriptor]:
    """The fields to fill in: those in no oneof, and the first of each that somebody describes."""
    seen: set[str] = set()
    for field in message.fields:
        oneof = field.containing_oneof
        if not _is_described(field) or (oneof is not None and oneof.name in seen):
            continue
        if oneof is not None:
            seen.add(oneof.name)
        yield field


def _is_described(field: FieldDescriptor) -> bool:
    kind: Any = field.message_type or field.enum_type
    return kind is None or not is_placeholder(kind)


def _recurs(field: FieldDescriptor, outer: Outer) -> bool:
    return field.message_type is not None and field.message_type.full_name in outer


def _scalar(field: FieldDescriptor) -> Any:  # noqa: ANN401 - JSON
    """What proto2 says the field is where it is not given; else the zero of its kind."""
    if field.enum_type is not None:
        if field.enum_type.full_name == f"{_OF_PROTOBUF}NullValue":
            return None
        number: Any = field.default_value
        said = field.enum_type.values_by_number.get(number) if field.has_default_value else None
        return (said or field.enum_type.values[0]).name
    if not field.has_default_value:
        return _SCALARS[field.cpp_type]
    value: Any = field.default_value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float) and (isinf(value) or isnan(value)):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value) if field.cpp_type in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64) else value
