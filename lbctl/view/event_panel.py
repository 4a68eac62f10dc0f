"""Errors and events, one line each."""

from __future__ import annotations

from collections.abc import Mapping

from lbctl.model import Code, Event
from lbctl.stats.report import ErrorGroup, Report
from lbctl.view.text import cell_len, clock, count
from lbctl.view.theme import Look

SERVER_FAULTS = frozenset({Code.UNKNOWN, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.UNAVAILABLE, Code.DATA_LOSS})


def error_lines(report: Report, rows: int, width: int, look: Look) -> list[str]:
    """Return the largest error groups: count, code, who decided it, message, the worst backend and its part."""
    if not report.error_groups:
        return [look.paint(look.style.muted, "    none")][:rows]
    return [_error(group, width, look) for group in report.error_groups[:rows]]


def _error(group: ErrorGroup, width: int, look: Look) -> str:
    style, glyphs = look
    role = style.err if group.code in SERVER_FAULTS else style.warn
    head = look.elide(f" {count(group.count, 6):>6} {group.code.name}", width)
    words = [look.show(group.message)] if group.message else []
    address = next(iter(group.backends), "")
    if address:
        words.append(f"{look.show(address)} {group.backends[address] * 100 // max(group.count, 1)}%")
    origin = f" {group.origin.value}" if width >= 72 and group.origin != "server" else ""
    tail = origin + "  " + f" {glyphs.dot} ".join(words)
    room = width - cell_len(head) - 1
    return look.paint(role, head) + (look.paint(style.muted, look.elide(tail, room)) if room > 3 else "")


def event_lines(report: Report, rows: int, width: int, look: Look, skip: int = 0) -> list[str]:
    """Return the newest events, the newest last; ``skip`` leaves out that many of the newest."""
    events = report.events
    end = max(len(events) - skip, 0)
    names = {row.key: row.address for row in report.backends}
    return [event_line(events[index], names, width, look) for index in range(max(end - max(rows, 0), 0), end)]


def event_mark(level: str, look: Look) -> tuple[str, str]:
    """Return the colour and the sign of an event's level."""
    style = look.style
    table = {"good": (style.ok, "+"), "change": (style.warn, "!"), "bad": (style.err, "x")}
    return table.get(level, (style.muted, look.glyphs.dot))


def event_words(event: Event, names: Mapping[str, str]) -> str:
    """Return the event's text, with the backend's address in front unless it is in the text already."""
    address = names.get(event.backend, event.backend) if event.backend else ""
    return f"{address} {event.text}" if address and address not in event.text else event.text


def event_line(event: Event, names: Mapping[str, str], width: int, look: Look) -> str:
    """Return when, how bad, and what; cut to the width."""
    style = look.style
    role, mark = event_mark(event.level, look)
    when = f"{event.t_s:.1f}s" if event.t_s < 1000 else clock(event.t_s)
    words = look.elide(look.show(event_words(event, names)), max(width - 13, 0))
    return f" {style.muted}{when:>8}{style.reset} {role}{mark}{style.reset} {words}"
