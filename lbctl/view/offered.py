"""The tables and documents of ``methods``: what a service offers, and where its backends differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lbctl.rpc.schemas.offering import Offered, Row
from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look
from lbctl.view.text import clean, plural

METHODS: Final = "lbctl.methods/v1"
_COLUMNS: Final = ("method", "kind", "request", "response", "deprecated", "file", "backends")
_MOST_ADDRESSES: Final = 3
_BETWEEN: Final = 16  # cells of the kind, and of the spaces around it and behind


class _Line(NamedTuple):
    """One variant of a difference as a row; what it is about is named in the first row of each."""

    about: str
    text: str | None
    backends: str


def methods_table(offered: Offered, look: Look, *, every: bool, wide: bool = False) -> Rendered:
    """One row per method; ``every`` backend was asked, so that it can be said how many offer it.

    Where it is narrow, types are named as the method's own package calls them.
    """
    types = _types if _is_room(offered.rows, look) else _short_types
    old = any(row.method.deprecated for row in offered.rows)
    columns: list[Column[Row]] = [
        Column("METHOD", lambda r: Cell(clean(r.method.full_name), "bold"), shrink_to=30),
        Column("KIND", lambda r: Cell(r.method.kind)),
        Column("REQUEST -> RESPONSE", types, keep=2, shrink_to=24),
        *([Column("ON", lambda r: _on(r, offered))] if every else []),
        *([Column("DEPRECATED", _deprecated, keep=1)] if old else []),
        *([Column("FILE", lambda r: Cell(clean(r.method.file)), keep=4, shrink_to=20)] if wide else []),
        *([Column("BACKENDS", lambda r: Cell(", ".join(map(clean, r.backends))), keep=3)] if wide else []),
    ]
    return _rendered(columns, offered.rows, look)


def differences_table(offered: Offered, look: Look, *, wide: bool = False) -> Rendered:
    """What backends say differently, a row for each way of saying it."""
    columns: list[Column[_Line]] = [
        Column("DIFFERS", lambda each: Cell(each.about, "warn"), shrink_to=24),
        Column("IS", lambda each: Cell(each.text or "missing", "" if each.text else "err"), shrink_to=20),
        Column("ON", lambda each: Cell(each.backends), keep=1, shrink_to=21, cut="right"),
    ]
    return _rendered(columns, list(_lines(offered, wide=wide)), look)


def method_notes(offered: Offered, *, every: bool) -> Iterator[str]:
    """What is said about the table."""
    services = len({row.method.service for row in offered.rows})
    count = f"{plural(len(offered.rows), 'method')} of {plural(services, 'service')}"
    if offered.origin:
        yield f"{count}, described by {offered.origin}"
    elif every:
        yield f"{count}; {offered.told} of {plural(len(offered.tellers), 'backend')} told{_alike(offered)}"
    else:
        (one,) = offered.tellers
        yield f"{count}, told by {one.address} (reflection {one.protocol})"
    yield from (f"{each.address} {each.error}" for each in offered.tellers if each.error is not None)
    # That reflection leaves itself out is usual.
    undescribed = [clean(name) for name in offered.undescribed if not name.startswith("grpc.")]
    if undescribed:
        yield f"offered and not described: {', '.join(undescribed)}"
    if offered.hidden:
        yield f"gRPC's own are left out: {', '.join(map(clean, offered.hidden))} (the pattern 'grpc.*' shows them)"


def _alike(offered: Offered) -> str:
    parts = len(offered.differences)
    return "" if offered.told < 2 else f", and differ in {plural(parts, 'part')}" if parts else ", and do not differ"


def method_names(offered: Offered) -> str:
    """Full names, one per line."""
    return "\n".join(clean(row.method.full_name) for row in offered.rows)


def methods_csv(offered: Offered, *, headers: bool = True) -> str:
    """One record per method; the addresses are in one field."""
    rows = (
        (*_types_of(row), row.method.deprecated, row.method.file, " ".join(row.backends) or None)
        for row in offered.rows
    )
    return as_csv(_COLUMNS, rows, headers=headers)


def methods_document(offered: Offered) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": METHODS,
        "service": offered.service or None,
        "described_by": offered.origin or "reflection",
        "backends": [
            {
                "address": each.address,
                "reflection": each.protocol,
                "error": each.error,
                "undescribed": list(each.undescribed),
            }
            for each in offered.tellers
        ],
        "methods": [_method(row) for row in offered.rows],
        "differences": [
            {
                "symbol": each.symbol,
                "part": each.part or None,
                "variants": [{"is": variant.text, "backends": list(variant.backends)} for variant in each.variants],
            }
            for each in offered.differences
        ],
        "hidden": list(offered.hidden),
        "undescribed": list(offered.undescribed),
    }


def _method(row: Row) -> Document:
    method = row.method
    return {
        "method": method.full_name,
        "kind": method.kind,
        "request": method.request,
        "response": method.response,
        "deprecated": method.deprecated,
        "file": method.file,
        "backends": list(row.backends),
    }


def _rendered(columns: Sequence[Column], rows: Sequence[object], look: Look) -> Rendered:  # type: ignore[type-arg]
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def _lines(offered: Offered, *, wide: bool) -> Iterator[_Line]:
    for each in offered.differences:
        about = f"{clean(each.symbol)} {clean(each.part)}".strip()
        for number, variant in enumerate(each.variants):
            text = None if variant.text is None else clean(variant.text)
            yield _Line("" if number else about, text, _addresses(variant.backends, wide=wide))


def _addresses(backends: Sequence[str], *, wide: bool) -> str:
    shown = backends if wide or len(backends) <= _MOST_ADDRESSES else backends[: _MOST_ADDRESSES - 1]
    more = len(backends) - len(shown)
    return ", ".join(map(clean, shown)) + (f" and {more} more" if more else "")


def _types_of(row: Row) -> tuple[str, str, str, str]:
    return row.method.full_name, row.method.kind, row.method.request, row.method.response


def _types(row: Row) -> Cell:
    return Cell(f"{clean(row.method.request)} -> {clean(row.method.response)}")


def _short_types(row: Row) -> Cell:
    method = row.method
    package = method.service.rpartition(".")[0] + "."
    request, response = method.request.removeprefix(package), method.response.removeprefix(package)
    return Cell(f"{clean(request)} -> {clean(response)}")


def _is_room(rows: Sequence[Row], look: Look) -> bool:
    """Whether the longest names fit beside each other, the other columns aside."""
    if look.width is None:
        return True
    names = max((len(row.method.full_name) for row in rows), default=0)
    return names + max((len(_types(row).text) for row in rows), default=0) + _BETWEEN <= look.width


def _on(row: Row, offered: Offered) -> Cell:
    text = f"{len(row.backends)}/{offered.told}"
    return Cell(text, "" if len(row.backends) == offered.told else "warn")


def _deprecated(row: Row) -> Cell:
    return Cell("deprecated", "muted") if row.method.deprecated else Cell("")
