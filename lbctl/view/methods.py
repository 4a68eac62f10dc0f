"""The methods of a run of several: their part of the document, and their table."""

from __future__ import annotations

from lbctl.stats.report import MethodRow, Report
from lbctl.view.figures import Document, latency_ms, rate, ratio
from lbctl.view.text import NONE, cell_len, duration, error_rate, left
from lbctl.view.theme import Look

_NAME = 34  # cells of a name


def methods(report: Report) -> list[Document]:
    """Return what became of each method's calls; nothing for a run of one."""
    return [_method(each, report) for each in report.methods]


def _method(row: MethodRow, report: Report) -> Document:
    return {
        "method": row.method,
        "weight": row.weight,
        "requests": row.requests,
        "share": ratio(row.requests / report.completed if report.completed else None),
        "ok": row.ok,
        "errors": row.errors,
        "cancelled": row.cancelled,
        "rps": rate(row.ok + row.errors, report.elapsed_s),
        "codes": {code.name: count for code, count in row.codes.items()},
        "latency_ms": latency_ms(row.latency),
    }


def method_lines(report: Report, look: Look) -> list[str]:
    """Return a table of the methods under its title; nothing for a run of one."""
    if not report.methods:
        return []
    names = [look.elide(look.show(row.method), _NAME) for row in report.methods]
    width = max(cell_len("METHOD"), *map(cell_len, names))
    head = f"  {'METHOD':<{width}}  {'PART':>6} {'SENT':>8} {'ERR':>7} {'P50':>7} {'P99':>7} {'MAX':>7}"
    lines = [look.paint(look.style.bold, "Methods"), look.paint(look.style.muted, head)]
    for name, row in zip(names, report.methods, strict=True):
        part = f"{row.requests / report.completed * 100:.1f}%" if report.completed else NONE
        p50, p99 = row.latency.quantiles((0.5, 0.99)) if row.ok else (None, None)
        times = [NONE if us is None else duration(us) for us in (p50, p99, row.latency.max_us if row.ok else None)]
        failed = error_rate(row.errors, row.ok + row.errors)
        cells = " ".join(f"{cell:>7}" for cell in (failed, *times))
        lines.append(f"  {left(name, width)}  {part:>6} {row.requests:>8,} {cells}")
    return lines
