"""What tables and documents of all writes have: the key, what it holds and is to hold, and its lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from lbctl.redaction import masked_text
from lbctl.view.figures import Document, lease_id
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look
from lbctl.view.text import NONE, clean


class Written(Protocol):
    """A key that is written; ``value`` is None where it does not exist, ``new_value`` where it is to be deleted.

    ``lease`` is 0 for none, and None for one that is not granted yet.
    """

    @property
    def key(self) -> str: ...

    @property
    def address(self) -> str | None: ...

    @property
    def lease(self) -> int | None: ...

    @property
    def value(self) -> str | None: ...

    @property
    def new_value(self) -> str | None: ...


W = TypeVar("W", bound=Written)


def written_table(middle: Sequence[Column[W]], rows: Sequence[W], look: Look) -> Rendered:
    """One row per key: the key, these columns, and what it held, is to hold, and goes with."""
    columns: list[Column[W]] = [
        Column("KEY", lambda row: Cell(clean(row.key)), shrink_to=21),
        *middle,
        Column("OLD VALUE", lambda row: text_cell(row.value), keep=3, shrink_to=18),
        Column("NEW VALUE", lambda row: text_cell(row.new_value), keep=2, shrink_to=18),
        Column("LEASE", _lease, keep=4),
    ]
    return laid_out(columns, rows, look)


def laid_out(columns: Sequence[Column[W]], rows: Sequence[W], look: Look) -> Rendered:
    """The table of these columns, as it is to look."""
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def text_cell(text: str | None) -> Cell:
    """A text from outside, or the sign for none."""
    return Cell(NONE if text is None else clean(text))


def identified(row: Written) -> Document:
    """Which key, of which address, under which lease."""
    return {"key": row.key, "address": row.address, "lease": lease_id(row.lease) if row.lease else None}


def contents(row: Written) -> Document:
    """What it held and is to hold, without the secrets in it."""
    return {"value": _masked(row.value), "new_value": _masked(row.new_value)}


def _masked(text: str | None) -> str | None:
    return None if text is None else masked_text(text)


def _lease(row: Written) -> Cell:
    if row.lease is None:
        return Cell(NONE)
    return Cell(lease_id(row.lease)) if row.lease else Cell("none", "warn")
