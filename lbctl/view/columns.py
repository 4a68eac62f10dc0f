"""The columns of the backend table: which there are at a width, how wide, and what one cell of each says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import NamedTuple

from lbctl.stats.report import BackendRow, Report
from lbctl.view.bars import shape, share_bar, sparkline
from lbctl.view.digest import Digest
from lbctl.view.text import cell_len, count, duration, percent, points
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

_GAP = 1
_MARGIN = 1  # the right edge stays free
_BEFORE_ADDRESS = 4  # marker, blank, state, blank
# What a state looks like; everything else is on its way.
_STATES = {
    **dict.fromkeys(("transient_failure", "left"), "gone"),
    **dict.fromkeys(("unhealthy", "ejected", "breaker_open"), "out"),
    **dict.fromkeys(("not_in_subset", "other_zone"), "aside"),
    "ready": "ready",
}
_TAIL_BUCKETS = 15  # cells of the latency shape


class Totals(NamedTuple):
    """What the rows are measured against."""

    picks: int
    expected: float
    largest: float  # the share that fills a bar
    random: bool  # deviations are noise up to a point
    judged: bool  # the policy promises shares


class Line(NamedTuple):
    """One backend with everything its cells need."""

    row: BackendRow
    digest: Digest | None
    share: float | None
    expected: float | None  # 0..1
    delta: float | None
    role: str  # the colour of the deviation
    rps: float | None
    spark: Sequence[float]


class Column(NamedTuple):
    """A column as it is drawn: ``cell`` returns exactly ``width`` cells, SGR included."""

    title: str
    width: int
    left: bool
    cell: Callable[[Line, int, Look], str]


def totals(report: Report) -> Totals:
    """Return sums over all backends, including those that left."""
    picks = sum(row.picks for row in report.backends)
    expected = sum(row.expected for row in report.backends)
    largest = max(
        (max(row.picks / (picks or 1), row.expected / (expected or 1)) for row in report.backends),
        default=0.0,
    )
    kind = report.balance.expectation
    return Totals(picks, expected, largest or 1.0, kind == "multinomial", kind != "feedback")


def line(row: BackendRow, ui: Ui, now_s: float, sums: Totals, look: Look) -> Line:
    """Work out what the cells of a backend will say."""
    share = row.picks / sums.picks if sums.picks else None
    expected = row.expected / sums.expected if sums.expected else None
    delta = share - expected if sums.judged and share is not None and expected is not None else None
    role = _delta_role(delta, expected, sums, look)
    series = ui.series
    return Line(
        row, ui.digests.of(row.latency, now_s), share, expected, delta, role, series.row_now(row), series.row(row)
    )


def _delta_role(delta: float | None, expected: float | None, sums: Totals, look: Look) -> str:
    style = look.style
    if delta is None or expected is None or abs(delta) < 0.01:
        return style.muted
    if sums.random:
        spread = sqrt(max(expected * (1 - expected), 1e-12) / sums.picks)
        if abs(delta) <= 3 * spread:
            return style.muted
    return style.err if abs(delta) >= 0.03 else style.warn


def state_mark(state: str, look: Look) -> tuple[str, str]:
    """Return the colour and the glyph of a backend's state."""
    style, glyphs = look
    kind = _STATES.get(state, "half")
    if kind == "ready":
        return style.ok, glyphs.ready
    if kind == "half":
        return style.warn, glyphs.half
    if kind == "out":
        return style.err, glyphs.out
    if kind == "aside":
        return style.muted, glyphs.aside
    return (style.muted if state == "left" else style.err), glyphs.gone


def _number(text: str, width: int) -> str:
    return text.rjust(width)[:width]


def _weight(line: Line, width: int, look: Look) -> str:
    return _number(count(line.row.weight, width), width)


def _expected(judged: bool, line: Line, width: int, look: Look) -> str:
    text = percent(line.expected) if judged else "-"
    return f"{look.style.muted}{_number(text, width)}{look.style.reset}"


def _actual(line: Line, width: int, look: Look) -> str:
    return _number(percent(line.share), width)


def _bar(sums: Totals, line: Line, width: int, look: Look) -> str:
    style = look.style
    share = (line.share or 0.0) / sums.largest
    expected = None if line.expected is None else line.expected / sums.largest
    colour = style.bar if line.role == style.muted else line.role
    return share_bar(share, expected, width, look, colour, style.bold if sums.judged else style.muted)


def _delta(line: Line, width: int, look: Look) -> str:
    return f"{line.role}{_number(points(line.delta), width)}{look.style.reset}"


def _rps(line: Line, width: int, look: Look) -> str:
    return _number("-" if line.rps is None else count(line.rps, width), width)


def _in_flight(line: Line, width: int, look: Look) -> str:
    return _number(count(line.row.in_flight, width), width)


def _errors(line: Line, width: int, look: Look) -> str:
    row, style = line.row, look.style
    role = style.muted if not row.errors else style.err if row.errors > (row.ok + row.errors) * 0.01 else style.warn
    return f"{role}{_number(count(row.errors, width), width)}{style.reset}"


def _p50(line: Line, width: int, look: Look) -> str:
    return _number(duration(line.digest.p50 if line.digest else None), width)


def _p90(line: Line, width: int, look: Look) -> str:
    return _number(duration(line.digest.p90 if line.digest else None), width)


def _p99(line: Line, width: int, look: Look) -> str:
    return _number(duration(line.digest.p99 if line.digest else None), width)


def _most(line: Line, width: int, look: Look) -> str:
    return _number(duration(line.digest.max_us if line.digest else None), width)


def _spark(line: Line, width: int, look: Look) -> str:
    style = look.style
    top = max(line.spark, default=0.0) * 1.15
    return f"{style.accent}{sparkline(line.spark, width, look.glyphs, top)}{style.reset}"


def _shape(line: Line, width: int, look: Look) -> str:
    style = look.style
    return f"{style.latency}{shape(line.digest.counts if line.digest else (), width, look.glyphs)}{style.reset}"


def _note(line: Line, width: int, look: Look) -> str:
    row = line.row
    words = [] if row.state == "ready" else [row.state.replace("_", " ")]
    if row.left_s is not None:
        words = [f"left at {row.left_s:.1f}s"]
    if row.reason:
        words.append(row.reason)
    if not words and row.joined_s > 0.05:
        words = [f"joined at {row.joined_s:.1f}s"]
    text = look.elide(look.show(": ".join(words)), width)
    return f"{look.style.muted}{text}{' ' * (width - cell_len(text))}{look.style.reset}"


@dataclass(frozen=True, slots=True)
class _Widths:
    """Cells per column at one class of window width; 0 leaves the column out. ``bar`` is the least."""

    weight: int = 3
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
    (72, _Widths(bar=7, rps=6, in_flight=3, p50=5)),
    (96, _Widths(bar=9, rps=7, in_flight=4, errors=5, p50=5, p90=5)),
    (126, _Widths(weight=4, bar=10, rps=7, in_flight=4, errors=5, p50=5, p90=5, most=5, spark=16, shape=_TAIL_BUCKETS)),
)
_BAR_MOST, _SPARK_MOST = 40, 32
_NOTE_LEAST, _NOTE_BEST = 12, 32


def address_column(report: Report, width: int, look: Look, taken: int, bar_least: int) -> int:
    """Cells for the address: as long as the longest one, if the rest still fits."""
    longest = max((cell_len(look.show(row.address)) for row in report.backends), default=0)
    room = width - _BEFORE_ADDRESS - _MARGIN - taken - (bar_least + _GAP if bar_least else 0)
    return max(min(max(longest, len("ADDRESS")), room), 1)


def columns(report: Report, sums: Totals, width: int, look: Look) -> tuple[int, list[Column]]:
    """Return the width of the address column, and the columns after it, for a window of this width."""
    chosen = next(widths for least, widths in reversed(_CLASSES) if width >= least)
    drawn = [column for column in _table(chosen, sums, look) if column.width]
    taken = sum(column.width + _GAP for column in drawn if column.title != "SHARE")
    address = address_column(report, width, look, taken, chosen.bar)
    spare = width - _BEFORE_ADDRESS - address - _MARGIN - taken - (chosen.bar + _GAP if chosen.bar else 0)
    return address, _stretched(drawn, spare, chosen)


def _table(widths: _Widths, sums: Totals, look: Look) -> list[Column]:
    return [
        Column("WT", widths.weight, False, _weight),
        Column("EXP%", widths.expected, False, partial(_expected, sums.judged)),
        Column("ACT%", 5, False, _actual),
        Column("SHARE", widths.bar, True, partial(_bar, sums)),
        Column(f"{look.glyphs.delta}pp", widths.delta, False, _delta),
        Column("RPS", widths.rps, False, _rps),
        Column("INF", widths.in_flight, False, _in_flight),
        Column("ERR", widths.errors, False, _errors),
        Column("P50", widths.p50, False, _p50),
        Column("P90", widths.p90, False, _p90),
        Column("P99", 5, False, _p99),
        Column("MAX", widths.most, False, _most),
        Column("RPS last 8s", widths.spark, True, _spark),
        Column(" .1 1  10 .1s  ", widths.shape, True, _shape),
    ]


def _stretched(drawn: list[Column], spare: int, widths: _Widths) -> list[Column]:
    """Give the cells that are left to the bar, then to a note on each backend, then to the sparkline."""
    result = list(drawn)
    for index, column in enumerate(drawn):
        most = _BAR_MOST if column.title == "SHARE" else _SPARK_MOST if column.cell is _spark else column.width
        more = min(spare - (_NOTE_BEST if column.cell is _spark else 0), most - column.width)
        if more > 0:
            title = f"RPS last {(column.width + more) // 2}s" if column.cell is _spark else column.title
            result[index] = column._replace(width=column.width + more, title=title)
            spare -= more
    if widths.shape and spare > _NOTE_LEAST:
        result.append(Column("NOTE", spare - _GAP, True, _note))
    return result
