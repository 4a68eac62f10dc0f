"""The top of the live view: what runs, how far it is, totals and percentiles."""

from __future__ import annotations

import re

from lbctl.stats.report import Report
from lbctl.view.bars import progress
from lbctl.view.layout import PANEL_WIDTH, SHORT_HEADER_WIDTH
from lbctl.view.lines import Span, coloured, fitting, joined, plain, spread
from lbctl.view.stream_lines import stream_rates
from lbctl.view.text import cell_len, clock, count, duration, error_rate, rate
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

_SHORT_WINDOW = 72
_CLAUSE = re.compile(r"[;:] |$")


def header(report: Report, figures: Report, ui: Ui, width: int, look: Look) -> list[str]:
    """Three lines from 100 columns on, four below; the first two are those of ``ticking``, the rest is of figures."""
    totals = _totals(figures, ui, width, look)
    percentiles = _percentiles(figures, ui, width)
    lines = ticking(report, width, look)
    if width >= SHORT_HEADER_WIDTH:
        return [*lines, spread(totals, percentiles, width)]
    return [*lines, totals.text, " " + percentiles.text]


def ticking(report: Report, width: int, look: Look) -> list[str]:
    """Return what moves by itself: the clock, and how far the run is."""
    return [_title(report, width, look), _progress(report, width, look)]


def warning(report: Report, width: int, look: Look) -> str:
    """Return the generator's own doubts on one line, as many clauses as fit: the summary has them all."""
    text = " ! " + look.show("; ".join(report.generator.warnings))
    ends = (match.start() for match in _CLAUSE.finditer(text) if cell_len(text[: match.start()]) <= width)
    return look.paint(look.style.warn, look.elide(text[: max(ends, default=len(text))], width))


def _title(report: Report, width: int, look: Look) -> str:
    style = look.style
    name = " lbctl hammer  " if width >= PANEL_WIDTH else " "
    flag, pace = _flag(report, look), plain(f"  {_pace(report)}  {clock(report.elapsed_s)} ")
    room = max(width - len(name) - flag.width - pace.width - 2, 1)
    end = joined(flag, coloured(look, style.accent, look.elide(look.show(report.policy), room)), pace)
    return spread(joined(plain(name), _method(report, width - len(name) - end.width - 2, width, look)), end, width)


def _method(report: Report, room: int, width: int, look: Look) -> Span:
    """Return the method, and in wide windows the service as it is registered."""
    method, service = look.show(report.method), look.show(report.service)
    shown = look.elide_left(method, room) if room >= 6 else ""
    span = coloured(look, look.style.bold, shown)
    if width >= SHORT_HEADER_WIDTH and span.width + cell_len(service) + 2 <= room:
        return joined(span, plain("  "), coloured(look, look.style.muted, service))
    return span


def _pace(report: Report) -> str:
    if report.rps is not None:
        return f"open loop {rate(report.rps, 4)}/s"
    return "as recorded" if report.load.mode == "open" else f"c={count(report.concurrency, 6)}"


def _flag(report: Report, look: Look) -> Span:
    word = _state(report)
    return joined(_marked(word, look, look.style.warn), plain(" ")) if word else plain("")


def _marked(word: str, look: Look, role: str = "") -> Span:
    style = look.style
    return Span(f"{role}{style.reverse} {word} {style.reset}", len(word) + 2) if word else plain("")


def _state(report: Report) -> str:
    if report.stopping:
        return "STOPPING"
    if report.warming:
        return "WARM-UP"
    return "PAUSED" if report.paused else ""


def fraction(report: Report) -> float | None:
    """How much of the run is done, by whichever limit comes first; None without a limit."""
    load = report.load
    parts = []
    if load.requests:
        parts.append((report.completed + report.dropped) / load.requests)
    if load.duration_s:
        parts.append(report.elapsed_s / load.duration_s)
    return min(max(parts), 1.0) if parts else None


def progress_words(report: Report, done: float | None) -> str:
    """``6,292/10,000  00:12/00:30``: what the limits are of."""
    load = report.load
    words = [f"{report.completed:,}/{load.requests:,}"] if load.requests else []
    if load.duration_s:
        words.append(f"{clock(report.elapsed_s)}/{clock(load.duration_s)}")
    return "  ".join(words) if done is not None else f"{report.completed:,} requests, no limit"


def _progress(report: Report, width: int, look: Look) -> str:
    done = fraction(report)
    words = progress_words(report, done)
    if done is None:
        return look.elide(f" {words}", width)
    tail = f" {words}  {int(done * 100):3d}%{_eta(report, done)} "
    room = width - len(tail) - 1
    if room < 8:
        tail = f" {words} {int(done * 100)}% "
        room = width - len(tail) - 1
    if room < 4:
        return look.elide(tail, width)
    return " " + progress(done, room, look) + tail


def _eta(report: Report, done: float) -> str:
    if report.paused or not done or done >= 1:
        return "  ETA     -"
    return f"  ETA {clock(report.elapsed_s / done - report.elapsed_s + 0.5)}"


def _totals(report: Report, ui: Ui, width: int, look: Look) -> Span:
    style = look.style
    now, window = ui.sight.rate(), ui.sight.window
    if width < _SHORT_WINDOW:
        window = window.removeprefix("last ")  # the rule below says it in full
    rate = "- rps" if now is None else f"{count(now, 9)} rps"
    spans = [
        joined(_marked(window, look), coloured(look, style.ok, f" ok {report.ok:,}")),
        coloured(look, _error_role(report, look), f"err {report.errors:,} ({error_rate(report.errors, report.ended)})"),
        plain(f"in-flight {report.in_flight:,}"),
        coloured(look, style.bold, rate),
        *([plain(stream_rates(*ui.sight.message_rates()))] if report.streams is not None else []),
        *(plain(f"{word} {number:,}") for word, number in _rare(report) if number),
    ]
    limit = width - 46 if width >= SHORT_HEADER_WIDTH else width
    line = spans[0]
    for span in spans[1:]:
        if line.width + 2 + span.width > limit:
            break
        line = joined(line, plain("  "), span)
    return line


def _rare(report: Report) -> tuple[tuple[str, int], ...]:
    found = report.repeated
    hedges = found.sent if found is not None and found.policy == "hedging" else 0
    return (
        ("dropped", report.dropped),
        ("cancelled", report.cancelled),
        ("retries", report.retries),
        ("hedges", hedges),
        ("throttled", found.throttled if found is not None else 0),
    )


def _error_role(report: Report, look: Look) -> str:
    if not report.errors:
        return look.style.muted
    return look.style.err if report.errors >= report.completed * 0.01 else look.style.warn


def _percentiles(report: Report, ui: Ui, width: int) -> Span:
    digest = ui.sight.digests.held(report.latency)
    values = (digest.p50, digest.p90, digest.p99, digest.max_us) if digest else (None,) * 4
    names = ("p50", "p90", "p99", "max")
    words = [f"{name} {duration(value)}" for name, value in zip(names, values, strict=True)]
    return plain(fitting(words, "  ", width - 2) + " ")
