"""What was around the policy, in a few lines of the summary: whom it kept out, and how many calls."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.stats.report import BackendRow, Report
from lbctl.view.text import plural
from lbctl.view.theme import Look

_ROWS = 10
_USUAL = frozenset({"ready", "connecting", "transient_failure", "drained", "left", "idle"})


def guard_lines(report: Report, look: Look, width: int) -> list[str]:
    """Return nothing where no guard was asked for."""
    if not report.guards:
        return []
    lines = [look.paint(look.style.bold, "Guards") + "  " + look.elide(_asked(report), width - 8)]
    told = [(row, words) for row in report.backends if (words := ", ".join(_words(row)))]
    lines += [f"  {look.show(row.address)}  {words}" for row, words in told[:_ROWS]]
    if len(told) > _ROWS:
        lines.append(f"  {len(told) - _ROWS:,} more, all in the JSON document")
    for name, count in report.turned_away.items():
        lines.append(f"  {plural(count, 'call')} turned away: {name}")
    return lines


def _asked(report: Report) -> str:
    """What was asked for, as it would be typed, without the dashes."""
    return "; ".join(
        f"{name} {','.join(f'{key}={value}' for key, value in options.items())}".strip()
        for name, options in report.guards.items()
    )


def _words(row: BackendRow) -> Iterator[str]:
    if row.state not in _USUAL:
        yield f"{row.state.replace('_', ' ')}{f' ({row.warmth:.0%} of its weight)' if row.state == 'warming' else ''}"
    if row.ejections:
        yield f"ejected {plural(row.ejections, 'time')}"
    if row.trips:
        yield f"breaker opened {plural(row.trips, 'time')}"
