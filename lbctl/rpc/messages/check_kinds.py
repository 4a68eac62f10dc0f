"""The types that the terms of a check expression have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor


@dataclass(frozen=True, slots=True)
class Kind:
    """bool, int, float, str, bytes, null, enum, message, list or map.

    ``type`` is the descriptor of an enum or message, ``element`` what a list or map holds, ``key`` the keys of a map.
    """

    name: str
    type: Any = None
    element: Kind | None = None
    key: Kind | None = None

    def __str__(self) -> str:
        return str(self.type.full_name) if self.type is not None else self.name


BOOL: Final = Kind("bool")
INT: Final = Kind("int")
FLOAT: Final = Kind("float")
STR: Final = Kind("str")
BYTES: Final = Kind("bytes")
NULL: Final = Kind("null")
NUMBERS: Final = frozenset({INT, FLOAT})

_SCALARS: Final = {
    FieldDescriptor.CPPTYPE_BOOL: BOOL,
    FieldDescriptor.CPPTYPE_FLOAT: FLOAT,
    FieldDescriptor.CPPTYPE_DOUBLE: FLOAT,
    FieldDescriptor.CPPTYPE_INT32: INT,
    FieldDescriptor.CPPTYPE_INT64: INT,
    FieldDescriptor.CPPTYPE_UINT32: INT,
    FieldDescriptor.CPPTYPE_UINT64: INT,
}


def message_kind(descriptor: Any) -> Kind:  # noqa: ANN401 - protobuf's descriptors have no stable type
    """The type of a message."""
    return Kind("message", descriptor)


def kind_of(field: Any) -> Kind:  # noqa: ANN401
    """The type of a field."""
    if not field.is_repeated:
        return _single(field)
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        return Kind("map", element=_single(entry.fields_by_name["value"]), key=_single(entry.fields_by_name["key"]))
    return Kind("list", element=_single(field))


def field_of(descriptor: Any, name: str) -> Any:  # noqa: ANN401
    """The field of that name, or of that name in JSON; None if there is none."""
    known = descriptor.fields_by_name.get(name)
    return known or next((field for field in descriptor.fields if field.json_name == name), None)


def _single(field: Any) -> Kind:  # noqa: ANN401
    if field.message_type is not None:
        return message_kind(field.message_type)
    if field.enum_type is not None:
        return Kind("enum", field.enum_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return BYTES
    return _SCALARS.get(field.cpp_type, STR)
