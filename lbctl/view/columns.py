"""The columns of the backend table: which there are at a width, and how wide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from lbctl.stats.report import Report
from lbctl.view import cells
from lbctl.view.standing import Line, Totals, any_overridden
from lbctl.view.theme import Look

_GAP = 1
_MARGIN = 1  # the right edge stays free
_BEFORE_ADDRESS = 4  # marker, blank, state, blank
_TAIL_BUCKETS = 15  # cells of the latency shape
_USED = 4
_BAR_LEAST, _BAR_USUAL, _BAR_MOST, _SPARK_MOST = 4, 7, 40, 32


class Column(NamedTuple):
    """A column as it is drawn: ``cell`` returns exactly ``width`` cells, SGR included."""

    title: str
    width: int
    left: bool
    cell: Callable[[Line, int, Look], str]


@dataclass(frozen=True, slots=True)
class _Widths:
    """Cells per column at one class of window width; 0 leaves the column out. ``bar`` is the least."""

    weight: int = 3
    used: int = 0
    expected: int = 5
    bar: int = 0
    delta: int = 5
    rps: int = 0
    in_flight: int = 0
    errors: int = 4
    p50: int = 0
    p90: int = 0
    most: int = 0
    spark: int = 0
    shape: int = 0


# from this window width on; the last row that fits is taken
_CLASSES: tuple[tuple[int, _Widths], ...] = (
    (0, _Widths(weight=0, expected=0)),
    (60, _Widths(rps=5)),
    (72, _Widths(bar=_BAR_USUAL, rps=6, in_flight=3, p50=5)),
    (96, _Widths(bar=9, rps=7, in_flight=4, errors=5, p50=5, p90=5)),
    (126, _Widths(weight=4, bar=10, rps=7, in_flight=4, errors=5, p50=5, p90=5, most=5, spark=16, shape=_TAIL_BUCKETS)),
)
_NOTE_LEAST, _NOTE_BEST = 12, 32


def address_column(report: Report, width: int, look: Look, taken: int, bar_least: int) -> int:
    """Cells for the address: as long as the longest one, if the rest still fits."""
    longest = max([look.cells(row.address) for row in report.backends], default=0)
    room = width - _BEFORE_ADDRESS - _MARGIN - taken - (bar_least + _GAP if bar_least else 0)
    return max(min(max(longest, len("ADDRESS")), room), 1)


def columns(report: Report, sums: Totals, width: int, look: Look) -> tuple[int, list[Column]]:
    """Return the width of the address column, and the columns after it, for a window of this width."""
    chosen = _chosen(report, sums, width)
    drawn = [column for column in _table(chosen, sums, look) if column.width]
    taken = sum(column.width + _GAP for column in drawn if column.title != "SHARE")
    address = address_column(report, width, look, taken, chosen.bar)
    spare = width - _BEFORE_ADDRESS - address - _MARGIN - taken - (chosen.bar + _GAP if chosen.bar else 0)
    return address, _stretched(drawn, spare, chosen)


def _chosen(report: Report, sums: Totals, width: int) -> _Widths:
    """Return what there is room for, without columns that would say nothing of this run."""
    found = next(widths for least, widths in reversed(_CLASSES) if width >= least)
    if not sums.stated:
        found = replace(found, expected=0, delta=0, bar=found.bar or (_BAR_USUAL if found.weight else 0))
    if found.weight and any_overridden(report):
        found = replace(found, used=_USED, bar=min(found.bar, _BAR_LEAST))
    return found


def _table(widths: _Widths, sums: Totals, look: Look) -> list[Column]:
    return [
        Column("WT", widths.weight, False, cells.weight),
        Column("USE", widths.used, False, cells.weight_used),
        Column("EXP%", widths.expected, False, cells.expected),
        Column("ACT%", 5, False, cells.actual),
        Column("SHARE", widths.bar, True, partial(cells.share, sums)),
        Column(f"{look.glyphs.delta}pp", widths.delta, False, cells.delta),
        Column("RPS", widths.rps, False, cells.rps),
        Column("INF", widths.in_flight, False, cells.in_flight),
        Column("ERR", widths.errors, False, cells.errors),
        Column("P50", widths.p50, False, partial(cells.time, attrgetter("p50"))),
        Column("P90", widths.p90, False, partial(cells.time, attrgetter("p90"))),
        Column("P99", 5, False, partial(cells.time, attrgetter("p99"))),
        Column("MAX", widths.most, False, partial(cells.time, attrgetter("max_us"))),
        Column("RPS last 8s", widths.spark, True, cells.spark),
        Column(" .1 1  10 .1s  ", widths.shape, True, cells.latency_shape),
    ]


def _stretched(drawn: list[Column], spare: int, widths: _Widths) -> list[Column]:
    """Give the cells that are left to the bar, then to a note on each backend, then to the sparkline."""
    result = list(drawn)
    for index, column in enumerate(drawn):
        most = _BAR_MOST if column.title == "SHARE" else _SPARK_MOST if column.cell is cells.spark else column.width
        more = min(spare - (_NOTE_BEST if column.cell is cells.spark else 0), most - column.width)
        if more > 0:
            title = f"RPS last {(column.width + more) // 2}s" if column.cell is cells.spark else column.title
            result[index] = column._replace(width=column.width + more, title=title)
            spare -= more
    if widths.shape and spare > _NOTE_LEAST:
        result.append(Column("NOTE", spare - _GAP, True, cells.note))
    return result
