"""The latency histograms and the charts over time of the live view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lbctl.view.bars import bar, chart
from lbctl.view.digest import EDGES_US, Digest
from lbctl.view.lines import filled, rule
from lbctl.view.series import STEP_S, Series
from lbctl.view.text import count, duration
from lbctl.view.theme import Look

_LABELS = (f"<{duration(EDGES_US[0])}", *(duration(edge) for edge in EDGES_US))
_CHART_LEAST = 4  # a rule and three lines
_CHART_BEST = 10  # lines; higher ones are no clearer
_NOTHING = "    no call ended well yet"


def bucket_count(digests: Sequence[Digest | None]) -> int:
    """Return the lines that a histogram takes: one for "nothing yet"."""
    return len(buckets(digests, len(_LABELS))) or 1


def buckets(digests: Sequence[Digest | None], rows: int) -> list[tuple[str, list[int]]]:
    """Label and counts per digest of at most ``rows`` buckets: empty ends dropped, the tail merged as ``10ms+``."""
    columns = [found.counts for found in digests if found]
    used = [index for index in range(len(_LABELS)) if any(counts[index] for counts in columns)]
    if not used:
        return []
    first, last = used[0], used[-1]
    table = [
        (_LABELS[index], [found.counts[index] if found else 0 for found in digests]) for index in range(first, last + 1)
    ]
    if len(table) <= rows:
        return table
    label = table[rows - 1][0] + "+"
    merged = [sum(column) for column in zip(*(counts for _, counts in table[rows - 1 :]), strict=True)]
    return [*table[: rows - 1], (label, merged)]


def histogram_lines(found: Digest | None, rows: int, width: int, look: Look) -> list[str]:
    """One histogram with counts and percentages; exactly ``rows`` lines."""
    table = buckets([found], rows)
    if not found or not table:
        return filled([look.paint(look.style.muted, look.elide(_NOTHING, width))], rows)
    highest = max(counts[0] for _, counts in table) or 1
    room = max(width - 24, 1)
    style = look.style
    lines = [
        f" {style.muted}{label:>6}{style.reset}"
        f" {style.latency}{bar(counts[0] / highest, room, look.glyphs)}{style.reset}"
        f" {count(counts[0], 7):>7} {_part(counts[0], found.total)}"
        for label, counts in table
    ]
    return filled(lines, rows)


def _part(number: int, total: int) -> str:
    share = number / total * 100 if total else 0.0
    return f"{share:5.1f}%" if share < 99.95 else "  100%"


def two_histograms(digests: Sequence[Digest | None], rows: int, width: int, look: Look) -> list[str]:
    """All and the selected backend on one axis, each in parts of its own total."""
    table = buckets(digests, rows)
    if not table:
        return filled([look.paint(look.style.muted, _NOTHING)], rows)
    all_total, one_total = (found.total if found else 0 for found in digests)
    highest = max(max(a / (all_total or 1), b / (one_total or 1)) for _, (a, b) in table) or 1.0
    room = (width - 8 - 2 - 2 * 7) // 2
    style, glyphs = look
    lines = []
    for label, (a, b) in table:
        everyone = bar(a / (all_total or 1) / highest, room, glyphs)
        selected = bar(b / (one_total or 1) / highest, room, glyphs)
        lines.append(
            f" {style.muted}{label:>6}{style.reset} {style.latency}{everyone}{style.reset} {_part(a, all_total)}"
            f"  {style.accent}{selected}{style.reset} {_part(b, one_total)}"
        )
    return filled(lines, rows)


def charts(series: Series, lines: int, width: int, look: Look) -> list[str]:
    """Throughput, and below it the p99 of each step, as far as there is room."""
    if lines < _CHART_LEAST:
        return []
    both = lines >= 2 * _CHART_LEAST
    rows = min((lines // 2 if both else lines) - 1, _CHART_BEST)
    room = width - 9
    seconds = f"{room * STEP_S:.0f}s"
    style = look.style
    result = [rule(f"THROUGHPUT rps, {seconds}", width, look)]
    result += _labelled(series.total, lambda value: count(value, 7), rows, room, style.accent, look)
    if both:
        result.append(rule(f"P99 per {STEP_S:g}s, {seconds}", width, look))
        result += _labelled(series.p99, duration, rows, room, style.latency, look)
    return result


def _labelled(
    values: Sequence[float | None], spell: Callable[[float], str], rows: int, width: int, role: str, look: Look
) -> list[str]:
    shown = [value for value in list(values)[-width:] if value is not None]
    highest = max(shown, default=0.0)
    columns = chart(values, width, rows, look.glyphs, highest * 1.05)
    style = look.style
    labels = [""] * rows
    labels[-1] = "0"
    labels[0] = spell(highest) if shown else "-"
    return [
        f"{style.muted}{label:>7}{style.reset} {role}{cells}{style.reset}"
        for label, cells in zip(labels, columns, strict=True)
    ]
