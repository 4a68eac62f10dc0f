"""JSON from strangers: bounded, without NaN, without half characters, and with a code for every refusal."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

from lbctl.discovery.flaws import Unusable

_MAX_DEPTH = 64
_MAX_DIGITS = 19


def loads(value: bytes) -> Any:  # noqa: ANN401 - JSON is what it is
    """Parse one JSON text, or raise Unusable."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Unusable("bad_encoding", "value is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise Unusable("not_json", "byte-order mark before the JSON")
    try:
        document = _DECODER.decode(text)
    except RecursionError:
        raise Unusable("too_deep", f"nested deeper than {_MAX_DEPTH}") from None
    except ValueError as error:
        raise Unusable("not_json", f"not JSON: {str(error)[:80]}") from None
    return _cleaned(document, 0) if _may_be_odd(text) else document


def _may_be_odd(text: str) -> bool:
    """Whether a text has so many brackets that it may be too deep, or escapes of the kind that half characters have."""
    return text.count("[") + text.count("{") > _MAX_DEPTH or "\\ud" in text or "\\uD" in text


def _cleaned(part: Any, depth: int) -> Any:  # noqa: ANN401
    """Copy a document with lone surrogates replaced: they cannot be printed or encoded."""
    if depth > _MAX_DEPTH:
        raise Unusable("too_deep", f"nested deeper than {_MAX_DEPTH}")
    if isinstance(part, str):
        return part.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _has_surrogate(part) else part
    if isinstance(part, list):
        return [_cleaned(item, depth + 1) for item in part]
    if isinstance(part, dict):
        return {_cleaned(name, depth): _cleaned(item, depth + 1) for name, item in part.items()}
    return part


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _int(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise Unusable("wrong_type", f"a number of more than {_MAX_DIGITS} digits")
    return int(digits)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Unusable("wrong_type", "a number too large for any type")
    return number


def _constant(name: str) -> NoReturn:
    raise Unusable("not_json", f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=_constant)
