"""Encoding of requests that are as their schema has them: a tenth of the time, and nothing of what JSON may be else.

What is plain here comes to the same octets as by ``message.encode_value``: fields by either of their names, each once;
text, whole numbers, numbers, true and false for fields of just that type, names of an enum, and lists and objects of
these. All else (null, numbers as text, base64, maps, times, ...) is left to the way that knows everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

F: Final = FieldDescriptor
INTEGERS: Final = frozenset(
    {
        *(F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32, F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64),
        *(F.TYPE_UINT32, F.TYPE_FIXED32, F.TYPE_UINT64, F.TYPE_FIXED64),
    }
)
_MOST: Final = 3.4e38  # of a float

Convert = Callable[[Any], Any]


class _Odd(Exception):
    """A value that is not plain."""


def encode_plain(kind: Descriptor, value: object) -> bytes | None:
    """The octets of a message, or None where it is not plain, or not right."""
    try:
        message: Any = GetMessageClass(kind)(**_arguments(kind, value))
        octets: bytes = message.SerializeToString(deterministic=True)
    except (_Odd, ValueError, TypeError, KeyError, EncodeError):
        return None
    return octets


def _arguments(kind: Descriptor, value: object) -> dict[str, Any]:
    if type(value) is not dict:
        raise _Odd
    fields = _fields(kind)
    found = {}
    for name, item in value.items():
        field, convert = fields[name]
        found[field] = convert(item)
    if len(found) < len(value):
        raise _Odd
    return found


@lru_cache(maxsize=256)
def _fields(kind: Descriptor) -> Mapping[str, tuple[str, Convert]]:
    """The plain fields by either name: what the constructor calls each, and how its value is looked at."""
    found: dict[str, tuple[str, Convert]] = {}
    if kind.full_name.startswith("google.protobuf."):
        return found
    for field in kind.fields:
        convert = None if field.containing_oneof is not None else _conversion(field)
        if convert is not None:
            found[field.name] = found[field.json_name] = field.name, _each(convert) if field.is_repeated else convert
    return found


def _conversion(field: FieldDescriptor) -> Convert | None:
    if field.type in INTEGERS:
        return _exactly(int)
    if field.type == F.TYPE_STRING:
        return _exactly(str)
    if field.type == F.TYPE_BOOL:
        return _exactly(bool)
    if field.type in (F.TYPE_DOUBLE, F.TYPE_FLOAT):
        return _number
    if field.enum_type is not None:
        return {value.name: value.number for value in field.enum_type.values}.__getitem__
    return _message(field.message_type) if field.message_type is not None and not _is_map(field) else None


def _exactly(kind: type) -> Convert:
    def convert(value: Any) -> Any:  # noqa: ANN401  # whatever JSON holds
        if type(value) is not kind:
            raise _Odd
        return value

    return convert


def _number(value: Any) -> Any:  # noqa: ANN401  # whatever JSON holds
    if type(value) not in (int, float) or not -_MOST < value < _MOST:
        raise _Odd
    return value


def _each(convert: Convert) -> Convert:
    def convert_all(value: Any) -> Any:  # noqa: ANN401  # whatever JSON holds
        if type(value) is not list:
            raise _Odd
        return [convert(item) for item in value]

    return convert_all


def _message(kind: Descriptor) -> Convert:
    def convert(value: Any) -> Any:  # noqa: ANN401  # whatever JSON holds
        if not value:  # what is set to nothing is another thing than what is not set
            raise _Odd
        return _arguments(kind, value)

    return convert


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
