"""The tables of a run's page: who got how much, what failed, what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from lbctl.model import Event
from lbctl.stats.report import BackendRow, ErrorGroup, Report
from lbctl.view.digest import Digest, digest
from lbctl.view.event_panel import SERVER_FAULTS, event_words
from lbctl.view.html.markup import Child, Html, el, joined
from lbctl.view.outcomes import ABORT_ON, figure
from lbctl.view.standing import condition
from lbctl.view.text import NONE, clock, duration, part, percent, points

_EVENTS = 500
_ERRORS = 100


class Column(NamedTuple):
    """A head, a cell for each row, and the class of both."""

    title: str
    cell: Callable[[Row], Child]
    cls: str = "num"


class Row(NamedTuple):
    """A backend with its shares of what was sent and of what was due."""

    row: BackendRow
    share: float | None
    due: float | None  # None where it is only a guide
    z: float | None  # how many standard deviations the picks are off, where chance decided
    times: Digest | None


def table(heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[Child]], cls: str = "") -> Html:
    """A table that scrolls where it is too wide; heads have a class that their cells share."""
    head = el("tr", *(el("th", title, cls=cls, scope="col") for title, cls in heads))
    lines = [el("tr", *(el("td", cell, cls=cls) for cell, (_, cls) in zip(row, heads, strict=True))) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", *lines), cls=cls), cls="scroll")


def distribution(report: Report) -> Html:
    """Who got how much, with bars and a mark where each share was expected."""
    rows = list(_rows(report))
    widest = max((edge for row in rows for edge in _edges(row)), default=0.0) or 1.0
    columns = list(_columns(report, rows, widest))
    heads = [(column.title, column.cls) for column in columns]
    return table(heads, [[column.cell(row) for column in columns] for row in rows])


def _rows(report: Report) -> Iterator[Row]:
    attempts = sum(row.attempts for row in report.backends)
    picks, expected = sum(row.picks for row in report.backends), sum(row.expected for row in report.backends)
    stated = expected > 0 and report.balance.stated
    chance = report.balance.expectation in ("multinomial", "hash") and picks > 0
    for row in report.backends:
        share, due = row.attempts / attempts if attempts else None, row.expected / expected if stated else None
        z = _z(row.picks, picks, due) if chance and due is not None else None
        yield Row(row, share, due, z, digest(row.latency))


def _z(picks: int, total: int, due: float) -> float | None:
    spread = sqrt(total * due * (1 - due))
    return (picks - total * due) / spread if spread > 0 else None


def _edges(each: Row) -> Iterator[float]:
    yield each.share or 0.0
    yield each.due or 0.0
    if each.row.band is not None:
        yield each.row.band[1]


def _columns(report: Report, rows: Sequence[Row], widest: float) -> Iterator[Column]:
    banded, stated = any(each.row.band for each in rows), report.balance.stated
    yield Column("Backend", lambda each: el("span", each.row.address, cls="mono", title=each.row.key), "")
    yield Column("Weight", lambda each: _weight(each.row))
    yield Column("Share of calls", lambda each: share_bar(each, widest), "share")
    yield Column("Share", lambda each: _percent(each.share))
    if stated or banded:
        yield Column("Expected", _expected)
    if stated:
        yield Column("Δ", lambda each: _delta(each))
    if any(each.z is not None for each in rows):
        yield Column("z", lambda each: NONE if each.z is None else f"{round(each.z, 1) + 0.0:+.1f}")
    yield Column("Calls", lambda each: f"{each.row.attempts:,}")
    yield Column("Errors", _errors_of)
    for title, figures in (
        ("p50", lambda found: found.p50),
        ("p90", lambda found: found.p90),
        ("p99", lambda found: found.p99),
        ("max", lambda found: found.max_us),
    ):
        yield Column(title, lambda each, figures=figures: duration(each.times and figures(each.times)))  # type: ignore[misc]
    if any(condition(each.row) or each.row.joined_s > 0.05 for each in rows):
        yield Column("State", lambda each: _state(each.row), "words muted")


def _weight(row: BackendRow) -> str:
    return f"{row.weight:,}" if row.override is None else f"{row.weight:,} ({row.override:.3g} used)"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{percent(share)}%"


def _expected(each: Row) -> str:
    if each.row.band is None:
        return _percent(each.due)
    low, high = each.row.band
    return f"{low * 100:.1f}–{high * 100:.1f}%"


def _delta(each: Row) -> str:
    if each.share is None or each.due is None:
        return NONE
    return f"{points(each.share - each.due)} pp"


def _errors_of(each: Row) -> Html:
    row = each.row
    return el("span", f"{row.errors:,}", cls="is-err" if row.errors else "muted")


def _state(row: BackendRow) -> str:
    words = [condition(row)] if condition(row) else []
    if row.joined_s > 0.05:
        words.append(f"joined at {row.joined_s:.1f}s")
    return ", ".join(words)


def share_bar(each: Row, widest: float) -> Html:
    """A bar as long as the share, and over it the range of a simulation, or a mark where the share was expected."""
    pieces = [el("i", style=f"width:{(each.share or 0.0) / widest:.2%}")]
    if each.row.band is not None:
        low, high = each.row.band
        title = f"simulated {low * 100:.1f}% to {high * 100:.1f}%"
        pieces.append(el("u", style=f"left:{low / widest:.2%};width:{(high - low) / widest:.2%}", title=title))
    elif each.due is not None:
        pieces.append(el("b", style=f"left:{min(each.due / widest, 1.0):.2%}", title=f"expected {percent(each.due)}%"))
    return el("span", *pieces, cls="bar")


def errors(report: Report) -> Html:
    """Failed calls in groups, the largest first."""
    if not report.error_groups:
        return el("p", "None.", cls="muted")
    heads = [("Calls", "num"), ("Code", ""), ("Message", "words")]
    rows = [(f"{group.count:,}", _code(group), _message(group)) for group in report.error_groups[:_ERRORS]]
    found = table(heads, rows)
    more = len(report.error_groups) - _ERRORS
    return joined([found, el("p", f"{more:,} more kinds, in the document.", cls="muted")]) if more > 0 else found


def _code(group: ErrorGroup) -> Html:
    role = "is-err" if group.code in SERVER_FAULTS else "is-warn"
    return joined([el("span", group.code.name, cls=role), el("small", f"decided by {group.origin.value}")])


def _message(group: ErrorGroup) -> Html:
    place = _place(group)
    example = group.example if group.example != group.message else ""
    return joined(
        [
            el("span", group.message or "(no message)"),
            el("small", f"e.g. {example}") if example else None,
            el("small", f"mostly at {place}") if place else None,
        ]
    )


def _place(group: ErrorGroup) -> str:
    address = next(iter(group.backends), "")
    return f"{address} {part(group.backends[address], group.count)}" if address else ""


def events(report: Report) -> Html:
    """What happened, in order."""
    if not report.events:
        return el("p", "None.", cls="muted")
    names = {row.key: row.address for row in report.backends}
    rows = [
        (moment(event.t_s), el("span", cls=f"level {_level(event)}", title=event.level), event_words(event, names))
        for event in report.events[:_EVENTS]
    ]
    found = table([("At", "num when"), ("", "when"), ("What", "words")], rows)
    more = len(report.events) - _EVENTS
    return joined([found, el("p", f"{more:,} more, in the document.", cls="muted")]) if more > 0 else found


def _level(event: Event) -> str:
    return event.level if event.level in ("good", "change", "bad") else ""


def moment(t_s: float) -> str:
    """When something happened."""
    return f"{t_s:.1f}s" if t_s < 1000 else clock(t_s)


def thresholds(report: Report) -> Html | None:
    """What was asked of the run and whether it held; None where nothing was."""
    found = [*(("", each) for each in report.thresholds), *((f"{ABORT_ON} ", each) for each in report.abort_on)]
    if not found:
        return None
    rows = [
        (
            el("span", "ok" if each.ok else "FAIL", cls="is-ok" if each.ok else "is-err"),
            el("span", f"{name}{each.expr}", cls="mono"),
            figure(each),
            " ".join(filter(None, (each.where, each.reason))),
        )
        for name, each in found
    ]
    return table([("", ""), ("Threshold", ""), ("Measured", "num"), ("", "words muted")], rows, "narrow")
