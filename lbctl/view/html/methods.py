"""The table of a page for a run of several methods."""

from __future__ import annotations

from lbctl.stats.report import MethodRow, Report
from lbctl.view.html.markup import Child, Html, el
from lbctl.view.html.tables import table
from lbctl.view.text import NONE, duration, error_rate

_HEADS = (("Method", ""), *((title, "num") for title in ("Part", "Sent", "Errors", "p50", "p90", "p99", "max")))


def methods(report: Report) -> Html | None:
    """What became of each method's calls; None for a run of one."""
    return table(_HEADS, [_cells(row, report.completed) for row in report.methods]) if report.methods else None


def _cells(row: MethodRow, calls: int) -> list[Child]:
    times = [*row.latency.quantiles((0.5, 0.9, 0.99)), row.latency.max_us] if row.ok else [None] * 4
    return [
        el("span", row.method, cls="mono"),
        f"{row.requests / calls * 100:.1f}%" if calls else NONE,
        f"{row.requests:,}",
        error_rate(row.errors, row.ok + row.errors),
        *(duration(us) for us in times),
    ]
