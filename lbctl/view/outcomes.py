"""What became of thresholds, and of conditions that end a run: as lines, as words, as a document."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.view.figures import Document
from lbctl.view.text import NONE, cell_len, duration, rate
from lbctl.view.theme import Look

ABORT_ON = "abort-on"


def outcome_document(found: Outcome) -> Document:
    """One outcome as it stands in the run document; ``value`` and ``limit`` are in ``unit``."""
    document: Document = {
        "expr": found.expr,
        "value": None if found.value is None else round(found.value, 9),
        "unit": found.unit,
        "limit": found.limit,
        "ok": found.ok,
    }
    if found.backend is not None:
        document["backend"] = found.backend
    if found.method is not None:
        document["method"] = found.method
    if found.reason:
        document["reason"] = found.reason
    return document


def outcome_lines(report: Report, look: Look, width: int) -> list[str]:
    """The section of the summary; nothing where nothing was asked."""
    found = list(_named(report))
    if not found:
        return []
    expressions = [look.show(f"{name}{each.expr}") for name, each in found]
    values = [figure(each) for _, each in found]
    longest, wide = max(map(cell_len, expressions)), max(map(cell_len, values))
    lines = [look.paint(look.style.bold, "Thresholds")]
    for (_, each), expression, value in zip(found, expressions, values, strict=True):
        word = look.paint(look.style.ok, "ok  ") if each.ok else look.paint(look.style.err, "FAIL")
        head = f"  {word} {look.left(expression, longest)}  "
        tail = look.show("  ".join(filter(None, (each.where, each.reason))))
        beside = 2 + 5 + longest + 2 + wide + 2 + cell_len(tail) <= width
        lines.append(f"{head}{look.left(value, wide)}  {tail}" if tail and beside else head + value)
        if tail and not beside:
            lines.append(f"{' ' * 7}{look.elide(tail, width - 7)}")
    return lines


def sentence(found: Outcome) -> str:
    """What was measured, in words: ``63ms at 10.0.0.1:50051``, or why there is nothing."""
    value = figure(found) if found.value is not None else found.reason or "not measured"
    return f"{value} at {found.where}" if found.where else value


def figure(found: Outcome) -> str:
    """The value, with as many digits as tell it from the limit."""
    if found.value is None:
        return NONE
    shown = _spelled(found.value, found.unit)
    if found.value != found.limit and shown == _spelled(found.limit, found.unit):
        return f"{found.value:.7g}{found.unit}"
    return shown


def _spelled(value: float, unit: str) -> str:
    if unit == "ms":
        return duration(value * 1000)
    if unit == "%":
        return f"{value:.2f}%"
    if unit == "pp":
        return f"{value:.1f}pp"
    if value == int(value):
        return f"{value:,.0f}"
    return rate(value, 3) if value >= 0.001 else f"{value:.2g}"


def _named(report: Report) -> Iterator[tuple[str, Outcome]]:
    """Every outcome with what stands before its expression."""
    yield from (("", each) for each in report.thresholds)
    yield from ((f"{ABORT_ON} ", each) for each in report.abort_on)
