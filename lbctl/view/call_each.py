"""The tables and documents of ``lbctl call --each``: what every backend replied, and who replied otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from lbctl.load.agreement import MISSING, Agreement, Asked, Difference
from lbctl.view.call import error_text, status
from lbctl.view.call_document import fields_record, status_record
from lbctl.view.figures import Document
from lbctl.view.metadata import metadata_cell
from lbctl.view.output import as_csv, as_json_text
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look
from lbctl.view.text import NONE, clean, duration, plural

EACH: Final = "lbctl.each/v1"
_LABELS: Final = ("version", "zone")
_COLUMNS: Final = ("address", "key", *_LABELS, "status", "latency_ms", "reply", "detail")
_LONGEST: Final = 500  # characters of a value
_UNREADABLE: Final = "UNREADABLE"


class _Line(NamedTuple):
    """What one group says, or one of its differences; its name is in the first row of each."""

    name: str
    members: str
    path: str
    here: str
    usual: str


def each_table(found: Agreement, look: Look, *, wide: bool = False) -> Rendered:
    """One row per backend."""
    held = {name for each in found.asked for name, value in each.instance.metadata.items() if value not in (None, "")}
    columns: list[Column[Asked]] = [
        Column("ADDRESS", lambda each: Cell(clean(each.instance.address)), shrink_to=21, cut="left"),
        Column("STATUS", lambda each: Cell(_status(each), "ok" if each.is_ok else "err")),
        Column("LATENCY", lambda each: Cell(_latency(each), "latency"), keep=2, numeric=True),
        Column("REPLY", lambda each: _reply(each, found)),
        *(Column(name.upper(), _label(name), keep=3) for name in _LABELS if name in held),
        *([Column("KEY", lambda each: Cell(clean(each.instance.key)), keep=4)] if wide else []),
        *(
            [Column("DETAIL", lambda each: Cell(_detail(each)), keep=1, shrink_to=20, cut="right")]
            if found.failed
            else []
        ),
    ]
    return _rendered(columns, found.asked, look)


def groups_table(found: Agreement, look: Look) -> Rendered:
    """What most say, and a row for every field that others say otherwise."""
    several = len(found.groups) > 1
    columns: list[Column[_Line]] = [
        Column("REPLY", lambda each: Cell(each.name, "bold")),
        Column("ON", lambda each: Cell(each.members), numeric=True),
        *([Column("FIELD", lambda each: Cell(each.path, "warn"), shrink_to=16)] if several else []),
        Column("SAYS", lambda each: Cell(each.here), shrink_to=20, cut="right"),
        *([Column("A SAYS", lambda each: Cell(each.usual), keep=1, shrink_to=16, cut="right")] if several else []),
    ]
    return _rendered(columns, list(_lines(found)), look)


def _lines(found: Agreement) -> Iterator[_Line]:
    for group in found.groups:
        name, count = group.name, str(len(group.members))
        if not group.differences:
            yield _Line(name, count, "", _shown(group.value), "")
        for difference in group.differences:
            yield _Line(
                name, count, clean(difference.path) or "(all)", _shown(difference.here), _shown(difference.usual)
            )
            name = count = ""


def each_note(found: Agreement) -> str:
    """What came of it, in a sentence."""
    count, groups = len(found.asked), len(found.groups)
    parts = [f"{plural(count, 'backend')}: {count - found.failed} OK"]
    if found.failed:
        parts.append(f"{found.failed} failed")
    if count - found.failed > 1:
        parts.append("all reply alike" if groups == 1 else f"{groups} different replies")
    if found.ignored:
        parts.append(f"ignoring {', '.join(map(clean, found.ignored))}")
    unmet = f" (no reply has {', '.join(map(clean, found.unmet))})" if found.unmet and found.groups else ""
    return ", ".join(parts) + unmet


def each_hint(found: Agreement) -> str:
    """What to try where the same fields differ everywhere, as those do in which a backend tells who it is."""
    others = [{each.path for each in group.differences} for group in found.groups[1:]]
    if not others or found.ignored or len(found.groups) < len(found.asked) - found.failed:
        return ""
    always = [each.path for each in found.groups[1].differences if all(each.path in paths for paths in others)]
    plain = [path for path in always if path and "[" not in path]
    return f"--ignore {','.join(plain)} leaves out what differs everywhere" if plain else ""


def each_document(found: Agreement) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": EACH,
        "service": found.service,
        "method": found.method,
        "kind": found.kind,
        "described_by": found.described_by or None,
        "ok": len(found.asked) - found.failed,
        "failed": found.failed,
        "alike": found.is_whole,
        "ignored": list(found.ignored),
        "backends": [_backend(each, found) for each in found.asked],
        "replies": [
            {
                "reply": group.name,
                "backends": [each.address for each in group.members],
                "value": group.value,
                "differences": [_difference(each) for each in group.differences],
            }
            for group in found.groups
        ],
    }


def each_csv(found: Agreement, *, headers: bool = True) -> str:
    """One record per backend."""
    return as_csv(_COLUMNS, (_record(each, found) for each in found.asked), headers=headers)


def _backend(asked: Asked, found: Agreement) -> Document:
    instance, done = asked.instance, asked.done
    return {
        "address": instance.address,
        "key": instance.key,
        "weight": instance.effective_weight,
        **{name: _text(asked, name) for name in _LABELS},
        "ok": asked.is_ok,
        "status": None if done is None else status_record(done),
        "headers": [] if done is None else fields_record(done.reply.headers, done.sensitive),
        "trailers": [] if done is None else fields_record(done.reply.metadata, done.sensitive),
        "error": None if asked.is_ok else _error(asked),
        "latency_ms": _ms(asked),
        "reply": found.group_of(instance) or None,
        "replies": [] if done is None else [each.value for each in done.answers],
    }


def _difference(difference: Difference) -> Document:
    """Values that are missing are left out."""
    sides = {"value": difference.here, "most": difference.usual}
    return {"path": difference.path, **{name: value for name, value in sides.items() if value is not MISSING}}


def _record(asked: Asked, found: Agreement) -> Sequence[object]:
    labels = [_text(asked, name) for name in _LABELS]
    known = (asked.instance.address, asked.instance.key, *labels)
    return (*known, _status(asked), _ms(asked), found.group_of(asked.instance) or None, _error(asked) or None)


def _text(asked: Asked, name: str) -> str | None:
    metadata = asked.instance.metadata
    return None if metadata.get(name) in (None, "") else metadata_cell(metadata, name)


def _status(asked: Asked) -> str:
    if asked.done is None:
        return asked.obstacle[0]
    return _UNREADABLE if asked.done.unreadable and asked.done.reply.is_ok else status(asked.done.reply)


def _error(asked: Asked) -> str:
    if asked.done is None:
        return asked.obstacle[1]
    return "" if asked.is_ok else error_text(asked.done)


def _detail(asked: Asked) -> str:
    """Without the status, which has a column."""
    text = _error(asked)
    return clean(text.removeprefix(f"{_status(asked)}: ")) or NONE


def _ms(asked: Asked) -> float | None:
    return None if asked.done is None else round(asked.done.latency_s * 1e3, 3)


def _latency(asked: Asked) -> str:
    return duration(None if asked.done is None else asked.done.latency_s * 1e6)


def _reply(asked: Asked, found: Agreement) -> Cell:
    name = found.group_of(asked.instance)
    return Cell(name or NONE, "" if name in ("", "A") else "warn")


def _label(name: str) -> Any:  # noqa: ANN401  # a function that makes a cell
    return lambda asked: Cell(_text(asked, name) or NONE)


def _shown(value: object) -> str:
    return "(missing)" if value is MISSING else clean(as_json_text(value), _LONGEST)


def _rendered(columns: Sequence[Column[Any]], rows: Sequence[Any], look: Look) -> Rendered:
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)
