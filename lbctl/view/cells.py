"""One cell of each column of the backend table: exactly ``width`` cells of the terminal, SGR included."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lbctl.view.bars import shape, share_bar, sparkline
from lbctl.view.digest import Digest
from lbctl.view.standing import Line, Totals, condition, weight_in_use
from lbctl.view.text import NONE, cell_len, count, duration, percent, points
from lbctl.view.theme import Look

_START_S = 0.05  # who came before was there from the start


def _number(text: str, width: int) -> str:
    return text.rjust(width)[:width]


@lru_cache(maxsize=4096)  # times are those of buckets, so they come again
def _duration(us: float | None, width: int) -> str:
    return _number(duration(us), width)


@lru_cache(maxsize=4096)
def _count(number: float, width: int) -> str:
    return _number(count(number, width), width)


def weight(line: Line, width: int, look: Look) -> str:
    """The weight that the registry says."""
    return _count(line.row.weight, width)


def weight_used(line: Line, width: int, look: Look) -> str:
    """The weight that counts, marked where it is another one."""
    text = _number(weight_in_use(line.row, width), width)
    return text if line.row.override is None else f"{look.style.accent}{text}{look.style.reset}"


def expected(line: Line, width: int, look: Look) -> str:
    """The share that is due, in per cent."""
    return f"{look.style.muted}{_number(percent(line.expected), width)}{look.style.reset}"


def actual(line: Line, width: int, look: Look) -> str:
    """The share of everything that was sent, in per cent."""
    return _number(percent(line.share), width)


def share(sums: Totals, line: Line, width: int, look: Look) -> str:
    """The share as a bar, with a tick where it should end."""
    style = look.style
    part = (line.share or 0.0) / sums.largest
    due = None if line.expected is None else line.expected / sums.largest
    colour = style.bar if line.role == style.muted else line.role
    return share_bar(part, due, width, look, colour, style.bold if sums.stated else style.muted)


def delta(line: Line, width: int, look: Look) -> str:
    """The difference between the two, in percentage points."""
    return f"{line.role}{_number(points(line.delta), width)}{look.style.reset}"


def rps(line: Line, width: int, look: Look) -> str:
    """Calls a second, now."""
    return _number("-" if line.rps is None else count(line.rps, width), width)


def in_flight(line: Line, width: int, look: Look) -> str:
    """Calls in flight, now."""
    return _count(line.row.in_flight, width)


def errors(line: Line, width: int, look: Look) -> str:
    """Failed calls, in red where they are more than one in a hundred."""
    row, style = line.row, look.style
    role = style.muted if not row.errors else style.err if row.errors > (row.ok + row.errors) * 0.01 else style.warn
    return f"{role}{_number(NONE, width) if line.idle else _count(row.errors, width)}{style.reset}"


def time(figure: Callable[[Digest], float], line: Line, width: int, look: Look) -> str:
    """A figure of the latencies of its good calls."""
    return _duration(figure(line.digest) if line.digest else None, width)


def spark(line: Line, width: int, look: Look) -> str:
    """Calls a second, over the last seconds."""
    style = look.style
    top = max(line.spark, default=0.0) * 1.15
    return f"{style.accent}{sparkline(line.spark, width, look.glyphs, top)}{style.reset}"


def latency_shape(line: Line, width: int, look: Look) -> str:
    """How often which latency was seen."""
    style = look.style
    return f"{style.latency}{shape(line.digest.counts if line.digest else (), width, look.glyphs)}{style.reset}"


def note(line: Line, width: int, look: Look) -> str:
    """What is the matter with it, or when it came."""
    row = line.row
    words = condition(row) or (f"joined at {row.joined_s:.1f}s" if row.joined_s > _START_S else "")
    text = look.elide(look.show(words), width)
    return f"{look.style.muted}{text}{' ' * (width - cell_len(text))}{look.style.reset}"
