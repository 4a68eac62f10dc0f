"""Keys that are written or deleted: the table and the document of ``register`` and ``deregister``."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.change_report import ChangeReport, ChangeRow
from lbctl.discovery.weight_report import WRITTEN
from lbctl.view.figures import Document, stamp
from lbctl.view.plain_table import Column, Rendered
from lbctl.view.services import Look
from lbctl.view.written import contents, identified, text_cell, written_table

CHANGES: Final = "lbctl.changes/v1"


def changes_table(report: ChangeReport, look: Look) -> Rendered:
    """One row per key: what it holds, and what it is to hold."""
    address: Column[ChangeRow] = Column("ADDRESS", lambda row: text_cell(row.address), keep=1)
    return written_table([address], report.rows, look)


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
    return identified(row) | contents(row) | {"written": written and row.value != row.new_value}
