"""Why one call went where it went: the policy's sentence, and the candidates it compared."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from lbctl.stats.report import Candidate, Explanation, Report
from lbctl.view.text import cell_len
from lbctl.view.theme import Look

_MOST = 12  # candidates in text; the JSON document has all


def explanation_lines(report: Report, look: Look, width: int) -> list[str]:
    """Return the part of a summary about the first call; nothing where nobody asked."""
    found = report.explanation
    if found is None:
        return []
    title = look.paint(look.style.bold, "Why") + f"  the first call went to {look.show(found.backend)}"
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
    widths = [max(cell_len(line[index]) for line in table) for index in range(len(table[0]))]
    marks = ["  ", *(f"{look.glyphs.selected} " if each.address == found.backend else "  " for each in shown)]
    rows = [f"  {mark}{_row(line, widths, look)}".rstrip() for mark, line in zip(marks, table, strict=True)]
    rows[0] = look.paint(look.style.muted, rows[0])
    left_out = len(found.candidates) - len(shown)
    return [*lines, *rows, *([f"    {left_out:,} more, all in the JSON document"] if left_out else [])]


def _shown(found: Explanation) -> Sequence[Candidate]:
    """The first dozen, and the one that was picked wherever it is."""
    first = found.candidates[:_MOST]
    picked = [each for each in found.candidates[_MOST:] if each.address == found.backend]
    return [*first[: _MOST - len(picked[:1])], *picked[:1]] if picked else first


def _row(line: Sequence[str], widths: Sequence[int], look: Look) -> str:
    cells = [look.left(line[0], widths[0])]
    cells += [" " * (width - cell_len(text)) + text for text, width in zip(line[1:], widths[1:], strict=True)]
    return "  ".join(cells)
