"""The text and the document of ``describe``."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.json_format import MessageToDict

from lbctl.rpc.schemas.resolving import Described
from lbctl.rpc.schemas.symbols import Kind, Symbol
from lbctl.view.figures import Document
from lbctl.view.proto_text import ProtoText
from lbctl.view.text import clean
from lbctl.view.theme import Style

DESCRIBE: Final = "lbctl.describe/v1"
_LONGEST: Final = 4000  # characters of a line, which may be a comment of somebody's


def described_text(described: Described, style: Style) -> str:
    """Protobuf source of what was found; what each is stands above it in a comment."""
    writer = ProtoText(described.files)
    parts = [f"{_muted(_about(symbol), style)}\n{_tame(writer.of(symbol), style)}" for symbol in described.symbols]
    return "\n\n".join(parts)


def described_names(described: Described) -> str:
    """Full names, one per line."""
    return "\n".join(clean(symbol.spelt) for symbol in described.symbols)


def described_document(described: Described, service: str, backend: str | None, origin: str) -> Document:
    """The document of ``-o json``; ``origin`` is what files are called, "" where a ``backend`` told."""
    writer = ProtoText(described.files)
    return {
        "schema": DESCRIBE,
        "service": service or None,
        "described_by": origin or "reflection",
        "backend": backend,
        "reflection": None if origin else described.protocol,
        "symbols": [_symbol(each, writer) for each in described.symbols],
    }


def _symbol(symbol: Symbol, writer: ProtoText) -> Document:
    descriptor: dict[str, Any] = MessageToDict(symbol.node, preserving_proto_field_name=True)
    return {
        "name": symbol.spelt,
        "kind": str(symbol.kind),
        "file": symbol.file.name,
        "package": symbol.file.package,
        "syntax": symbol.file.syntax or "proto2",
        "source": writer.of(symbol),
        "descriptor": descriptor,
    }


def _about(symbol: Symbol) -> str:
    if symbol.kind is Kind.FILE:
        return f"// {clean(symbol.name)}"
    return f"// {symbol.kind} {clean(symbol.spelt)}, in {clean(symbol.file.name)} ({symbol.file.syntax or 'proto2'})"


def _tame(text: str, style: Style) -> str:
    """The lines as they may go to a terminal, comments muted."""
    lines = [clean(line, _LONGEST) for line in text.split("\n")]
    return "\n".join(_muted(line, style) if line.lstrip().startswith("//") else line for line in lines)


def _muted(line: str, style: Style) -> str:
    return f"{style.muted}{line}{style.reset}" if style.muted else line
