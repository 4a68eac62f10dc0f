"""Printed tables: no borders, two spaces between columns, columns dropped by priority where the width is short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from lbctl.view.text import cell_len, elide, elide_left, elide_middle, left, right
from lbctl.view.theme import Style

R = TypeVar("R")
_GAP = "  "
_CUTS = {"left": elide_left, "middle": elide_middle, "right": elide}


class Cell(NamedTuple):
    """A cell's text (already cleaned) and the style role it is drawn in, "" for none."""

    text: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column over rows of type R. ``keep`` 0 is never dropped; of the others the highest goes first."""

    title: str
    cell: Callable[[R], Cell]
    keep: int = 0
    numeric: bool = False
    shrink_to: int = 0  # a flexible column may get this narrow before columns are dropped
    cut: str = "middle"  # middle | left | right: where a cell that does not fit is cut


class Rendered(NamedTuple):
    """The lines of a table and the titles of the columns that did not fit."""

    lines: list[str]
    hidden: list[str]


def render(
    columns: Sequence[Column[R]],
    rows: Sequence[R],
    style: Style,
    *,
    width: int | None = None,
    headers: bool = True,
    ellipsis: str = "…",
) -> Rendered:
    """Lay the rows out; without a width everything is shown in full (one record per line, whatever its length)."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    widths = [
        max([cell_len(column.title) if headers else 0, *(cell_len(line[index].text) for line in cells)])
        for index, column in enumerate(columns)
    ]
    shown = _fit(columns, widths, width)
    lines = [_header(columns, widths, shown, style, ellipsis)] if headers else []
    lines += [_line(columns, line, widths, shown, style, ellipsis) for line in cells]
    hidden = [column.title for index, column in enumerate(columns) if index not in shown]
    return Rendered(lines, hidden)


def _fit(columns: Sequence[Column[R]], widths: list[int], width: int | None) -> list[int]:
    """Shrink flexible columns in place, then drop columns, until the rest fits; return the indexes that stay."""
    shown = list(range(len(columns)))
    if width is None:
        return shown
    natural = list(widths)
    _shrink(columns, widths, shown, width)
    while _total(widths, shown) > width:
        loser = max(shown, key=lambda index: (columns[index].keep, index))
        if columns[loser].keep == 0:
            break
        shown.remove(loser)
    _grow_back(columns, widths, natural, shown, width)
    return shown


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[index] for index in shown) + len(_GAP) * (len(shown) - 1)


def _shrink(columns: Sequence[Column[R]], widths: list[int], shown: Sequence[int], width: int) -> None:
    for index in shown:
        excess = _total(widths, shown) - width
        limit = columns[index].shrink_to
        if excess > 0 and limit:
            widths[index] = min(widths[index], max(limit, widths[index] - excess))


def _grow_back(
    columns: Sequence[Column[R]], widths: list[int], natural: Sequence[int], shown: Sequence[int], width: int
) -> None:
    """Give the room that a dropped column left to the columns that were shrunk."""
    for index in shown:
        spare = width - _total(widths, shown)
        if columns[index].shrink_to and spare > 0:
            widths[index] = min(natural[index], widths[index] + spare)


def _header(
    columns: Sequence[Column[R]], widths: Sequence[int], shown: Sequence[int], style: Style, ellipsis: str
) -> str:
    pad = {True: right, False: left}
    text = _joined([pad[columns[i].numeric](columns[i].title, widths[i], ellipsis) for i in shown])
    return f"{style.muted}{text}{style.reset}" if style.muted else text


def _line(
    columns: Sequence[Column[R]],
    cells: Sequence[Cell],
    widths: Sequence[int],
    shown: Sequence[int],
    style: Style,
    ellipsis: str,
) -> str:
    parts = []
    for index in shown:
        column, cell = columns[index], cells[index]
        text = _CUTS[column.cut](cell.text, widths[index], ellipsis)
        padded = right(text, widths[index], ellipsis) if column.numeric else left(text, widths[index], ellipsis)
        if index == shown[-1]:
            padded = padded.rstrip()
        sgr = getattr(style, cell.role) if cell.role else ""
        parts.append(f"{sgr}{padded}{style.reset}" if sgr else padded)
    return _joined(parts)


def _joined(parts: Sequence[str]) -> str:
    return _GAP.join(parts).rstrip()
