"""A search for the highest rate: its curve as a table, and as a document."""

from __future__ import annotations

from textwrap import wrap

from lbctl.stats.report import Report
from lbctl.stats.searched import HOLDS, LIMITED, Probe, RateSearch
from lbctl.view.figures import Document, ratio
from lbctl.view.outcomes import outcome_document
from lbctl.view.plain_table import Cell, Column, render
from lbctl.view.text import duration, error_rate, rate
from lbctl.view.theme import Look

_ROLES = {HOLDS: "ok", LIMITED: "warn"}


def search_lines(report: Report, look: Look, width: int) -> list[str]:
    """The section of the summary, the lowest rate first; nothing where nothing was searched."""
    search = report.search
    if search is None:
        return []
    words = wrap(look.show(search.conclusion), width - 2, break_on_hyphens=False)
    what = look.show(" and ".join(search.objective))
    lines = [f"{look.paint(look.style.bold, 'Rate search')}  {look.elide(what, width - 13)}"]
    lines += [f"  {line}" for line in words]
    probes = [probe for found in search.by_rate.values() for probe in found]
    if not probes:
        return lines
    table = render(_COLUMNS, probes, look.style, width=width - 2, ellipsis=look.glyphs.ellipsis)
    lines += [f"  {line}" for line in table.lines]
    if search.low is not None and len(probes) > 1:
        lines.append(f"  everything below is of the run at {rate(search.low, 4)}/s")
    return lines


_COLUMNS: list[Column[Probe]] = [
    Column("RATE", lambda probe: Cell(rate(probe.rate, 4)), numeric=True),
    Column("DONE", lambda probe: Cell(rate(probe.done, 3)), numeric=True, keep=2),
    Column("P50", lambda probe: Cell(_ms(probe.p50_ms)), numeric=True, keep=1),
    Column("P99", lambda probe: Cell(_ms(probe.p99_ms)), numeric=True),
    Column("ERRORS", lambda probe: Cell(error_rate(probe.errors, probe.ok + probe.errors)), numeric=True),
    Column("DROPPED", lambda probe: Cell(f"{probe.dropped:,}"), numeric=True, keep=3),
    Column("VERDICT", lambda probe: Cell(probe.verdict, _ROLES.get(probe.verdict, "err"))),
    Column("WHY", lambda probe: Cell(probe.reason), shrink_to=12, cut="right", keep=4),
]


def _ms(value: float | None) -> str:
    return duration(None if value is None else value * 1000)


def search_document(search: RateSearch | None) -> Document | None:
    """The search as it stands in the run document."""
    if search is None:
        return None
    return {
        "objective": list(search.objective),
        "ended": search.ended,
        "best_rps": search.low,
        "bracket": [search.low, search.high],
        "precision": search.precision,
        "probe_s": search.probe_s,
        "probes": [_probe(each) for each in search.probes],
    }


def _probe(probe: Probe) -> Document:
    return {
        "rps": probe.rate,
        "done_rps": round(probe.done, 3),
        "requests": probe.requests,
        "ok": probe.ok,
        "errors": probe.errors,
        "cancelled": probe.cancelled,
        "dropped": probe.dropped,
        "p50_ms": None if probe.p50_ms is None else round(probe.p50_ms, 4),
        "p99_ms": None if probe.p99_ms is None else round(probe.p99_ms, 4),
        "busy": ratio(probe.busy),
        "late": ratio(probe.late),
        "verdict": probe.verdict,
        "reason": probe.reason,
        "close": probe.is_close,
        "thresholds": [outcome_document(each) for each in probe.outcomes],
    }
