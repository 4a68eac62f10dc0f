"""Texts that were percent-encoded, as forms and the queries of URLs are: ``a=1&b=x%2Fy``."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

from lbctl.discovery.flaws import Unusable

_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


def decoded(text: str) -> str:
    """Undo percent-encoding, or raise Unusable where it is broken; a plus is a space."""
    if _BROKEN.search(text):
        raise Unusable("bad_percent_encoding", "a % without two hexadecimal digits after it")
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise Unusable("bad_percent_encoding", "percent-encoded bytes that are not UTF-8") from None


def parameters(query: str) -> dict[str, str]:
    """Split a query that is decoded already; of two parameters with one name the last counts."""
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return {name: value for name, _, value in pairs}


def fields(query: str) -> dict[str, str | list[str]]:
    """Read an encoded query; a name that comes more than once has all its values."""
    found: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            found.setdefault(decoded(name), []).append(decoded(value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
