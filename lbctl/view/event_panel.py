"""Errors and events, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from textwrap import wrap

from lbctl.model import Code, Event
from lbctl.stats.report import ErrorGroup, Report
from lbctl.view.text import cell_len, clock, count, part
from lbctl.view.theme import Look

_WHEN = 12  # cells of an event's line before its words
_LINES = 3  # of an event on the screen
_MESSAGE = 12  # cells of a message that are worth showing
SERVER_FAULTS = frozenset({Code.UNKNOWN, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.UNAVAILABLE, Code.DATA_LOSS})


def error_lines(report: Report, rows: int, width: int, look: Look) -> list[str]:
    """Return the largest error groups: count, code, who decided it, message, the worst backend and its part."""
    if not report.error_groups:
        return [look.paint(look.style.muted, "    none")][:rows]
    return [_error(group, width, look) for group in report.error_groups[:rows]]


def errors_in_full(report: Report, rows: int, width: int, look: Look) -> list[str]:
    """Return the same, each on up to three lines, as many as fit whole, and how many more there are."""
    groups = report.error_groups
    found: list[list[str]] = [_error_whole(group, width, look) for group in groups[:rows]]
    while len(found) > 1 and sum(map(len, found)) + (len(found) < len(groups)) > rows:
        found.pop()
    lines = [line for each in found for line in each]
    if len(found) < len(groups) and len(lines) < rows:
        left_out = f"    {look.glyphs.ellipsis} {len(groups) - len(found)} more, all in the JSON document"
        lines.append(look.paint(look.style.muted, look.elide(left_out, width)))
    return lines[:rows] or error_lines(report, rows, width, look)


def _error_whole(group: ErrorGroup, width: int, look: Look) -> list[str]:
    """What is cut of the message in the first line is in the next ones, with the rest of it."""
    message = look.show(group.message)
    line = _error(group, width, look)
    if message in line:
        return [line]
    placeholder = f" {look.glyphs.ellipsis}"
    words = wrap(message, width - _WHEN - 1, break_on_hyphens=False, max_lines=_LINES - 1, placeholder=placeholder)
    told = [look.paint(look.style.muted, " " * _WHEN + look.elide(each, width - _WHEN)) for each in words]
    return [_error(replace(group, message=""), width, look), *told]


def _error(group: ErrorGroup, width: int, look: Look) -> str:
    style = look.style
    role = style.err if group.code in SERVER_FAULTS else style.warn
    head = look.elide(f" {count(group.count, 6):>6} {group.code.name}", width)
    address = next(iter(group.backends), "")
    place = f"{look.show(address)} {part(group.backends[address], group.count)}" if address else ""
    origin = f" {group.origin.value}" if width >= 72 and group.origin != "server" else ""
    room = width - cell_len(head) - 1
    tail = origin + "  " + _message(look.show(group.message), place, room - len(origin) - 2, look)
    return look.paint(role, head) + (look.paint(style.muted, look.elide(tail, room)) if room > 3 else "")


def _message(message: str, place: str, room: int, look: Look) -> str:
    """Return the message and where most of them are; the message is cut rather than the place."""
    between = f" {look.glyphs.dot} "
    if message and place and room - cell_len(place) - len(between) >= _MESSAGE:
        message = look.elide(message, room - cell_len(place) - len(between))
    return between.join(words for words in (message, place) if words)


def event_lines(report: Report, rows: int, width: int, look: Look, skip: int = 0) -> list[str]:
    """Return the newest events, the newest last; ``skip`` leaves out that many of the newest."""
    events = report.events
    end = max(len(events) - skip, 0)
    names = {row.key: row.address for row in report.backends}
    return [event_line(events[index], names, width, look) for index in range(max(end - max(rows, 0), 0), end)]


def events_in_full(report: Report, rows: int, width: int, look: Look, skip: int = 0) -> list[str]:
    """Return the newest events, the newest last, each on up to three lines: as many as fit whole."""
    names = {row.key: row.address for row in report.backends}
    lines: list[str] = []
    for event in reversed(report.events[: max(len(report.events) - skip, 0)]):
        whole = event_lines_whole(event, names, width - 1, look, most=_LINES)
        if len(lines) + len(whole) > rows:
            break
        lines = [*whole, *lines]
    return lines


def newer_than_first(report: Report, rows: int, width: int, look: Look) -> int:
    """How many events are newer than those that fit when the first of all is on top."""
    names = {row.key: row.address for row in report.backends}
    for index, event in enumerate(report.events):
        rows -= len(event_lines_whole(event, names, width - 1, look, most=_LINES))
        if rows < 0:
            return len(report.events) - index
    return 0


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
    return _when(event, look) + look.elide(look.show(event_words(event, names)), max(width - _WHEN - 1, 0))


def event_lines_whole(
    event: Event, names: Mapping[str, str], width: int, look: Look, most: int | None = None
) -> list[str]:
    """Return the same with all of its words, on as many lines as they need, or ``most``."""
    text, room = look.show(event_words(event, names)), width - _WHEN
    if cell_len(text) <= room:
        return [_when(event, look) + text]
    found = wrap(text, room, break_on_hyphens=False, max_lines=most, placeholder=f" {look.glyphs.ellipsis}") or [""]
    words = [look.elide(line, room) for line in found]  # a character may take two cells
    return [_when(event, look) + words[0], *(" " * _WHEN + line for line in words[1:])]


def _when(event: Event, look: Look) -> str:
    style = look.style
    role, mark = event_mark(event.level, look)
    tenths = round(event.t_s, 1) + 0.0  # what was just before a run was begun anew is at 0
    when = f"{tenths:.1f}s" if abs(tenths) < 1000 else f"{'-' if tenths < 0 else ''}{clock(abs(tenths))}"
    return f" {style.muted}{when:>8}{style.reset} {role}{mark}{style.reset} "
