"""What was around the policy, in a few lines of the summary: whom it kept out, and how many calls."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from lbctl.stats.report import BackendRow, Report
from lbctl.view.standing import condition
from lbctl.view.text import plural
from lbctl.view.theme import Look

_ROWS = 10
_USUAL = frozenset({"ready", "connecting", "transient_failure", "drained", "draining", "left", "idle"})
_STILL = {"ejected": "still out", "breaker_open": "still open", "half_open": "half-open"}  # after what was counted


def guard_lines(report: Report, look: Look, width: int) -> list[str]:
    """Return nothing where no guard was asked for."""
    if not report.guards:
        return []
    lines = [look.paint(look.style.bold, "Guards"), *_asked(report, look, width)]
    told = [(row, words) for row in report.backends if (words := ", ".join(guarded(row)))]
    longest = max((len(look.show(row.address)) for row, _ in told[:_ROWS]), default=0)
    lines += [f"  {look.left(look.show(row.address), longest)}  {words}" for row, words in told[:_ROWS]]
    if len(told) > _ROWS:
        lines.append(f"  {len(told) - _ROWS:,} more, all in the JSON document")
    for name, count in report.turned_away.items():
        lines.append(f"  {plural(count, 'call')} turned away: {name}")
    return lines


def _asked(report: Report, look: Look, width: int) -> Iterator[str]:
    """What was asked for, as it would be typed, without the dashes: a line each, and more where that is not enough."""
    for name, options in report.guards.items():
        words = f"{name} {', '.join(f'{key}={value}' for key, value in options.items())}".strip()
        for line in wrap(words, width - 2, subsequent_indent="    ", break_on_hyphens=False):
            yield "  " + look.paint(look.style.muted, line)


def guarded(row: BackendRow) -> Iterator[str]:
    """What guards did to a backend, and what they do to it now."""
    if row.ejections:
        yield f"ejected {plural(row.ejections, 'time')}"
    if row.trips:
        yield f"breaker opened {plural(row.trips, 'time')}"
    if row.state not in _USUAL:
        counted = row.ejections if row.state == "ejected" else row.trips
        yield _STILL[row.state] if counted and row.state in _STILL else condition(row)
