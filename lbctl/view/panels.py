"""The lower part of the live view: who gets which lines of it."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.stats.report import BackendRow, Report
from lbctl.view.event_panel import error_lines, event_lines, events_in_full
from lbctl.view.guard_lines import guarded
from lbctl.view.latency_panel import bucket_count, charts, histogram_lines, two_histograms
from lbctl.view.layout import Plan
from lbctl.view.lines import Span, coloured, filled, padded, rule, titled
from lbctl.view.standing import condition
from lbctl.view.text import plural
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

_RULE = 8  # cells of a rule around its title and its end
_TOLD_LEAST = 24
_ROOMY = 12  # lines from which events may take more than one
_BUCKETS = 10  # lines of a histogram beside the events


def lower(report: Report, ui: Ui, plan: Plan, chosen: BackendRow | None, width: int, look: Look) -> Iterator[list[str]]:
    """Exactly ``plan.lower`` lines, in pieces."""
    if plan.lower and plan.halves:
        yield from _halves(report, ui, plan.lower, chosen, width, look)
        return
    rest = plan.lower
    if rest and plan.histogram:
        lines = _one_histogram(report, ui, plan.histogram, chosen, width, look)
        rest -= len(lines)
        yield lines
    yield _errors_and_events(report, ui, rest, chosen, width, look) if rest >= 2 else [""] * rest


def _one_histogram(report: Report, ui: Ui, lines: int, chosen: BackendRow | None, width: int, look: Look) -> list[str]:
    focused = chosen if ui.focus else None
    histogram = focused.latency if focused else report.latency
    name = look.show(focused.address) if focused else "all"
    found = ui.sight.digests.held(histogram)
    body = histogram_lines(found, lines - 1, width, look)
    return [rule(titled(f"LATENCY {name}", ui.sight.window), width, look), *body]


def _halves(
    report: Report, ui: Ui, lines: int, chosen: BackendRow | None, width: int, look: Look
) -> Iterator[list[str]]:
    start = width // 2
    one = _histograms(report, ui, lines, chosen, start - 1, look)
    yield []
    one = filled(one + charts(ui.sight.series, lines - len(one), start - 1, look), lines)
    yield []
    other = _right_half(report, ui, lines, chosen, width - start, look)
    yield [padded(a, start) + b for a, b in zip(one, other, strict=True)]


def _histograms(report: Report, ui: Ui, lines: int, chosen: BackendRow | None, width: int, look: Look) -> list[str]:
    result: list[str] = []
    if ui.histogram is not False:
        rows = min(lines - 1, _BUCKETS)
        all_calls = ui.sight.digests.held(report.latency)
        one = ui.sight.digests.held(chosen.latency) if chosen else None
        if ui.focus and chosen:
            result.append(rule(titled(f"LATENCY {look.show(chosen.address)}", ui.sight.window), width, look))
            result += histogram_lines(one, min(rows, bucket_count([one])), width, look)
        else:
            name = f" {look.glyphs.wall} {look.show(chosen.address)}" if chosen else ""
            result.append(rule(titled(f"LATENCY all{name}", ui.sight.window), width, look))
            result += two_histograms([all_calls, one], min(rows, bucket_count([all_calls, one])), width, look)
    return result


def _right_half(report: Report, ui: Ui, lines: int, chosen: BackendRow | None, width: int, look: Look) -> list[str]:
    groups = error_lines(report, max(1, min(len(report.error_groups), lines // 3)), width, look)
    title = titled(f"ERRORS {report.errors:,}", ui.sight.window)
    head = [rule(title, width, look, _told(chosen, width - len(title), look)), *groups]
    rest = lines - len(head)
    if rest < 2:
        return filled(head, lines)
    told = events_in_full if rest > _ROOMY else event_lines
    return filled([*head, rule("EVENTS", width, look), *told(report, rest - 1, width, look)], lines)


def _errors_and_events(
    report: Report, ui: Ui, lines: int, chosen: BackendRow | None, width: int, look: Look
) -> list[str]:
    room = lines - 1
    groups = error_lines(report, max(1, room // 3), width, look) if report.error_groups else []
    events = event_lines(report, room - len(groups), width, look)
    title = titled(f"ERRORS {report.errors:,}", ui.sight.window) + "  EVENTS"
    return filled([rule(title, width, look, _told(chosen, width - len(title), look)), *groups, *events], lines)


def _told(chosen: BackendRow | None, room: int, look: Look) -> Span | None:
    """What the row of the selected backend does not say: why it is out, what guards did, what failed without an end."""
    words = [] if chosen is None else list(guarded(chosen)) or [condition(chosen)]
    if chosen is not None and chosen.passed:
        words.append(f"{plural(chosen.passed, 'attempt')} retried")
    text = ", ".join(filter(None, words))
    if chosen is None or not text:
        return None
    room -= _RULE
    address = look.elide_left(look.show(chosen.address), room // 2)
    line = look.elide(f"{look.glyphs.selected} {address} {look.show(text)}", room)
    return coloured(look, look.style.muted, line) if room >= _TOLD_LEAST else None
