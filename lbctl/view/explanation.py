"""Why one call went where it went: the policy's sentence, and the candidates it compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from lbctl.stats.report import Candidate, Explanation, Report
from lbctl.view.text import cell_len
from lbctl.view.theme import Look

_FIGURE = re.compile(r"-|[-+]?\d[\d.,e+-]*(%|[mu]?s)?|inf")
_MOST = 12  # candidates in text; the JSON document has all


def explanation_lines(report: Report, look: Look, width: int) -> list[str]:
    """Return the part of a summary about the call that was asked for; nothing where nobody asked."""
    found = report.explanation
    if found is None:
        return []
    call = "the first call" if found.pick == 1 else f"pick {found.pick:,}"
    title = look.paint(look.style.bold, "Why") + f"  {call} went to {look.show(found.backend)}"
    return [title, *explained(found, look, width)]


def explained(found: Explanation, look: Look, width: int) -> list[str]:
    """Return the sentence and the table, indented by two."""
    key = "" if found.hash_key is None else f" (key {look.show(found.hash_key)})"
    text = f"{found.policy}: {look.show(found.text)}{key}"
    lines = wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    shown = _shown(found)
    if not shown:
        return lines
    table = [("ADDRESS", *(column.upper() for column in found.columns))]
    table += [(look.show(each.address), *map(look.show, each.figures)) for each in shown]
    columns = [_aligned(column, look) for column in zip(*table, strict=True)]
    marks = ["  ", *(f"{look.glyphs.selected} " if each.address == found.backend else "  " for each in shown)]
    rows = [f"  {mark}{'  '.join(line)}".rstrip() for mark, line in zip(marks, zip(*columns, strict=True), strict=True)]
    rows[0] = look.paint(look.style.muted, rows[0])
    left_out = len(found.candidates) - len(shown)
    return [*lines, *rows, *([f"    {left_out:,} more, all in the JSON document"] if left_out else [])]


def _shown(found: Explanation) -> Sequence[Candidate]:
    """The first dozen, and the one that was picked wherever it is."""
    first = found.candidates[:_MOST]
    picked = [each for each in found.candidates[_MOST:] if each.address == found.backend]
    return [*first[: _MOST - len(picked[:1])], *picked[:1]] if picked else first


def _aligned(column: Sequence[str], look: Look) -> list[str]:
    """Figures to the right, words to the left."""
    width = max(map(cell_len, column))
    if all(map(_FIGURE.fullmatch, column[1:])):
        return [" " * (width - cell_len(text)) + text for text in column]
    return [look.left(text, width) for text in column]
