"""The backend table of the live view: a rule with the verdict, the heads, and the rows that fit."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.stats.report import BackendRow, Balance, Report
from lbctl.view.columns import Column, columns
from lbctl.view.lines import Span, coloured, joined, plain, rule, titled
from lbctl.view.standing import Totals, line, state_mark, totals
from lbctl.view.text import cell_len
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

_VERDICTS = {"balanced": "balanced", "skewed": "SKEWED", "too_few": "n small"}


def table(report: Report, ordered: list[BackendRow], ui: Ui, rows: int, width: int, look: Look) -> Iterator[list[str]]:
    """Exactly ``rows`` + 2 lines of the backends in this order, in pieces.

    Scrolls so that the selected backend is in the middle where it can.
    """
    chosen = ui.position(ordered)
    yield [_rule(report, ui, width, look)]
    sums = totals(report)
    address, cols = columns(report, sums, width, look)
    yield [_heads(address, cols, width, look)]
    if not ordered:
        words = "    no such backend" if report.backends else "    no backends"
        yield [look.paint(look.style.muted, look.elide(words, width)), *[""] * (rows - 1)]
        return
    first, shown = window(len(ordered), chosen, rows)
    for index in range(first, first + shown):
        yield [_row(ordered[index], ui, report.elapsed_s, sums, address, cols, look, selected=index == chosen)]
    if shown < min(rows, len(ordered)):
        yield [_more(len(ordered), first, shown, width, look)]


def window(count: int, chosen: int, rows: int) -> tuple[int, int]:
    """Return the first row to show and how many: one line is left for "more" when not all fit."""
    if count <= rows:
        return 0, count
    shown = max(rows - 1, 1)
    return min(max(chosen - shown // 2, 0), count - shown), shown


def verdict(balance: Balance, look: Look) -> Span:
    """Say ``max Δ 10.7pp  SKEWED``, with p where a test was made; no figures where there is nothing to compare with."""
    style = look.style
    if balance.verdict == "not_applicable":
        words = "load-aware, not judged" if balance.expectation == "feedback" else "not judged"
        return coloured(look, style.muted, words)
    role = {"balanced": style.ok, "skewed": style.bold + style.err}.get(balance.verdict, style.muted)
    spans = []
    if balance.max_delta is not None:
        spans.append(plain(f"max {look.glyphs.delta} {balance.max_delta * 100:.1f}pp  "))
    if balance.p_value is not None:
        spans.append(plain(p_words(balance.p_value) + "  "))
    return joined(*spans, coloured(look, role, _VERDICTS.get(balance.verdict, balance.verdict)))


def p_words(p_value: float) -> str:
    """``p=0.43``, ``p<0.001``."""
    return "p<0.001" if p_value < 0.001 else f"p={p_value:.3f}" if p_value < 0.1 else f"p={p_value:.2f}"


def _rule(report: Report, ui: Ui, width: int, look: Look) -> str:
    present = [row for row in report.backends if row.state != "left"]
    ready = sum(row.state == "ready" for row in present)
    order = f"  sort:{ui.sort_name}{' reversed' if ui.reverse else ''}"
    window = ui.sight.window
    # A verdict on five seconds, looked at over and over, would find chance wanting all the time.
    judged = joined(plain("run: " if window else ""), verdict(report.balance, look))
    tail = joined(judged, plain(order))
    wanted = f"  {len(ui.listed(report))} of {len(report.backends)} /{look.show(ui.wanted)}" if ui.wanted else ""
    title = titled(f"BACKENDS {ready}/{len(present)}{wanted}", window)
    if len(title) + tail.width + 6 > width:
        tail = judged
    return rule(title, width, look, tail)


def _heads(address: int, cols: list[Column], width: int, look: Look) -> str:
    cells = [look.left("ADDRESS", address + 2)]
    cells += [column.title.ljust(column.width) if column.left else column.title.rjust(column.width) for column in cols]
    return look.paint(look.style.muted, look.elide("  " + " ".join(cells), width))


def _row(
    row: BackendRow, ui: Ui, now_s: float, sums: Totals, address: int, cols: list[Column], look: Look, *, selected: bool
) -> str:
    style, glyphs = look
    role, mark = state_mark(row.state, look)
    text = look.elide_left(look.show(row.address), address)
    text += " " * (address - cell_len(text))
    data = line(row, ui, now_s, sums, look)
    cells = " ".join([column.cell(data, column.width, look) for column in cols])
    if selected and ui.can_type:
        marker = f"{style.accent}{style.bold}{glyphs.selected}{style.reset}"
        return f"{marker} {role}{mark}{style.reset} {style.bold}{text}{style.reset} {cells}"
    name = f"{style.muted}{text}{style.reset}" if row.state == "left" else text
    return f"  {role}{mark}{style.reset} {name} {cells}"


def _more(count: int, first: int, shown: int, width: int, look: Look) -> str:
    below = count - first - shown
    words = f"    {look.glyphs.ellipsis} {count - shown} more ({first} above, {below} below)"
    return look.paint(look.style.muted, look.elide(words, width))
