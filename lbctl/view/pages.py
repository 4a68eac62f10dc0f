"""What the live view shows besides its main page: the key hints, help, all errors and events, and the one-liner."""

from __future__ import annotations

from math import ceil

from lbctl.load.controls import Question
from lbctl.stats.report import Report
from lbctl.view.connection_table import connection_table
from lbctl.view.connections import connection_lines
from lbctl.view.event_panel import errors_in_full, events_in_full, newer_than_first
from lbctl.view.header import fraction
from lbctl.view.lines import filled, fitting, rule, titled
from lbctl.view.stream_lines import stream_lines
from lbctl.view.text import cell_len, count, duration
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

# key, what it does in the footer; the last ones are left out first where space is short
_HINTS = (
    ("q", "quit"),
    ("space", "pause"),
    ("?", "help"),
    ("+/-", "load"),
    ("p", "policy"),
    ("d", "drain"),
    ("j/k", "select"),
    ("s", "sort"),
    ("w", "window"),
    ("h", "hist"),
    ("e", "events"),
    ("n", "connections"),
    ("/", "filter"),
)
_ORDER = ("q", "space", "+/-", "p", "j/k", "d", "s", "w", "h", "e", "n", "/", "?")

HELP = (
    ("q", "stop, then quit"),
    ("Q", "the same, keep last frame"),
    ("space", "pause or resume"),
    ("+ -", "load 25% up or down"),
    ("> <", "double or halve the load"),
    ("p P", "next or previous policy"),
    ("d", "drain or undrain, only here"),
    ("D", "for every client (asks)"),
    ("Ctrl-C", "stop; twice: abort"),
    ("j k", "select a backend"),
    ("g G", "first, last; PgUp PgDn"),
    ("enter", "histogram of this backend"),
    ("h", "histogram on or off"),
    ("s r", "sort by the next, reverse"),
    ("w", "totals, last seconds"),
    ("c", "begin anew, count from 0"),
    ("e", "all errors and events"),
    ("n", "connections, streams"),
    ("/", "only backends with this"),
    ("Ctrl-L", "repaint"),
    ("? Esc", "close"),
)


def footer(report: Report, ui: Ui, width: int, look: Look) -> str:
    """Return the keys that do something now; while stopping, what is waited for."""
    if ui.asked is not None:
        return registry_line(ui.asked, "", width, look)
    if report.stopping:
        words = f" stopping, {report.in_flight:,} in flight"
        words += "" if report.grace_s is None else f", up to {ceil(report.grace_s)}s"
        words += " (q or Ctrl-C again: abort)" if ui.can_type else " (Ctrl-C again: abort)"
        role = look.style.warn + look.style.reverse
        return look.paint(role, look.left(words, width))
    if not ui.can_type:
        return look.paint(look.style.muted, look.elide(" Ctrl-C stops", width))
    if ui.busy:
        return registry_line(None, ui.busy, width, look)
    if ui.typing:
        typed = f" /{look.show(ui.wanted)}_  Enter: keep  Esc: all backends"
        return look.paint(look.style.reverse, look.left(typed, width))
    if ui.page != "main":
        scroll = (("j/k", "scroll"), ("w", _other(ui))) if ui.page == "events" else ()
        return hints((*scroll, ("Esc", "back"), ("q", "quit")), width, look)
    return hints(_fitting(report, ui, width), width, look)


def registry_line(asked: Question | None, busy: str, width: int, look: Look) -> str:
    """Return what is asked before the registry is changed, or what is waited for."""
    style = look.style
    if asked is None:
        return look.paint(style.reverse, look.left(f" {busy} {look.glyphs.ellipsis}", width))
    question = f" {look.show(asked.ask)} [y/N]"
    room = width - cell_len(question)
    if room < 0:  # the answer must be known to be wanted
        question, room = look.elide_middle(question, width), 0
    return look.paint(style.warn + style.reverse, question + look.left(f"  {look.show(asked.about)}", room))


def _fitting(report: Report, ui: Ui, width: int) -> tuple[tuple[str, str], ...]:
    """The keys of the main page, as many as there is room for."""
    found: list[tuple[str, str]] = []
    now = {"space": "resume" if report.paused else "pause", "w": _other(ui)}
    for key, usual in sorted(_HINTS, key=lambda hint: ui.recent and hint[0] != "w"):  # the way back comes first
        words = now.get(key, usual)
        if _length([*found, (key, words)]) <= width:
            found.append((key, words))
    return tuple(sorted(found, key=lambda hint: _ORDER.index(hint[0])))


def _other(ui: Ui) -> str:
    """What ``w`` turns to."""
    return "totals" if ui.recent else f"last {ui.sight.span_s:g}s"


def hints(pairs: tuple[tuple[str, str], ...], width: int, look: Look) -> str:
    """Keys in bold, what they do muted."""
    style = look.style
    if _length(list(pairs)) > width:
        return look.elide(" " + "  ".join(f"{key} {words}" for key, words in pairs), width)
    return " " + "  ".join(f"{style.bold}{key}{style.reset} {look.paint(style.muted, words)}" for key, words in pairs)


def _length(pairs: list[tuple[str, str]]) -> int:
    return 1 + sum(len(key) + len(words) + 3 for key, words in pairs) - 2


def with_help(
    body: list[str],
    width: int,
    look: Look,
    entries: tuple[tuple[str, str], ...] = HELP,
    scroll: int | None = None,
) -> list[str]:
    """Return the body with the table of keys drawn over its lower part; ``scroll``: first of its lines, if it can."""
    box = _help_box(entries, len(body), width, look, scroll)[: len(body)]
    return body[: len(body) - len(box)] + box


def _help_box(entries: tuple[tuple[str, str], ...], most: int, width: int, look: Look, scroll: int | None) -> list[str]:
    style, glyphs = look
    keys = max(len(key) for key, _ in entries) + 2
    column = keys + max(len(words) for _, words in entries)
    across = 2 if width >= 2 * column + 8 else 1
    rows = (len(entries) + across - 1) // across
    inner = min(across * column + 2 * (across - 1) + 2, width - 2)
    corners = glyphs.corners
    lines = [f"{corners[0]}{glyphs.rule} keys {glyphs.rule * (inner - 7)}{corners[1]}"]
    shown = min(rows, max(most - 2, 1))
    first = min(scroll or 0, rows - shown)
    for row in range(first, first + shown):
        cells = [entries[index] for index in range(row, len(entries), rows)]
        text = "  ".join(look.left(f"{key:<{keys}}{words}", column) for key, words in cells)
        lines.append(f"{glyphs.wall} {look.left(text, inner - 2)} {glyphs.wall}")
    hidden = f" {rows - shown} more: {'j/k' if scroll is not None else 'a higher window'} " if shown < rows else ""
    lines.append(f"{corners[2]}{hidden.center(inner, glyphs.rule)}{corners[3]}")
    return [look.elide(f"{line}", width) if not style.bold else line for line in lines]


def events_page(report: Report, ui: Ui, lines: int, width: int, look: Look) -> list[str]:
    """Errors by kind, then as many events as fit, scrolled back by ``ui.scroll``; exactly ``lines`` lines."""
    groups, rows = _divided(report, lines, width, look)
    head = [rule(titled(f"ERRORS {report.errors:,}", ui.sight.window), width, look), *groups]
    if rows < 1:
        return filled(head, lines)
    skip = min(ui.scroll, farthest(report, lines, width, look))
    title = f"EVENTS {len(report.events):,}" + (f"  ({skip:,} newer below)" if skip else "")
    return filled([*head, rule(title, width, look), *events_in_full(report, rows, width, look, skip)], lines)


def farthest(report: Report, lines: int, width: int, look: Look) -> int:
    """How many events the page of events can be scrolled back."""
    _, rows = _divided(report, lines, width, look)
    return newer_than_first(report, rows, width, look)


def _divided(report: Report, lines: int, width: int, look: Look) -> tuple[list[str], int]:
    """The errors, and how many lines events have: these get two thirds of all, if they need so many."""
    unused = max(lines - lines // 3 - 2 - len(report.events), 0)
    groups = errors_in_full(report, max(1, lines // 3 + unused), width, look)
    return groups, lines - len(groups) - 2


def connections_page(report: Report, ui: Ui, lines: int, width: int, look: Look) -> list[str]:
    """What happened on connections and streams, then per backend as far as there is room; exactly ``lines`` lines."""
    found = [rule("CONNECTIONS", width, look)]
    found += [look.elide(line, width) for line in connection_lines(report, look, whole=True)]
    streams = stream_lines(report)
    if streams:
        found += [rule("STREAMS", width, look), *(look.elide(line, width) for line in streams)]
    found += connection_table(ui.ordered(report), lines - len(found), width, look)
    return filled(found, lines)


def one_line(report: Report, figures: Report, ui: Ui, width: int, look: Look) -> str:
    """All that fits a tiny window: ``8,192/10k 82% 521 rps err 0.4% p99 33ms``."""
    load, done, now = report.load, fraction(report), ui.sight.rate()
    found = ui.sight.digests.held(report.latency)
    words = [f"{report.completed:,}" + (f"/{count(load.requests, 4)}" if load.requests else "")]
    if done is not None:
        words.append(f"{int(done * 100)}%")
    words += filter(None, [ui.sight.window])
    words.append("- rps" if now is None else f"{count(now, 6)} rps")
    words.append(f"err {figures.errors / figures.completed * 100:.1f}%" if figures.completed else "err -")
    words.append(f"p99 {duration(found.p99 if found else None)}")
    return look.elide(fitting(["paused", *words] if report.paused else words, " ", width), width)
