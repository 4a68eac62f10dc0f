"""The tables, rows and documents of ``health``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from lbctl.discovery.checkup import Checkup, Row
from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import HEALTH_ROLES, Look
from lbctl.view.text import NONE, clean, duration, plural
from lbctl.view.theme import Style

HEALTH: Final = "lbctl.health/v1"
_COLUMNS: Final = ("service", "layout", "key", "address", "health", "rtt_ms", "detail", "in_rotation")


def health_table(checkup: Checkup, look: Look, *, one: bool, wide: bool = False) -> Rendered:
    """One row per backend; ``one`` for those of a single service."""
    columns: list[Column[Row]] = [
        *([] if one else [Column("SERVICE", _service, shrink_to=20)]),
        Column("ADDRESS", lambda r: Cell(clean(r.instance.address)), shrink_to=21, cut="left"),
        Column("HEALTH", _health),
        Column("RTT", _rtt, keep=1, numeric=True),
        Column("ROTATION", _rotation, keep=2),
        Column("DETAIL", lambda r: Cell(clean(r.health.detail) or NONE), keep=3, shrink_to=20, cut="right"),
        *([Column("KEY", lambda r: Cell(clean(r.instance.key)), keep=4)] if wide else []),
    ]
    return render(
        columns, checkup.rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis
    )


def health_notes(checkup: Checkup) -> Iterator[str]:
    """What is said about the table."""
    if not checkup.rows:
        return
    out = sum(not row.in_rotation for row in checkup.rows)
    serving = len(checkup.rows) - out - len(checkup.failing)
    yield f"{serving} of {len(checkup.rows) - out} in the rotation serve" + (f"; {out} out of it" if out else "")
    unasked = sum(row.in_rotation and row.health.status == "UNIMPLEMENTED" for row in checkup.rows)
    if unasked and not checkup.strict:
        yield f"note: {plural(unasked, 'backend')} without grpc.health.v1 counted as serving (--strict: as failing)"


def health_row(row: Row, at: datetime, style: Style) -> str:
    """One change, as ``--watch`` prints it."""
    cell = _health(row)
    sgr = getattr(style, cell.role) if cell.role else ""
    word = f"{sgr}{cell.text:<15}{style.reset if sgr else ''}"
    where = f"{clean(row.instance.service)}  {clean(row.instance.address)}"
    return f"{at:%H:%M:%S}  {word}  {where}  {clean(row.health.detail)}".rstrip()


def health_names(checkup: Checkup) -> str:
    """Bare addresses of those that were asked, each once, one per line."""
    return "\n".join(dict.fromkeys(clean(row.instance.address) for row in checkup.rows))


def health_document(checkup: Checkup) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": HEALTH,
        "revision": checkup.revision,
        "asked": checkup.asked,
        "strict": checkup.strict,
        "healthy": checkup.healthy,
        "backends": [dict(zip(_COLUMNS, _record(row), strict=True)) for row in checkup.rows],
    }


def health_csv(checkup: Checkup, *, headers: bool = True) -> str:
    """One record per backend."""
    return as_csv(_COLUMNS, map(_record, checkup.rows), headers=headers)


def _record(row: Row) -> Sequence[object]:
    instance, health = row.instance, row.health
    rtt_ms = None if health.rtt_s is None else round(health.rtt_s * 1e3, 3)
    known = (instance.service, instance.layout, instance.key, instance.address)
    return (*known, str(health.status), rtt_ms, health.detail, row.in_rotation)


def _service(row: Row) -> Cell:
    return Cell(clean(row.instance.service), "bold")


def _health(row: Row) -> Cell:
    return Cell(str(row.health.status), HEALTH_ROLES.get(row.health.status, "err"))


def _rtt(row: Row) -> Cell:
    return Cell(duration(None if row.health.rtt_s is None else row.health.rtt_s * 1e6), "latency")


def _rotation(row: Row) -> Cell:
    if row.in_rotation:
        return Cell("in")
    return Cell(clean(row.instance.status) if row.instance.status is not None else "weight 0", "warn")
