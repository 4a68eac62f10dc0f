"""What became of expected backends, as a table, as a member of the document of ``ls``, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lbctl.discovery.expectation import Expectation, Missing
from lbctl.model import Instance
from lbctl.view.figures import Document
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import HEALTH_ROLES, Look
from lbctl.view.text import NONE, clean, duration

_ANSWERS = ("SERVING", "NOT_SERVING", "UNIMPLEMENTED")


class _Row(NamedTuple):
    address: str
    finding: str
    role: str
    health: Cell
    rtt: str
    key: str


def expectation_table(found: Expectation, look: Look) -> Rendered:
    """Lay out one row per backend that is missing or not expected."""
    columns: list[Column[_Row]] = [
        Column("EXPECTATION", lambda r: Cell(clean(r.address)), shrink_to=21, cut="left"),
        Column("FINDING", lambda r: Cell(r.finding, r.role)),
        Column("HEALTH", lambda r: r.health, keep=1),
        Column("RTT", lambda r: Cell(r.rtt, "latency"), keep=2, numeric=True),
        Column("KEY", lambda r: Cell(clean(r.key) or NONE), keep=3),
    ]
    rows = [*(_missing_row(found, each) for each in found.missing), *map(_unexpected_row, found.unexpected)]
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def expectation_document(found: Expectation) -> Document:
    """Return the ``expected`` of the services document."""
    return {
        "registered": found.registered,
        "missing": [_missing(found, each) for each in found.missing],
        "unexpected": [{"address": each.address, "key": each.key} for each in found.unexpected],
    }


def expectation_words(found: Expectation) -> Iterator[str]:
    """Yield what is said of it."""
    for each in found.missing:
        health = found.health.get(each.endpoint)
        if health is not None and health.status in _ANSWERS:
            address = clean(str(each.endpoint))
            yield f"note: {address} answers and is not registered: it gave up, or never tried, or does so elsewhere"
    total = found.registered + len(found.missing)
    more = f"; {len(found.unexpected)} not expected" if found.unexpected else ""
    yield f"{found.registered} of {total} expected backends registered{more}"


def _missing_row(found: Expectation, missing: Missing) -> _Row:
    health = found.health.get(missing.endpoint)
    cell = Cell(NONE) if health is None else Cell(str(health.status), HEALTH_ROLES.get(health.status, "err"))
    rtt = duration(health.rtt_s * 1e6 if health and health.rtt_s is not None else None)
    finding = "its key is unusable" if missing.key else "not registered"
    return _Row(str(missing.endpoint), finding, "err", cell, rtt, missing.key)


def _unexpected_row(instance: Instance) -> _Row:
    return _Row(instance.address, "not expected", "warn", Cell(NONE), NONE, instance.key)


def _missing(found: Expectation, missing: Missing) -> Document:
    health = found.health.get(missing.endpoint)
    return {
        "address": str(missing.endpoint),
        "key": missing.key or None,
        "health": str(health.status) if health else None,
        "rtt_ms": None if health is None or health.rtt_s is None else round(health.rtt_s * 1e3, 3),
    }
