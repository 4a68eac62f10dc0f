"""The live view of a comparison as lines of text: a pure function of the contest, the view's state and the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.stats.rounds import Contest, Standing, Trial
from lbctl.view.bars import progress, share_bar
from lbctl.view.compare_screens import done, left_s
from lbctl.view.compare_table import Row, columns, heads, line, name_width
from lbctl.view.compare_text import rows_of
from lbctl.view.digest import digest
from lbctl.view.event_panel import event_line
from lbctl.view.latency_panel import bucket_count, histogram_lines
from lbctl.view.layout import LINE_HEIGHT, LINE_WIDTH
from lbctl.view.lines import Span, coloured, filled, joined, plain, rule, spread
from lbctl.view.pages import hints, with_help
from lbctl.view.table import window
from lbctl.view.text import cell_len, clock, count, duration, plural
from lbctl.view.theme import Glyphs, Look, Style
from lbctl.view.ui import natural

HELP: Final = (
    ("q", "stop after this run"),
    ("n", "skip this run"),
    ("space", "pause or resume"),
    ("s", "sort by the next"),
    ("enter", "runs of this policy"),
    ("j k", "select a policy"),
    ("Ctrl-C", "stop; twice: abort"),
    ("Ctrl-L", "repaint"),
    ("? Esc", "close"),
)
_KEYS: Final = (
    ("q", "quit"), ("n", "skip run"), ("space", "pause"), ("s", "sort"), ("enter", "detail"), ("?", "help")
)  # fmt: skip
_KEYS_LEAST: Final = 3
_ORDER_WIDTH: Final = 110  # from here the title has the order of the runs
_SHARE, _GAP, _CELL = 5, 2, 30
_LEAST_CELL: Final = 13
_LEAST_POLICIES: Final = 3
_EVENTS: Final = 4  # a rule and three lines

# the name in the rule above the table, and the order; the first is the order in which policies were named
SORTS: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("", lambda row: 0.0),
    ("rps", lambda row: -(row.standing.rps or 0.0)),
    ("err", lambda row: -(row.standing.error_rate or 0.0)),
    ("p50", lambda row: row.standing.p50_us or float("inf")),
    ("p99", lambda row: row.standing.p99_us or float("inf")),
)


@dataclass(slots=True)
class CompareUi:
    """What the person at the view has chosen; ``selected`` is a policy's place, None for the one that runs."""

    selected: int | None = None
    sort: int = 0
    page: str = "main"  # main | detail | help
    can_type: bool = True


def build_compare(contest: Contest, ui: CompareUi, width: int, height: int, style: Style, glyphs: Glyphs) -> list[str]:
    """Exactly ``height`` lines of at most ``width`` cells each, SGR sequences included."""
    return build_rows(contest, rows_of(contest), ui, width, height, Look(style, glyphs))


def build_rows(contest: Contest, rows: Sequence[Row], ui: CompareUi, width: int, height: int, look: Look) -> list[str]:
    """The same with the policies' rows, which take a while to work out."""
    if width < LINE_WIDTH or height < LINE_HEIGHT:
        return filled([_one_line(contest, width, look)], height)
    lines = [_title(contest, width, look), _progress(contest, width, look)]
    room = height - len(lines) - 1
    body = (
        _detail(contest, rows, ui, room, width, look)
        if ui.page == "detail"
        else _main(contest, rows, ui, room, width, look)
    )
    if ui.page == "help":
        body = with_help(body, width, look, HELP)
    return [*lines, *body, footer(contest, ui, width, look)]


def ordered(rows: Sequence[Row], ui: CompareUi) -> list[int]:
    """The places of the policies in the order they are shown."""
    return sorted(range(len(rows)), key=lambda place: SORTS[ui.sort][1](rows[place]))


def chosen(contest: Contest, ui: CompareUi) -> int:
    """The place of the policy that is marked."""
    if ui.selected is not None:
        return min(ui.selected, len(contest.contenders) - 1)
    return contest.going[0].contender if contest.going else 0


def _policies(contest: Contest) -> str:
    number = len(contest.contenders)
    return f"{number} {'policy' if number == 1 else 'policies'} x {plural(contest.rounds, 'round')}"


def _title(contest: Contest, width: int, look: Look) -> str:
    style = look.style
    order = f", {contest.order}" if width >= _ORDER_WIDTH else ""
    tail = plain(f"{_policies(contest)}{order}  {contest.load}  {clock(contest.elapsed_s)} ")
    state = "STOPPING" if contest.stopping else "PAUSED" if contest.paused else ""
    if state:
        flag = Span(f"{style.warn}{style.reverse} {state} {style.reset}", len(state) + 2)
        tail = joined(flag, plain(" "), tail)
    name = " lbctl compare  "
    room = width - len(name) - tail.width - 2
    method = look.elide_left(look.show(contest.method), max(room, 0)) if room >= 6 else ""
    head = joined(plain(name), coloured(look, style.bold, method))
    if head.width + tail.width > width:
        return look.elide(name + clock(contest.elapsed_s), width)
    return spread(head, tail, width)


def _progress(contest: Contest, width: int, look: Look) -> str:
    part = done(contest)
    rest = left_s(contest)
    eta = "    -" if rest is None or contest.paused or contest.over else clock(rest + 0.5)
    tail = f" {len(contest.trials)}/{contest.total} runs  {int(part * 100):3d}%  ETA {eta} "
    room = width - len(tail) - 1
    return look.elide(tail, width) if room < 4 else " " + progress(part, room, look) + tail


def _main(contest: Contest, rows: Sequence[Row], ui: CompareUi, room: int, width: int, look: Look) -> list[str]:
    addresses = _addresses(rows)
    policies = min(len(rows), max(_LEAST_POLICIES, room - 2 - (2 + len(addresses)) - _EVENTS))
    policies = max(min(policies, room - 2), 1)
    lines = _table(contest, rows, ui, policies, width, look)
    left = room - len(lines)
    shown = min(len(addresses), left - 2 - _EVENTS)
    if shown >= 1:
        lines += _shares(contest, rows, ui, addresses, shown, width, look)
        left = room - len(lines)
    if left >= 2:
        lines.append(rule("EVENTS", width, look))
        lines += [event_line(event, {}, width, look) for event in contest.events[-(left - 1) :]]
    return filled(lines, room)


def _running(contest: Contest, look: Look) -> Span:
    words = [
        f"{look.show(contest.contenders[going.contender].label)} {going.round}/{contest.rounds}"
        for going in contest.going
    ]
    text = "running: " + ", ".join(words) if words else "over" if contest.over else "between two runs"
    return coloured(look, look.style.accent if words else look.style.muted, text)


def _table(contest: Contest, rows: Sequence[Row], ui: CompareUi, most: int, width: int, look: Look) -> list[str]:
    """The rule, the titles, and as many policies as there is room for."""
    cols = columns(width, look)
    name = name_width([look.show(each.label) for each in contest.contenders], cols, width)
    title = "POLICIES" + (f"  sort:{SORTS[ui.sort][0]}" if ui.sort else "")
    lines = [rule(title, width, look, _running(contest, look)), heads(name, cols, look)]
    order = ordered(rows, ui)
    marked = chosen(contest, ui)
    first, shown = window(len(order), order.index(marked), most)
    style = look.style
    for place in order[first : first + shown]:
        mark = f"{style.accent}{style.bold}{look.glyphs.selected}{style.reset}" if place == marked else " "
        lines.append(line(rows[place], name, cols, look, mark=mark))
    if shown < min(most, len(order)):
        lines.append(look.paint(style.muted, f"  {look.glyphs.ellipsis} {len(order) - shown} more"))
    return lines


def _addresses(rows: Sequence[Row]) -> list[str]:
    return sorted({address for row in rows for address in row.standing.parts}, key=natural)


def _shares(
    contest: Contest, rows: Sequence[Row], ui: CompareUi, addresses: Sequence[str], most: int, width: int, look: Look
) -> list[str]:
    """Who got how much of each policy's calls; as many policies as fit beside each other."""
    name = min(max(len("ADDRESS"), *(cell_len(look.show(each)) for each in addresses)), width // 3)
    room = width - 2 - name - 3
    across = max(min(len(rows), room // _LEAST_CELL), 1)
    cell = min(room // across, _CELL)
    order = _across(contest, rows, ui, across)
    left_out = len(rows) - len(order)
    tail = "tick = expected" + (f", {left_out} more {'policy' if left_out == 1 else 'policies'}" if left_out else "")
    lines = [rule("SHARE by backend", width, look, coloured(look, look.style.muted, tail))]
    titles = "".join(
        look.left(look.elide(look.show(rows[each].standing.contender.label), cell - _GAP), cell) for each in order
    )
    lines.append(look.paint(look.style.muted, f"  {look.left('ADDRESS', name)}   {titles}".rstrip()))
    largest = max(
        (max(part.share or 0.0, part.expected or 0.0) for each in order for part in rows[each].standing.parts.values()),
        default=0.0,
    )
    shown = addresses if len(addresses) <= most else addresses[: most - 1]
    for address in shown:
        text = look.elide_left(look.show(address), name)
        cells = "".join(_share(rows[each].standing, address, largest or 1.0, cell, look) for each in order)
        lines.append(f"  {text}{' ' * (name - cell_len(text))}   {cells}")
    if len(shown) < len(addresses):
        lines.append(look.paint(look.style.muted, f"  {look.glyphs.ellipsis} {len(addresses) - len(shown)} more"))
    return lines


def _across(contest: Contest, rows: Sequence[Row], ui: CompareUi, most: int) -> list[int]:
    """The policies beside each other: the first ones, and the one that is marked."""
    order = list(range(len(rows)))[:most]
    marked = chosen(contest, ui)
    return order if marked in order else [*order[:-1], marked]


def _share(found: Standing, address: str, largest: float, cell: int, look: Look) -> str:
    """A share in per cent, and a bar with a tick where it should end."""
    part = found.parts.get(address)
    if part is None or part.share is None:
        return f"{'-':>{_SHARE}}".ljust(cell)
    style, room = look.style, cell - _SHARE - 1 - _GAP
    due = None if part.expected is None else part.expected / largest
    drawn = share_bar(part.share / largest, due, room, look, style.bar, style.bold if found.stated else style.muted)
    return f"{part.share * 100:>{_SHARE}.1f} {drawn}{' ' * _GAP}"


def _detail(contest: Contest, rows: Sequence[Row], ui: CompareUi, room: int, width: int, look: Look) -> list[str]:
    """The runs of the marked policy, and the latencies of all of them."""
    place = chosen(contest, ui)
    label = look.show(contest.contenders[place].label)
    lines = [rule(f"RUNS {label}", width, look, _running(contest, look))]
    head = "  ROUND      RPS   REQUESTS    ERR    P50    P90    P99    MAX  NOTE"
    lines.append(look.paint(look.style.muted, look.elide(head, width)))
    trials = [trial for trial in contest.trials if trial.contender == place]
    most = max(room // 2 - 2, 1)
    lines += [look.elide(_trial(trial, look), width) for trial in trials[-most:]]
    if not trials:
        lines.append(look.paint(look.style.muted, "  none is over yet"))
    times = rows[place].standing.latency
    found = digest(times)
    left = room - len(lines)
    if left >= 3:
        lines.append(rule(f"LATENCY {label}", width, look))
        lines += histogram_lines(found, min(left - 1, bucket_count([found])), width, look)
    return filled(lines, room)


def _trial(trial: Trial, look: Look) -> str:
    report = trial.report
    found = digest(report.latency)
    rps = count(report.throughput, 7) if report.elapsed_s > 0 else "-"
    times = (found.p50, found.p90, found.p99, found.max_us) if found else (None,) * 4
    notes = [*(("skipped",) if trial.skipped else () if trial.counts else ("not finished",)), *trial.changes]
    figures = "".join(f"{duration(each):>7}" for each in times)
    head = f"  {trial.round:>5} {rps:>8} {count(report.completed, 9):>10} {count(report.errors, 6):>6}"
    return f"{head}{figures}  {look.show(', '.join(notes))}".rstrip()


def footer(contest: Contest, ui: CompareUi, width: int, look: Look) -> str:
    """Return the keys that do something now; while stopping, what is waited for."""
    if contest.stopping:
        again = "q or Ctrl-C again: abort" if ui.can_type else "Ctrl-C again: abort"
        role = look.style.warn + look.style.reverse
        return look.paint(role, look.left(f" stopping after this run ({again})", width))
    if not ui.can_type:
        return look.paint(look.style.muted, look.elide(" Ctrl-C stops", width))
    if ui.page == "detail":
        return hints((("j/k", "select"), ("Esc", "back"), ("q", "quit")), width, look)
    shown = [(key, "resume" if key == "space" and contest.paused else words) for key, words in _KEYS]
    while len(shown) > _KEYS_LEAST and sum(len(key) + len(words) + 3 for key, words in shown) - 1 > width:
        del shown[-2]  # help stays
    return hints(tuple(shown), width, look)


def _one_line(contest: Contest, width: int, look: Look) -> str:
    """All that fits a tiny window."""
    going = ", ".join(look.show(contest.contenders[each.contender].label) for each in contest.going)
    words = f"{len(contest.trials)}/{contest.total} {int(done(contest) * 100)}% {going}"
    return look.elide(("paused " if contest.paused else "") + words, width)
