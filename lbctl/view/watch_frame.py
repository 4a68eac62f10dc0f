"""The live view of a watch as lines of text: a pure function of the report, the selection and the window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from textwrap import wrap
from typing import NamedTuple

from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.model import Event
from lbctl.view.bars import sparkline, thin_bar
from lbctl.view.event_panel import event_mark, event_words
from lbctl.view.layout import LINE_HEIGHT, LINE_WIDTH
from lbctl.view.lines import coloured, filled, joined, plain, rule, spread
from lbctl.view.metadata import metadata_cell
from lbctl.view.pages import registry_line, with_help
from lbctl.view.table import window
from lbctl.view.text import age, cell_len, clock, count, duration, percent
from lbctl.view.theme import Glyphs, Look, Style
from lbctl.view.watch_ui import WATCH_HELP, WatchUi, watch_footer

_FRESH_S = 5.0  # how long a new instance stays bold
_TTL_BAR = 6
_EVENTS_LEAST = 3  # a rule and two lines
_ROOMY, _EVENT_LINES = 12, 3  # from so many lines on an event may take more than one
_WORDS_AT = 26  # cells of an event's line before its words
_WIDE = 110  # from here on there is more than what everybody asks for
_SPARK = 20  # cells of the last minute's round trips
_KEY_LEAST = 10
_NAMED_LEAST, _NAMED_MOST = 5, 12  # cells of a member of the metadata
_MEASURED = 200  # instances


class _Column(NamedTuple):
    title: str
    width: int
    left: bool
    from_width: int  # the narrowest window that has it
    cell: Callable[[WatchRow, int, Look], str]


def build_watch(report: WatchReport, ui: WatchUi, width: int, height: int, style: Style, glyphs: Glyphs) -> list[str]:
    """Exactly ``height`` lines of at most ``width`` cells each, SGR sequences included."""
    look = Look(style, glyphs)
    if width < LINE_WIDTH or height < LINE_HEIGHT:
        asked = ui.asked is not None
        return filled([registry_line(ui.asked, "", width, look) if asked else _one_line(report, width, look)], height)
    rows = table_rows(len(ui.listed(report)), height)
    body = _table(report, ui, rows, width, look)
    body += _events(report, height - 2 - len(body), width, look)
    if ui.help:
        body = with_help(body, width, look, WATCH_HELP)
    return [_title(report, width, look), *body, watch_footer(report, ui, width, look)]


def table_rows(instances: int, height: int) -> int:
    """How many lines the rows of the table get: all that is needed if some events still fit."""
    return max(1, min(instances, height - 4 - _EVENTS_LEAST))


def in_rotation(report: WatchReport) -> tuple[int, int]:
    """How many instances are ready, of how many that are there and speak gRPC."""
    present = [row for row in report.rows if row.gone_s is None and row.instance.speaks_grpc]
    return sum(row.state == "ready" for row in present), len(present)


def _title(report: WatchReport, width: int, look: Look) -> str:
    style = look.style
    if report.stale_s is None:
        state = coloured(look, style.ok, "synced") if report.revision else coloured(look, style.warn, "reading")
    else:
        words = f"STALE {age(report.stale_s)}"
        state = coloured(look, style.warn + style.reverse, f" {words} ")
    end = joined(plain(f"rev {report.revision}  "), state, plain(f"  {clock(report.elapsed_s)} "))
    name = " lbctl watch  " if width >= 60 else " "
    room = width - len(name) - end.width - 1
    prefix = look.elide_middle(look.show(report.prefix.rstrip("/") or report.service), max(room, 0))
    return spread(joined(plain(name), coloured(look, style.bold, prefix)), end, width)


def _rule(report: WatchReport, ui: WatchUi, width: int, look: Look) -> str:
    ready, present = in_rotation(report)
    rows = [row for row in report.rows if row.gone_s is None]
    called = [row for row in rows if row.instance.speaks_grpc]
    words = [f"weight {count(sum(row.instance.effective_weight for row in called))}"]
    if len(rows) > len(called):
        words.append(f"{len(rows) - len(called)} not gRPC")
    draining = sum(row.state == "draining" for row in rows)
    if draining:
        words.append(f"{draining} draining")
    tail = plain(", ".join(words))
    if report.invalid:
        tail = joined(tail, plain(", "), coloured(look, look.style.warn, f"{report.invalid} invalid"))
    listed = f"  {len(ui.listed(report))} of {len(report.rows)} /{look.show(ui.wanted)}" if ui.wanted else ""
    return rule(f"BACKENDS {ready}/{present} ready{listed}", width, look, tail)


def _table(report: WatchReport, ui: WatchUi, rows: int, width: int, look: Look) -> list[str]:
    columns, address = _columns(report, width, look)
    heads = [look.left("ADDRESS", address + 2)]
    heads += [
        column.title.ljust(column.width) if column.left else column.title.rjust(column.width) for column in columns
    ]
    lines = [_rule(report, ui, width, look), look.paint(look.style.muted, look.elide("  " + "  ".join(heads), width))]
    listed = ui.listed(report)
    if not listed:
        words = "    no such instance" if report.rows else "    no instances"
        return lines + filled([look.paint(look.style.muted, look.elide(words, width))], rows)
    chosen = ui.position(listed)
    first, shown = window(len(listed), chosen, rows)
    lines += [
        _row(listed[index], columns, address, look, selected=ui.can_type and index == chosen)
        for index in range(first, first + shown)
    ]
    if shown < min(rows, len(listed)):
        below = len(listed) - first - shown
        words = f"    {look.glyphs.ellipsis} {len(listed) - shown} more ({first} above, {below} below)"
        lines.append(look.paint(look.style.muted, look.elide(words, width)))
    return lines


def _columns(report: WatchReport, width: int, look: Look) -> tuple[list[_Column], int]:
    """Which columns there is room for, and how many cells an address gets."""
    longest = max([7, *(cell_len(look.show(row.instance.address)) for row in report.rows)])
    columns = [column for column in _COLUMNS if width >= column.from_width]
    if width >= _WIDE:
        named = [column for name in ("version", "zone") if (column := _named(report, name, look))]
        columns += [*named, _LEASE, _SPARKS]
        for spare in (_SPARKS, *reversed(named)):
            if _taken(columns) + longest > width:
                columns.remove(spare)
    room = width - _taken(columns)
    address = max(min(longest, room), 1)
    if width >= _WIDE and room - address - 2 >= _KEY_LEAST:
        columns.append(_Column("KEY", room - address - 2, True, 0, _key))
    return columns, address


def _taken(columns: list[_Column]) -> int:
    """Cells of a row without its address."""
    return sum(column.width + 2 for column in columns) + 5


def _named(report: WatchReport, name: str, look: Look) -> _Column | None:
    """A column of a member of the metadata; None where no instance has it."""

    def text(row: WatchRow) -> str:
        return look.show(metadata_cell(row.instance.metadata, name))

    having = [row for row in report.rows if row.instance.metadata.get(name) not in (None, "")]
    if not having:
        return None
    longest = max(cell_len(text(row)) for row in having[:_MEASURED])
    width = min(max(longest, len(name), _NAMED_LEAST), _NAMED_MOST)
    return _Column(name.upper(), width, True, 0, lambda row, width, look: look.left(text(row), width))


def _row(row: WatchRow, columns: list[_Column], address: int, look: Look, *, selected: bool) -> str:
    style, glyphs = look
    role, mark = _mark(row, look)
    text = look.elide_left(look.show(row.instance.address), address)
    text += " " * (address - cell_len(text))
    fresh = row.seen_s is not None and row.seen_s < _FRESH_S
    name = style.muted if row.gone_s is not None else style.bold if selected or fresh else ""
    cells = "  ".join([column.cell(row, column.width, look) for column in columns])
    marker = f"{style.accent}{style.bold}{glyphs.selected}{style.reset}" if selected else " "
    return f"{marker} {role}{mark}{style.reset} {look.paint(name, text)}  {cells}"


def _mark(row: WatchRow, look: Look) -> tuple[str, str]:
    style, glyphs = look
    if row.gone_s is not None:
        return style.muted, "-"
    table = {
        "ready": (style.ok, glyphs.ready),
        "down": (style.err, glyphs.gone),
        "not_grpc": (style.muted, glyphs.aside),
    }
    return table.get(row.state, (style.warn, glyphs.half))


def _weight(row: WatchRow, width: int, look: Look) -> str:
    weight = row.instance.weight
    return ("-" if weight is None else count(weight, width)).rjust(width)


def _share(row: WatchRow, width: int, look: Look) -> str:
    return ("-" if row.share is None else percent(row.share) + "%").rjust(width)


def _health(row: WatchRow, width: int, look: Look) -> str:
    style = look.style
    if row.state == "not_grpc":
        return look.paint(style.muted, look.left(look.show(str(row.instance.protocol)), width))
    text = "gone" if row.gone_s is not None else (row.health or "-")
    good = text in ("SERVING", "UNIMPLEMENTED")
    role = style.muted if text in ("-", "gone") else style.ok if good else style.err
    return look.paint(role, look.left(look.show(text), width))


def _rtt(row: WatchRow, width: int, look: Look) -> str:
    return duration(row.rtt_us).rjust(width)


def _ttl(row: WatchRow, width: int, look: Look) -> str:
    style = look.style
    if not row.instance.lease or row.gone_s is not None:
        return look.paint(style.muted, ("none" if row.gone_s is None else "-").rjust(width))
    if row.ttl_s is None or not row.granted_s:
        return look.paint(style.muted, "-".rjust(width))
    part = row.ttl_s / row.granted_s
    role = style.err if part < 0.2 else style.warn if part < 0.4 else style.ok
    filled_bar = look.paint(role, thin_bar(part, _TTL_BAR, look.glyphs))
    return filled_bar + age(row.ttl_s).rjust(width - _TTL_BAR)


def _age(row: WatchRow, width: int, look: Look) -> str:
    return age(row.age_s).rjust(width)


_SHORT = {"weight": "wt", "health": "chk"}  # what changed, in three letters


def _change(row: WatchRow, width: int, look: Look) -> str:
    style = look.style
    what, _, ago = (row.change or "-").partition(" ")
    text = look.elide(look.show(f"{_SHORT.get(what, what)} {ago}".rstrip()), width)
    return look.paint(style.warn if row.change else style.muted, " " * (width - cell_len(text)) + text)


def _lease(row: WatchRow, width: int, look: Look) -> str:
    lease = row.instance.lease
    return look.left(f"{lease:x}" if lease else "-", width)


def _key(row: WatchRow, width: int, look: Look) -> str:
    more = f" and {row.keys - 1:,} more" if row.keys > 1 else ""
    return look.paint(look.style.muted, look.elide_left(look.show(row.instance.key) + more, width))


def _spark(row: WatchRow, width: int, look: Look) -> str:
    return look.paint(look.style.latency, sparkline(row.rtts, width, look.glyphs))


_LEASE = _Column("LEASE", 16, True, 0, _lease)
_SPARKS = _Column("RTT 60s", _SPARK, True, 0, _spark)
_COLUMNS = (
    _Column("WT", 3, False, 0, _weight),
    _Column("SHARE", 6, False, 60, _share),
    _Column("HEALTH", 11, True, 0, _health),
    _Column("RTT", 5, False, 60, _rtt),
    _Column("TTL", _TTL_BAR + 4, True, 72, _ttl),
    _Column("AGE", 4, False, 80, _age),
    _Column("CHG", 7, False, 80, _change),
)


def _events(report: WatchReport, lines: int, width: int, look: Look) -> list[str]:
    """Return the newest events, the newest first; where there is room, with all of their words."""
    if lines < 1:
        return []
    names = {row.instance.key: row.instance.address for row in report.rows}
    body: list[str] = []
    for event in reversed(report.events):
        found = _event(report, event, names, width, look, most=_EVENT_LINES if lines > _ROOMY else 1)
        if len(body) + len(found) > lines - 1:
            break
        body += found
    return filled([rule("REGISTRY EVENTS", width, look), *body], lines)


def event_time(report: WatchReport, event: Event) -> str:
    """Return the time of day of an event, to the millisecond."""
    moment = report.started_at + timedelta(seconds=event.t_s)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"


def _event(report: WatchReport, event: Event, names: dict[str, str], width: int, look: Look, most: int) -> list[str]:
    style = look.style
    role, mark = event_mark(event.level, look)
    kind = look.left(look.show(event.kind), 8)
    head = f"  {style.muted}{event_time(report, event)}{style.reset} {role}{mark} {kind}{style.reset}"
    text, room = look.show(event_words(event, names)), max(width - _WORDS_AT - 1, 0)
    found = [text]
    if most > 1 and cell_len(text) > room:
        ellipsis = f" {look.glyphs.ellipsis}"
        found = wrap(text, room, break_on_hyphens=False, max_lines=most, placeholder=ellipsis) or found
    first, *rest = [look.elide(words, room) for words in found]  # a character may take two cells
    return [f"{head} {first}", *(" " * _WORDS_AT + words for words in rest)]


def _one_line(report: WatchReport, width: int, look: Look) -> str:
    ready, present = in_rotation(report)
    followed = "synced" if report.revision else "reading"
    state = followed if report.stale_s is None else f"stale {age(report.stale_s)}"
    return look.elide(f"{ready}/{present} ready {state} {clock(report.elapsed_s)}", width)
