"""Bars, sparklines and column charts out of characters. All take fractions or counts and return exactly their width."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log1p

from lbctl.view.theme import Glyphs, Look


def bar(fraction: float, width: int, glyphs: Glyphs) -> str:
    """Draw a solid bar with sub-cell resolution; anything above 0 leaves a trace."""
    steps = glyphs.eighths
    filled = round(min(max(fraction, 0.0), 1.0) * width * len(steps))
    if fraction > 0 and not filled:
        filled = 1
    full, rest = divmod(filled, len(steps))
    text = steps[-1] * full + (steps[rest - 1] if rest else "")
    return text[:width].ljust(width)


def progress(fraction: float, width: int, look: Look) -> str:
    """Draw a thin progress bar on its track."""
    style, glyphs = look
    full = int(min(max(fraction, 0.0), 1.0) * width)
    track = glyphs.thin if style.colour else glyphs.track
    done = look.paint(style.accent, glyphs.thin * full) if full else ""
    return done + (look.paint(style.muted, track * (width - full)) if full < width else "")


def thin_bar(fraction: float, width: int, glyphs: Glyphs) -> str:
    """Draw a thin bar of half-cell resolution, for tables: solid ones in neighbouring rows would melt into one."""
    halves = min(max(int(fraction * width * 2 + 0.5), 0), 2 * width)
    full, half = divmod(halves, 2)
    return (glyphs.thin * full + (glyphs.thin_half if half else "")).ljust(width)


def share_bar(share: float, expected: float | None, width: int, look: Look, colour: str, tick: str) -> str:
    """Draw a thin bar of half-cell resolution, with a tick where it should end; fractions are of the whole width."""
    style, glyphs = look
    text = thin_bar(share, width, glyphs)
    if expected is None:
        return f"{colour}{text}{style.reset}"
    at = min(int(expected * width + 0.5), width - 1)
    return f"{colour}{text[:at]}{style.reset}{tick}{glyphs.tick}{style.reset}{colour}{text[at + 1 :]}{style.reset}"


def sparkline(values: Sequence[float], width: int, glyphs: Glyphs, top: float | None = None) -> str:
    """Draw the newest values at the right, the highest at full height; blank where there was no value yet."""
    return _sparkline(tuple(values), width, glyphs.levels, top)


@lru_cache(maxsize=512)  # a frame has one for each of its rows, and they change twice a second
def _sparkline(values: tuple[float, ...], width: int, levels: str, top: float | None) -> str:
    shown = values[-width:]
    highest = top or max(shown, default=0.0)
    if highest <= 0:
        return (levels[0] * len(shown)).rjust(width)
    scale = (len(levels) - 1) / highest
    last = len(levels) - 1
    return "".join([levels[min(int(value * scale + 0.5), last)] for value in shown]).rjust(width)


def shape(counts: Sequence[int], width: int, glyphs: Glyphs) -> str:
    """One glyph per bucket in logarithmic height, so that a thin tail stays visible; the last takes all the rest."""
    return _shape(tuple(counts), width, glyphs.levels)


@lru_cache(maxsize=512)
def _shape(counts: tuple[int, ...], width: int, levels: str) -> str:
    cells = list(counts[:width])
    if len(counts) > width:
        cells[-1] += sum(counts[width:])
    highest = log1p(max(cells, default=0))
    if not highest:
        return " " * width
    scale = (len(levels) - 1) / highest
    return "".join([levels[int(log1p(cell) * scale + 0.5)] if cell else " " for cell in cells]).ljust(width)


def chart(values: Sequence[float | None], width: int, rows: int, glyphs: Glyphs, top: float) -> list[str]:
    """Columns over time, the newest at the right, ``rows`` lines from the top; None leaves a gap."""
    levels = glyphs.levels
    steps = len(levels)
    shown = list(values)[-width:]
    heights = [0] * (width - len(shown)) + [_height(value, top, rows * steps) for value in shown]
    lines = []
    for row in range(rows - 1, -1, -1):
        base = row * steps
        lines.append("".join([" " if high <= base else levels[min(steps, high - base) - 1] for high in heights]))
    return lines


def _height(value: float | None, top: float, steps: int) -> int:
    if value is None or value <= 0 or top <= 0:
        return 0
    return max(1, min(int(value / top * steps + 0.5), steps))
