"""The columns of a table of policies: which there are at a width, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from lbctl.stats.intervals import Estimate
from lbctl.stats.rounds import Standing
from lbctl.view.bars import shape, thin_bar
from lbctl.view.digest import digest
from lbctl.view.text import NONE, count, duration
from lbctl.view.theme import Look

NAME: Final = 16  # cells of a policy's name at least
_MARK: Final = 2
_BAR: Final = 20
_SHAPE: Final = 15
CHANGE: Final = 16
_CHANGE_WIDTH: Final = 96  # from here on there is room for the difference
_BAR_WIDTH: Final = 120
_SHAPE_WIDTH: Final = 135


class Row(NamedTuple):
    """What is known of one policy."""

    standing: Standing
    rounds: int
    change: Estimate | None  # of the p99, against the first; None for the first itself
    top_rps: float  # that fills a bar


class Column(NamedTuple):
    """A column: ``cell`` returns at most ``width`` cells, without colour, and ``role`` says which it is drawn in."""

    title: str
    width: int
    left: bool
    cell: Callable[[Row, Look], str]
    role: Callable[[Row, Look], str]


def _plain(row: Row, look: Look) -> str:
    return ""


def _muted(row: Row, look: Look) -> str:
    return look.style.muted


def _runs(row: Row, look: Look) -> str:
    return f"{row.standing.runs}/{row.rounds}"


def _rps(row: Row, look: Look) -> str:
    return NONE if row.standing.rps is None else count(row.standing.rps, 7)


def _errors(row: Row, look: Look) -> str:
    return percent_of(row.standing.error_rate)


def percent_of(part: float | None) -> str:
    """Spell a part of all calls in at most five cells: ``0.26``, ``12.5``, ``100``; None is ``-``."""
    if part is None:
        return NONE
    return f"{part * 100:.2f}" if part < 0.0995 else f"{part * 100:.1f}" if part < 1 else "100"


def _error_role(row: Row, look: Look) -> str:
    rate = row.standing.error_rate
    return look.style.muted if not rate else look.style.err if rate > 0.01 else look.style.warn


def _delta(row: Row, look: Look) -> str:
    delta = row.standing.max_delta
    return NONE if delta is None else f"{delta * 100:.1f}"


def _delta_role(row: Row, look: Look) -> str:
    delta = row.standing.max_delta
    if delta is None or delta < 0.01 or row.standing.by_chance:
        return look.style.muted
    return look.style.err if delta >= 0.03 else look.style.warn


def _over(row: Row, look: Look) -> str:
    over = row.standing.max_over_expected
    return NONE if over is None else f"{over:.2f}" if over < 100 else count(over, 5)


def change_words(found: Estimate | None) -> str:
    """Spell a relative difference and its interval: ``-44% [-51,-36]``; ``base``, ``n/a`` without an interval."""
    if found is None:
        return "base"
    if found.value is None or found.low is None or found.high is None:
        return "n/a"
    value, low, high = (_whole(each) for each in (found.value, found.low, found.high))
    whole = f"{value}% [{low},{high}]"
    return whole if len(whole) <= CHANGE else f"{value}%"


def _whole(part: float) -> str:
    percent = part * 100
    if abs(percent) < 0.5:
        return "0"
    return f"{percent:+.0f}" if abs(percent) < 999.5 else f"{percent / 100:+.0f}e2"


def holds_zero(found: Estimate | None) -> bool:
    """Whether a difference may be none, as far as its interval says."""
    return found is None or found.low is None or found.high is None or found.low <= 0 <= found.high


def _change(row: Row, look: Look) -> str:
    return change_words(row.change)


def _change_role(row: Row, look: Look) -> str:
    if holds_zero(row.change):
        return look.style.muted
    return look.style.ok if row.change is not None and (row.change.value or 0) < 0 else look.style.err


def _bar(row: Row, look: Look) -> str:
    part = (row.standing.rps or 0.0) / row.top_rps if row.top_rps else 0.0
    return thin_bar(part, _BAR, look.glyphs)


def _bar_role(row: Row, look: Look) -> str:
    return look.style.bar


def _shape(row: Row, look: Look) -> str:
    found = digest(row.standing.latency)
    return shape(found.counts if found else (), _SHAPE, look.glyphs)


def _shape_role(row: Row, look: Look) -> str:
    return look.style.latency


def _time(name: str) -> Callable[[Row, Look], str]:
    return lambda row, look: duration(getattr(row.standing, name))


def columns(width: int, look: Look) -> Sequence[Column]:
    """Return what there is room for; the first ones stay, of the narrow ones the last go first."""
    narrow = (
        Column("RUNS", 5, False, _runs, _plain),
        Column("RPS", 8, False, _rps, _plain),
        Column("ERR%", 6, False, _errors, _error_role),
        Column("P50", 7, False, _time("p50_us"), _plain),
        Column("P90", 7, False, _time("p90_us"), _plain),
        Column("P99", 7, False, _time("p99_us"), _plain),
        Column("MAX", 7, False, _time("max_us"), _plain),
        Column(f"{look.glyphs.delta}pp", 6, False, _delta, _delta_role),
        Column("MAX/E", 7, False, _over, _muted),
    )
    found, room = [], width - _MARK - NAME
    for column in narrow:
        if column.width > room:
            break
        found.append(column)
        room -= column.width
    if width >= _CHANGE_WIDTH:
        found.append(Column("P99 vs first", CHANGE, False, _change, _change_role))
    if width >= _BAR_WIDTH:
        found.append(Column("  THROUGHPUT", 2 + _BAR, True, lambda row, look: "  " + _bar(row, look), _bar_role))
    if width >= _SHAPE_WIDTH:
        found.append(
            Column("  LATENCY SHAPE", 2 + _SHAPE, True, lambda row, look: "  " + _shape(row, look), _shape_role)
        )
    return found


def name_width(labels: Sequence[str], cols: Sequence[Column], width: int) -> int:
    """Cells for the names: the longest one's, as far as there is room, and at least sixteen."""
    from lbctl.view.text import cell_len

    spare = width - _MARK - sum(column.width for column in cols) - 1
    longest = max(map(cell_len, labels), default=0)
    return max(min(longest, spare), min(NAME, max(width - _MARK, 1)))


def heads(name: int, cols: Sequence[Column], look: Look) -> str:
    """Return the line of titles, as wide as a row."""
    cells = [column.title.ljust(column.width) if column.left else column.title.rjust(column.width) for column in cols]
    return look.paint(look.style.muted, ("  " + look.left("POLICY", name) + "".join(cells)).rstrip())


def line(row: Row, name: int, cols: Sequence[Column], look: Look, *, mark: str = " ") -> str:
    """Return a policy's row; ``mark`` is one cell in front of it, which may be coloured."""
    label = look.left(look.show(row.standing.contender.label), name)
    if row.standing.live:
        label = look.paint(look.style.muted, label)
    cells = []
    for column in cols:
        text = column.cell(row, look)
        text = text.ljust(column.width) if column.left else text.rjust(column.width)
        role = column.role(row, look)
        cells.append(look.paint(role, text) if text.strip() else text)
    return f"{mark} {label}{''.join(cells)}"
