"""Lists of the backends that ought to be registered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from lbctl.cli.addresses import parse_endpoint, parse_weighted_endpoints
from lbctl.errors import UsageError
from lbctl.model import Endpoint

_HINT = "write one host:port a line (# begins a comment), or a JSON list of such texts"


def read_expected(source: str) -> tuple[Endpoint, ...]:
    """The addresses of ``--expect``: those of a file, or of standard input (``-``), each once."""
    name = "standard input" if source == "-" else source
    text = _text(source, name)
    found = _listed(text, name) if text.lstrip().startswith("[") else _lines(text)
    endpoints = dict.fromkeys(_endpoint(address, f"{where} of {name}") for where, address in found)
    if not endpoints:
        raise UsageError(f"--expect: {name} has no addresses", _HINT)
    return tuple(endpoints)


def _text(source: str, name: str) -> str:
    try:
        # Bytes: how Python decodes its own streams depends on the locale.
        if source != "-":
            return Path(source).read_bytes().decode("utf-8-sig")
        return sys.stdin.buffer.read().decode("utf-8-sig") if sys.stdin else ""
    except OSError as error:
        raise UsageError(f"--expect: cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--expect: {name} is not UTF-8 text (byte {error.start})", _HINT) from None


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        address = line.partition("#")[0].strip()
        if address:
            yield f"line {number}", address


def _listed(text: str, name: str) -> Iterator[tuple[str, str]]:
    """A line may begin with a bracket, too: that of an IPv6 address."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text)
        return
    for number, address in enumerate(found if isinstance(found, list) else (), 1):
        if not isinstance(address, str):
            raise UsageError(f"--expect: item {number} of {name} is not a text", _HINT)
        yield f"item {number}", address


def _endpoint(text: str, where: str) -> Endpoint:
    try:
        if text.startswith(("unix:", "unix-abstract:")):
            return parse_weighted_endpoints(text)[0][0]
        return parse_endpoint(text)
    except ValueError as error:
        raise UsageError(f"--expect: {where}: {error}", _HINT) from None
