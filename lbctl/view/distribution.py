"""Who got how many calls: the verdict of the summary, its table, and the figures of the test that was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor
from textwrap import wrap
from typing import NamedTuple

from lbctl.stats.chance import TOO_EVEN
from lbctl.stats.report import BackendRow, Balance, Report
from lbctl.view.digest import Digest, digest
from lbctl.view.standing import any_overridden, weight_in_use
from lbctl.view.table import p_words
from lbctl.view.text import cell_len, count, duration, percent, points
from lbctl.view.theme import Look

START_S = 0.05  # what happened before is how the run began
_VERDICTS = {"balanced": "balanced", "too_few": "too few calls to judge", "not_applicable": "not judged"}


class _Row(NamedTuple):
    """A backend, its shares of what was sent and of what was due, and the figures of its times."""

    row: BackendRow
    share: float | None
    due: float | None  # None where it is only a guide
    times: Digest | None


_Column = tuple[str, Callable[[_Row], str]]


def distribution_lines(report: Report, look: Look, width: int) -> list[str]:
    """Return the verdict, a row for each backend, and what the verdict rests on."""
    title = _titled(report, look, width)
    if not report.backends:
        return [*title, "  no backends"]
    return [*title, *_table(report, look, width), *test_lines(report), *_not_sent(report, width)]


def picks_and_expected(report: Report) -> tuple[int, float]:
    """Return the sums over all backends."""
    return sum(row.picks for row in report.backends), sum(row.expected for row in report.backends)


def given_back(report: Report) -> int:
    """Return how many picks nothing was sent for."""
    return sum(row.given_back for row in report.backends)


def _titled(report: Report, look: Look, width: int) -> list[str]:
    """The verdict and the reason for it behind the title; a chance test's figures are below the table."""
    word, reason = verdict_words(report, look)
    style = look.style
    role = {"balanced": style.ok, "SKEWED": style.err}.get(word, style.muted)
    between = "" if not reason else ": " if word == "SKEWED" else ", "
    lines = wrap(f"Distribution  {word}{between}{reason}", width, subsequent_indent="    ", break_on_hyphens=False)
    lines[0] = lines[0].replace("Distribution", look.paint(style.bold, "Distribution"), 1)
    lines[0] = lines[0].replace(word, look.paint(role, word), 1)
    return lines


def verdict_words(report: Report, look: Look) -> tuple[str, str]:
    """Return the verdict in a word or two, and what is to be said about it where there is anything."""
    balance = report.balance
    note = look.show(balance.note)
    if balance.verdict == "skewed":
        worst = next((row for row in report.backends if row.address == balance.worst), None)
        simulated = balance.expectation == "feedback" and note
        return "SKEWED", note if simulated or worst is None else _worst(report, worst, look)
    if note.startswith(TOO_EVEN):
        note = TOO_EVEN  # the figures are below
    told = balance.p_value is None or note == TOO_EVEN
    return _VERDICTS.get(balance.verdict, balance.verdict), note if told else ""


def _worst(report: Report, row: BackendRow, look: Look) -> str:
    picks, expected = picks_and_expected(report)
    share, due = row.picks / (picks or 1), row.expected / (expected or 1)
    got = "was picked for" if given_back(report) else "got"
    return f"{look.show(row.address)} {got} {percent(share)}%, expected {percent(due)}% ({points(share - due)} pp)"


def _table(report: Report, look: Look, width: int) -> list[str]:
    """Numbers to the right; closer together where it is wide, and then without what is said elsewhere."""
    rows = list(_rows(report))
    columns = [[title, *map(cell, rows)] for title, cell in _columns(report, look)]
    widths = [max(map(cell_len, column)) for column in columns]
    while _taken(widths, " ") > width and (spare := _expendable(columns)) is not None:
        del columns[spare], widths[spare]
    gap = "  " if _taken(widths, "  ") <= width else " "
    padded = [_aligned(column, cells, look) for column, cells in zip(columns, widths, strict=True)]
    lines = [("  " + gap.join(line)).rstrip() for line in zip(*padded, strict=True)]
    lines[0] = look.paint(look.style.muted, lines[0])
    return lines


def _taken(widths: Sequence[int], gap: str) -> int:
    return 2 + sum(widths) + len(gap) * (len(widths) - 1)


def _expendable(columns: Sequence[Sequence[str]]) -> int | None:
    titles = [column[0] for column in columns]
    return next((titles.index(title) for title in ("MAX", "RETRY") if title in titles), None)


def _aligned(column: Sequence[str], width: int, look: Look) -> list[str]:
    if column[0] in ("ADDRESS", "SINCE"):
        return [look.left(text, width) for text in column]
    return [text.rjust(width) for text in column]


def _rows(report: Report) -> Iterator[_Row]:
    attempts, expected = sum(row.attempts for row in report.backends), picks_and_expected(report)[1]
    stated = expected > 0 and report.balance.stated
    for row in report.backends:
        share, due = row.attempts / attempts if attempts else None, row.expected / expected if stated else None
        yield _Row(row, share, due, digest(row.latency))


def _columns(report: Report, look: Look) -> list[_Column]:
    """Return the columns that have something to say of this run."""
    backends, stated = report.backends, report.balance.stated
    moved = any(row.left_s is not None or row.joined_s > START_S for row in backends)
    columns: list[tuple[bool, str, Callable[[_Row], str]]] = [
        (True, "ADDRESS", lambda each: look.show(each.row.address)),
        (True, "WT", lambda each: count(each.row.weight)),
        (any_overridden(report), "USE", lambda each: weight_in_use(each.row)),
        (stated or any(row.band for row in backends), "EXP%", _expected),
        (True, "ACT%", lambda each: percent(each.share)),
        (stated, f"{look.glyphs.delta}pp", _delta),
        (True, "SENT", lambda each: f"{each.row.attempts:,}"),
        (any(row.passed for row in backends), "RETRY", lambda each: f"{each.row.passed:,}"),
        (True, "ERR", lambda each: f"{each.row.errors:,}"),
        (True, "P50", lambda each: duration(each.times and each.times.p50)),
        (True, "P99", lambda each: duration(each.times and each.times.p99)),
        (True, "MAX", lambda each: duration(each.times and each.times.max_us)),
        (moved, "SINCE", lambda each: _since(each.row)),
    ]
    return [(title, cell) for wanted, title, cell in columns if wanted]


def _expected(each: _Row) -> str:
    """A share, or a range in whole per cent: more would be more than a simulation knows."""
    band = each.row.band
    if band is None:
        return percent(each.due)
    low, high = (round(edge * 100, 4) for edge in band)  # as exact as a document has them
    return f"{floor(low)}-{ceil(high)}"


def _delta(each: _Row) -> str:
    return points(each.share - each.due if each.share is not None and each.due is not None else None)


def _since(row: BackendRow) -> str:
    late = row.joined_s > START_S
    if row.left_s is not None:
        return f"{row.joined_s:.1f}-{row.left_s:.1f}s" if late else f"to {row.left_s:.1f}s"
    return f"{row.joined_s:.1f}s" if late else "start"


def test_lines(report: Report) -> list[str]:
    """Return the figures of the test that was made, indented; nothing where there was none."""
    balance = report.balance
    words = []
    if balance.chi2 is not None and balance.dof is not None and balance.p_value is not None:
        words.append(f"chi-square {balance.chi2:.4g}, df {balance.dof}, {p_words(balance.p_value)}{_effect(balance)}")
    if balance.max_over_expected is not None and balance.verdict != "not_applicable":
        words.append(f"largest actual/expected {round(balance.max_over_expected, 6):.2f}")
    return ["  " + "; ".join(words)] if words else []


def _not_sent(report: Report, width: int) -> list[str]:
    """What was sent is in the table; the verdict is on what was picked."""
    count = given_back(report)
    if not count:
        return []
    picks = picks_and_expected(report)[0]
    text = (
        f"judged by {picks:,} picks: for {count:,} of them nothing was sent, since the calls went elsewhere or nowhere"
    )
    return wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _effect(balance: Balance) -> str:
    """How large the difference is, whatever the number of calls; below 0.01 it is of no consequence."""
    return "" if balance.effect is None else f", effect {balance.effect:.3f}"
