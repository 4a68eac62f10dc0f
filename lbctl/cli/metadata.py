"""Metadata as people type it: ``-H 'name: value'`` and ``-m JSON``, checked before anything is sent.

Names are lower-cased, since HTTP/2 has no others. The value of a ``-bin`` name is base64, padded or not, several of
them joined by commas. No message here quotes a value: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lbctl.errors import UsageError
from lbctl.wire.header_value import header_values

Pair = tuple[str, str]
Headers = tuple[tuple[bytes, bytes], ...]

_NAME: Final = re.compile(r"[0-9a-z_.-]+")
_RESERVED: Final = frozenset(
    {
        "te",
        "content-type",
        "content-length",
        "connection",
        "host",
        "transfer-encoding",
        "keep-alive",
        "proxy-connection",
        "upgrade",
    }
)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


def parse_name(text: str) -> str:
    """A metadata name in lower case; raises ValueError for one that cannot be sent."""
    name = text.strip().lower()
    if not name:
        raise ValueError("the name is missing")
    if name in ("host", ":authority"):
        raise ValueError(f"{name!r} is the authority of a call: --authority sets it")
    if name.startswith((":", "grpc-")) or name in _RESERVED:
        raise ValueError(f"{name!r} is not free to be set: it belongs to HTTP/2 or gRPC")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text.strip()!r} is not a metadata name (letters, digits, '-', '_' and '.')")
    return name


def parse_header(text: str) -> Pair:
    """Name and value of ``name: value``; raises ValueError."""
    pseudo = text.startswith(":")
    name, colon, value = text[pseudo:].partition(":")
    if not colon:
        raise ValueError("write 'name: value'")
    return parse_name(":" + name if pseudo else name), value.strip(" \t")


def parse_metadata(text: str) -> tuple[Pair, ...]:
    """Names and values of a JSON object whose values are strings or lists of strings; raises ValueError."""
    import json

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the name {name!r} appears twice (give one list of values)")
        return dict(pairs)

    try:
        found = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: line {error.lineno} column {error.colno}: {error.msg.lower()}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError('not a JSON object (write {"name": "value"})')
    return tuple((parse_name(name), value) for name, values in found.items() for value in _strings(name, values))


def _strings(name: str, values: object) -> Sequence[str]:
    listed: list[object] = values if isinstance(values, list) else [values]
    found = [value.strip(" \t") for value in listed if isinstance(value, str)]
    if len(found) < len(listed):
        raise ValueError(f"the value of {name!r} must be a string or a list of strings")
    return found


def headers(pairs: Iterable[Pair], environ: Mapping[str, str] | None) -> Headers:
    """The header fields to send; with ``environ`` ``${NAME}`` in values is replaced. Raises UsageError."""
    return tuple(
        (name.encode(), octets)
        for name, value in pairs
        for octets in header_values(name, expanded(name, value, environ))
    )


def expanded(name: str, value: str, environ: Mapping[str, str] | None) -> str:
    """The value with ``${NAME}`` replaced, where there is an ``environ``. Raises UsageError for one that is not set."""
    if environ is None:
        return value

    def replaced(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise UsageError(f"--expand-headers: {name} needs the environment variable {match[1]}, which is not set")
        return environ[match[1]]

    return _VARIABLE.sub(replaced, value).strip(" \t")


def first_variable(value: str) -> str:
    """The first ``${NAME}`` in the value; nothing if there is none."""
    found = _VARIABLE.search(value)
    return found[0] if found else ""
