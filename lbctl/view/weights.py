"""Weights of instances, as they are and as they are to be: the table and the document of ``weight``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from lbctl.discovery.weight_report import WRITTEN, WeightReport, WeightRow
from lbctl.view.figures import Document, ratio, stamp
from lbctl.view.lines import width_of
from lbctl.view.plain_table import Cell, Column, Rendered
from lbctl.view.services import Look
from lbctl.view.text import NONE, clean, duration, error_rate, percent
from lbctl.view.written import contents, identified, laid_out, written_table

WEIGHTS: Final = "lbctl.weights/v1"
_ARROW: Final = " -> "
_FIGURES: Final = re.compile(r"(?:errors|mean) \S+?(?: (?:above|below) \S+?)?(?:: |, (?=mean))")


def weights_table(report: WeightReport, look: Look) -> Rendered:
    """One row per instance: what its weight is and will be, and what that rests on where it was measured."""
    if not any(row.measured for row in report.rows):
        return written_table(_plain_columns(), report.rows, look)
    table = laid_out(_measured_columns(_whole), report.rows, replace(look, width=None))
    if look.width is None or max(map(width_of, table.lines)) <= look.width:
        return table
    return laid_out(_measured_columns(_brief), report.rows, look)


def _plain_columns() -> list[Column[WeightRow]]:
    return [
        Column("WEIGHT", _weights),
        Column("SHARE", _shares, keep=1),
    ]


def _measured_columns(why: Callable[[str], str]) -> list[Column[WeightRow]]:
    return [
        Column("ADDRESS", lambda row: Cell(clean(row.address)), shrink_to=21, cut="left"),
        Column("BASE", lambda row: _number(row.measured.base if row.measured else None), keep=3, numeric=True),
        Column("WEIGHT", _weights),
        Column("SHARE", _shares, keep=4),
        Column("CALLS", lambda row: _number(row.measured.requests if row.measured else None), keep=1, numeric=True),
        Column("ERR", _errors, keep=1, numeric=True),
        Column("MEAN", _mean, keep=1, numeric=True),
        Column(
            "WHY",
            lambda row: Cell(why(clean(row.measured.why)) if row.measured else NONE),
            keep=2,
            shrink_to=24,
            cut="right",
        ),
    ]


def _whole(why: str) -> str:
    return why


def _brief(why: str) -> str:
    """The reason without the figures that have columns of their own: ``doubled, +1``."""
    return _FIGURES.sub("", why)


def _weights(row: WeightRow) -> Cell:
    old = NONE if row.weight is None else str(row.weight)
    if not row.changes or row.weight == row.proposed:  # the same weight, and another status or spelling
        return Cell(old)
    return Cell(f"{old}{_ARROW}{row.proposed}", "bold")


def _shares(row: WeightRow) -> Cell:
    now, then = f"{percent(row.share)}%", f"{percent(row.share_proposed)}%"
    return Cell(now if now == then else f"{now}{_ARROW}{then}")


def _number(number: int | None) -> Cell:
    return Cell(NONE if number is None else str(number))


def _errors(row: WeightRow) -> Cell:
    return Cell(error_rate(row.measured.errors, row.measured.requests) if row.measured else NONE)


def _mean(row: WeightRow) -> Cell:
    mean_s = row.measured.mean_s if row.measured else None
    return Cell(NONE if mean_s is None else duration(mean_s * 1e6))


def weights_document(report: WeightReport) -> Document:
    """The document of ``weight -o json``, and of each line of ``-o jsonl``."""
    return {
        "schema": WEIGHTS,
        "at": stamp(report.at, milliseconds=True),
        "service": report.service,
        "layout": report.layout,
        "prefix": report.prefix,
        "revision": report.revision,
        "state": report.state,
        "method": report.method,
        "note": report.note,
        "action": report.action,
        "instances": [_instance(row, written=report.state == WRITTEN) for row in report.rows],
    }


def _instance(row: WeightRow, *, written: bool) -> Document:
    measured = row.measured
    return identified(row) | {
        "weight": row.weight,
        "proposed": row.proposed,
        "written": written and row.changes,
        "share": ratio(row.share),
        "share_proposed": ratio(row.share_proposed),
        **contents(row),
        "base": measured and measured.base,
        "requests": measured and measured.requests,
        "errors": measured and measured.errors,
        "error_rate": ratio(measured.errors / measured.requests) if measured and measured.requests else None,
        "mean_ms": round(measured.mean_s * 1e3, 4) if measured and measured.mean_s is not None else None,
        "why": measured and measured.why,
    }
