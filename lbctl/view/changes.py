"""Keys that are written or deleted: the table and the document of ``register`` and ``deregister``."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.change_report import ChangeReport, ChangeRow
from lbctl.discovery.weight_report import WRITTEN
from lbctl.redaction import masked_text
from lbctl.view.figures import Document, lease_id, stamp
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look
from lbctl.view.text import NONE, clean

CHANGES: Final = "lbctl.changes/v1"


def changes_table(report: ChangeReport, look: Look) -> Rendered:
    """One row per key: what it holds, and what it is to hold."""
    columns = [
        Column("KEY", lambda row: Cell(clean(row.key)), shrink_to=21),
        Column("ADDRESS", lambda row: _text(row.address), keep=1),
        Column("OLD VALUE", lambda row: _text(row.value), keep=3, shrink_to=18),
        Column("NEW VALUE", lambda row: _text(row.new_value), keep=2, shrink_to=18),
        Column("LEASE", _lease, keep=4),
    ]
    return render(
        columns, report.rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis
    )


def changes_document(report: ChangeReport) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": CHANGES,
        "at": stamp(report.at, milliseconds=True),
        "action": report.action,
        "service": report.service,
        "layout": report.layout,
        "revision": report.revision,
        "state": report.state,
        "keys": [_key(row, written=report.state == WRITTEN) for row in report.rows],
    }


def _key(row: ChangeRow, *, written: bool) -> Document:
    return {
        "key": row.key,
        "address": row.address,
        "lease": lease_id(row.lease) if row.lease else None,
        "value": _masked(row.value),
        "new_value": _masked(row.new_value),
        "written": written and row.value != row.new_value,
    }


def _masked(text: str | None) -> str | None:
    return None if text is None else masked_text(text)


def _text(text: str | None) -> Cell:
    return Cell(NONE if text is None else clean(text))


def _lease(row: ChangeRow) -> Cell:
    if row.lease is None:
        return Cell(NONE)
    return Cell(lease_id(row.lease)) if row.lease else Cell("none", "warn")
