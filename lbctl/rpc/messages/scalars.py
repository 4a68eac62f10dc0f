"""Whether a value of JSON fits a field that is no message: the numbers, text, octets and names that it may be."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from lbctl.rpc.messages.mistake import Mistake, nearest, one_of, wrong

F: Final = FieldDescriptor

SIGNED_32: Final = (-(2**31), 2**31 - 1)
SIGNED_64: Final = (-(2**63), 2**63 - 1)
UNSIGNED_32: Final = (0, 2**32 - 1)
UNSIGNED_64: Final = (0, 2**64 - 1)
RANGES: Final = {
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), SIGNED_32),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), SIGNED_64),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), UNSIGNED_32),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), UNSIGNED_64),
}
FLOAT: Final = 'a number, or "NaN", "Infinity", "-Infinity"'
IN_RANGE: Final = 'a number from -3.4028235e38 to 3.4028235e38, or "NaN", "Infinity", "-Infinity"'
TEXT: Final = "a string"
BASE64: Final = "a string of base64"
BOOL: Final = "true or false"
FLOAT_MAX: Final = float.fromhex("0x1.fffffep+127")
FLOAT_END: Final = float.fromhex("0x1.ffffffp+127")  # from here on a float is rounded to infinity
ODD_FLOATS: Final = ("NaN", "Infinity", "-Infinity")

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_LONGEST: Final = 400  # characters of a number: one of more is no number that anybody means
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# The value as protobuf's parser takes it, or Mistake.
Fit = Callable[[Any, FieldDescriptor, str], Any]


def fit_scalar(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return a value as protobuf's parser takes it for a field; raises Mistake where it does not fit."""
    return _FITS[field.type](value, field, path)


def fit_key(key: str, field: FieldDescriptor, path: str) -> object:
    """Return what the key of a map stands for; raises Mistake."""
    if field.type == F.TYPE_BOOL:
        if key not in ("true", "false"):
            raise Mistake(f"the key of {path} must be {BOOL}")
        return key
    try:
        value = _FITS[field.type](key, field, path)
    except Mistake:
        expected = TEXT if field.type == F.TYPE_STRING else _integer_text(field)
        raise Mistake(f"the key of {path} must be {expected}") from None
    return value if field.type == F.TYPE_STRING else int(value)


def _integer(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    number = _whole(value)
    least, most = RANGES[field.type]
    if number is None or not least <= number <= most:
        raise wrong(path, _integer_text(field), value)
    return number


def _integer_text(field: FieldDescriptor) -> str:
    least, most = RANGES[field.type]
    return f"an integer from {least} to {most}"


def _whole(value: object) -> int | None:
    """The whole number that a value stands for, exactly; None for none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if len(value) > _LONGEST or not _NUMBER.fullmatch(value):
        return None
    exact = Decimal(value)
    if exact.adjusted() > 20:  # digits: no integer of protobuf has as many
        return None
    return int(exact) if exact == exact.to_integral_value() else None


def _float(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    if isinstance(value, str) and value in ODD_FLOATS:
        return value
    number = _real(value)
    if number is None:
        raise wrong(path, FLOAT, value)
    single = field.type == F.TYPE_FLOAT
    if not isfinite(number) or (single and abs(number) >= FLOAT_END):
        literal = isinstance(value, float) and not isfinite(value)  # NaN and Infinity without quotes, or 1e999
        raise wrong(path, IN_RANGE if single and not literal else FLOAT, value)
    # The largest float is written as a number that is a little larger, which protobuf's parser refuses.
    return max(-FLOAT_MAX, min(FLOAT_MAX, number)) if single else number


def _real(value: object) -> float | None:
    """The number that a value stands for; infinity where no float holds it; None for none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _bool(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    if not isinstance(value, bool):
        raise wrong(path, BOOL, value)
    return value


def is_text(value: object) -> bool:
    """Tell whether a value is text that can be encoded."""
    return isinstance(value, str) and _LONE_SURROGATE.search(value) is None


def _text(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    if not is_text(value):
        raise wrong(path, f"{TEXT} of whole characters" if isinstance(value, str) else TEXT, value)
    return value


def _octets(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    # protobuf's parser skips characters that are not base64, and so sends other octets than were meant.
    if not isinstance(value, str) or not _BASE64.fullmatch(value) or len(value.rstrip("=")) % 4 == 1:
        raise wrong(path, BASE64, value)
    return value


def octets(value: object, field: FieldDescriptor, path: str) -> bytes:
    """The octets that a value stands for in a field of bytes; raises Mistake where it does not fit."""
    bare: str = _octets(value, field, path).rstrip("=")
    return urlsafe_b64decode(bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % 4))


def _enum(value: Any, field: FieldDescriptor, path: str) -> Any:  # noqa: ANN401
    kind = field.enum_type
    assert kind is not None
    if isinstance(value, str) and value in kind.values_by_name:
        return value
    if value is None and kind.full_name == "google.protobuf.NullValue":
        return 0
    number = _whole(value)
    if number is None:
        hint = nearest(value, kind.values_by_name) if isinstance(value, str) else ""
        raise Mistake(f"{wrong(path, f'one of {one_of(list(kind.values_by_name))}', value)}{hint}")
    if kind.is_closed and number not in kind.values_by_number:
        known = [f"{each.name} ({each.number})" for each in kind.values]
        raise wrong(path, f"one of {one_of(known)}, since {kind.full_name} is closed", value)
    least, most = SIGNED_32
    if not least <= number <= most:
        raise wrong(path, f"one of {one_of(list(kind.values_by_name))} or a number from {least} to {most}", value)
    return number


_FITS: Final[Mapping[int, Fit]] = {
    **dict.fromkeys(RANGES, _integer),
    F.TYPE_FLOAT: _float,
    F.TYPE_DOUBLE: _float,
    F.TYPE_BOOL: _bool,
    F.TYPE_STRING: _text,
    F.TYPE_BYTES: _octets,
    F.TYPE_ENUM: _enum,
}
