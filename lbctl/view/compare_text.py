"""The end of a comparison as text for the scrollback: policies, differences, shares, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from lbctl.stats.comparison import METRICS, Comparison
from lbctl.stats.rounds import Contest, change_of, compared, notes_on, standing
from lbctl.view.compare_table import Row, columns, heads, line, name_width
from lbctl.view.comparison import against
from lbctl.view.text import cell_len, clock, folded, plural
from lbctl.view.theme import PLAIN, UNICODE, Look

_WIDTH: Final = 80
_SHOWN: Final = ("rps", "error_rate", "p50", "p90", "p99")
_NUMBER: Final = 12  # cells of a share and the gap before it
MEANING: Final = (
    "Differences are made within each round, the intervals of 95 % over rounds: resampled, and never narrower than "
    "Student's t, or the calls themselves, allow. One verdict of twenty is chance."
)


def contest_text(contest: Contest, look: Look | None = None) -> str:
    """Return the tables, without the last line's end; what was typed is the first line, where that is known."""
    look = look or Look(PLAIN, UNICODE)
    found = compared(contest)
    parts = [
        folded(look.show(contest.command), _WIDTH) if contest.command else [],
        _stopped(contest, look),
        _policies(contest, look),
        *_differences(found, contest, look),
        _shares(contest, look),
        _notes(contest, look),
    ]
    return "\n\n".join("\n".join(each.rstrip() for each in part) for part in parts if part)


def rows_of(contest: Contest) -> list[Row]:
    """Return a row for each policy."""
    standings = [standing(contest, each) for each in range(len(contest.contenders))]
    top = max((each.rps or 0.0 for each in standings), default=0.0)
    metric = METRICS["p99"]
    return [
        Row(each, contest.rounds, change_of(contest, metric, place) if place else None, top)
        for place, each in enumerate(standings)
    ]


def _stopped(contest: Contest, look: Look) -> list[str]:
    if not contest.stopped_by:
        return []
    counted = sum(trial.counts for trial in contest.trials)
    words = f"Stopped by {contest.stopped_by} after {clock(contest.elapsed_s)} ({counted} of {contest.total} runs)"
    return [look.paint(look.style.warn, words)]


def _policies(contest: Contest, look: Look) -> list[str]:
    cols = columns(_WIDTH, look)
    labels = [look.show(each.label) for each in contest.contenders]
    name = name_width(labels, cols, _WIDTH)
    rounds = f"{_policies_of(contest)} x {plural(contest.rounds, 'round')}, {contest.order}"
    rounds += f", {contest.load}" if contest.load else ""
    about = look.elide(f"  {look.show(contest.method)} of {look.show(contest.service)}, seed {contest.seed}", _WIDTH)
    head = f"{look.paint(look.style.bold, 'Policies')}  {rounds}"
    return [head, about, heads(name, cols, look), *(line(row, name, cols, look) for row in rows_of(contest))]


def _policies_of(contest: Contest) -> str:
    number = len(contest.contenders)
    return f"{number} {'policy' if number == 1 else 'policies'}"


def _differences(found: Comparison | None, contest: Contest, look: Look) -> list[list[str]]:
    if found is None:
        return []
    parts = [
        against(found, group, [each for each in rows if each.metric.name in _SHOWN], look)
        for group, rows in found.against()
    ]
    meaning = [look.paint(look.style.muted, each) for each in wrap(MEANING, _WIDTH)]
    return [*parts, meaning]


def _shares(contest: Contest, look: Look) -> list[str]:
    """Who got how much of each policy's calls, with what it should have had where that can be stated."""
    standings = [standing(contest, each) for each in range(len(contest.contenders))]
    addresses = list(dict.fromkeys(address for each in standings for address in each.parts))
    if not addresses:
        return []
    lines = [look.paint(look.style.bold, "Share by backend") + "  % of what was picked; in brackets what was due"]
    room = max(cell_len(look.show(address)) for address in addresses)
    table: list[Sequence[str]] = [("ADDRESS", *(look.show(each.contender.label) for each in standings))]
    for address in addresses:
        cells = []
        for each in standings:
            part = each.parts.get(address)
            share = "-" if part is None or part.share is None else f"{part.share * 100:.1f}"
            due = f" ({part.expected * 100:.1f})" if each.stated and part and part.expected is not None else ""
            cells.append(share + due)
        table.append((look.show(address), *cells))
    widths = [max(_NUMBER, *(cell_len(row[place]) for row in table)) for place in range(1, len(table[0]))]
    for number, row in enumerate(table):
        text = "  " + look.left(row[0], room)
        for cell, width in zip(row[1:], widths, strict=True):
            text += "  " + " " * (width - cell_len(cell)) + cell
        lines.append(look.paint(look.style.muted, text) if not number else text)
    return lines


def _notes(contest: Contest, look: Look) -> list[str]:
    lines: list[str] = []
    for note in notes_on(contest):
        lines += wrap(look.show(note), _WIDTH, initial_indent="! ", subsequent_indent="  ", break_on_hyphens=False)
    return [look.paint(look.style.warn, each) for each in lines]
