"""Whether a value of JSON fits one of protobuf's own messages that stand for a value: times, masks, free-form JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2
from google.protobuf.message import Message

from lbctl.rpc.messages.kinds import PROTOBUF
from lbctl.rpc.messages.mistake import Mistake, named, wrong
from lbctl.rpc.messages.scalars import TEXT, is_text

MAX_DEPTH: Final = 100  # of messages in messages, as protobuf has it
TIME: Final = 'a time such as "2026-01-02T03:04:05Z"'
SECONDS: Final = 'seconds such as "1.5s"'
PATHS: Final = 'paths in lowerCamelCase such as "user.displayName,id"'
JSON: Final = "any JSON value without NaN and Infinity"

_TIME: Final = re.compile(r"(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?", re.ASCII)
_SECONDS: Final = re.compile(r"-?(\d+)(?:\.(\d+))?(s?)", re.ASCII)
_DIGITS: Final = 9
_MOST_SECONDS: Final = 315_576_000_000


def too_deep(path: str) -> Mistake:
    """The mistake of messages in messages without end."""
    return Mistake(f"{named(path[:40] + '…')} is nested too deeply")


def _time(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401  # whatever JSON holds
    parts = _TIME.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise wrong(path, TIME, value)
    if parts[3] is None:
        raise wrong(path, f'{TIME} or "…+02:00": with its zone', value)
    _require_digits(parts[2], path, TIME, value)
    if not _parses(timestamp_pb2.Timestamp(), value):
        raise wrong(path, f"{TIME}, a moment that there is in the years 1 to 9999", value)
    return value


def _seconds(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401
    parts = _SECONDS.fullmatch(value) if isinstance(value, str) else None
    if parts is None or not parts[3]:
        raise wrong(path, SECONDS, value)
    _require_digits(parts[2], path, SECONDS, value)
    if len(parts[1]) > 20 or not _parses(duration_pb2.Duration(), value):
        raise wrong(path, f"{SECONDS}, from -{_MOST_SECONDS}s to {_MOST_SECONDS}s", value)
    return value


def _require_digits(fraction: str | None, path: str, expected: str, value: object) -> None:
    if fraction is not None and len(fraction) > _DIGITS:
        raise wrong(path, f"{expected}, with at most {_DIGITS} digits behind the point", value)


def _paths(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401
    if not isinstance(value, str) or not _parses(field_mask_pb2.FieldMask(), value):
        raise wrong(path, PATHS, value)
    return value


def _parses(message: Any, value: str) -> bool:  # noqa: ANN401  # of a type that has a JSON form of its own
    try:
        message.FromJsonString(value)
    except (ValueError, OverflowError):
        return False
    return isinstance(message, Message)


def _object(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        raise wrong(path, "an object", value)
    for key in value:
        if not is_text(key):
            raise Mistake(f"the key {key!a} of {named(path)} must be {TEXT}")
    return {key: _anything(item, f"{path}.{key}" if path else key, depth + 1) for key, item in value.items()}


def _list(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401
    if not isinstance(value, list):
        raise wrong(path, "a list", value)
    return [_anything(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]


def _anything(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401
    if depth > MAX_DEPTH:
        raise too_deep(path)
    if isinstance(value, dict):
        return _object(value, path, depth + 1)
    if isinstance(value, list):
        return _list(value, path, depth + 1)
    if isinstance(value, str) and not is_text(value):
        raise wrong(path, TEXT, value)
    if isinstance(value, float) and not isfinite(value):
        raise wrong(path, JSON, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _as_double(value, path)
    return value


def _as_double(value: int, path: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise wrong(path, "a number that fits a double", value) from None


# By full name: the value as protobuf's parser takes it, or Mistake.
FITS: Final[Mapping[str, Callable[[Any, str, int], Any]]] = {
    f"{PROTOBUF}Timestamp": _time,
    f"{PROTOBUF}Duration": _seconds,
    f"{PROTOBUF}FieldMask": _paths,
    f"{PROTOBUF}Struct": _object,
    f"{PROTOBUF}ListValue": _list,
    f"{PROTOBUF}Value": _anything,
}
