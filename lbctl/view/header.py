"""The top of the live view: what runs, how far it is, totals and percentiles."""

from __future__ import annotations

from lbctl.stats.report import Report
from lbctl.view.bars import progress
from lbctl.view.layout import PANEL_WIDTH, SHORT_HEADER_WIDTH
from lbctl.view.lines import Span, coloured, joined, plain, spread
from lbctl.view.text import cell_len, clock, count, duration, elide, elide_left, error_rate
from lbctl.view.theme import Look
from lbctl.view.ui import Ui


def header(report: Report, ui: Ui, width: int, look: Look) -> list[str]:
    """Three lines from 100 columns on, four below."""
    totals = _totals(report, ui, width, look)
    percentiles = _percentiles(report, ui)
    lines = [_title(report, width, look), _progress(report, width, look)]
    if width >= SHORT_HEADER_WIDTH:
        return [*lines, spread(totals, percentiles, width)]
    return [*lines, totals.text, elide(" " + percentiles.text, width)]


def warning(report: Report, width: int, look: Look) -> str:
    """The generator's own doubts, on one line."""
    text = look.show("; ".join(report.generator.warnings))
    return look.paint(look.style.warn, elide(f" ! {text}", width, look.glyphs.ellipsis))


def _title(report: Report, width: int, look: Look) -> str:
    style, glyphs = look
    load = report.load
    pace = f"{load.rps:g}/s" if load.rps else f"c={report.concurrency}"
    name = " lbctl hammer  " if width >= PANEL_WIDTH else " "
    state = _state(report)
    flag = joined(Span(f"{style.warn}{style.reverse} {state} {style.reset}", len(state) + 2), plain(" "))
    policy = elide(look.show(report.policy), max(width - 24, 8), glyphs.ellipsis)
    end = joined(
        flag if state else plain(""),
        coloured(look, style.accent, policy),
        plain(f"  {pace}  {clock(report.elapsed_s)} "),
    )
    method = look.show(report.method)
    room = width - len(name) - end.width - 2
    if width >= SHORT_HEADER_WIDTH and cell_len(method) + cell_len(look.show(report.service)) + 2 <= room:
        start = joined(plain(name), coloured(look, style.bold, method), plain("  "))
        service = coloured(look, style.muted, look.show(report.service))
        return spread(joined(start, service), end, width)
    shown = elide_left(method, room, glyphs.ellipsis) if room >= 6 else ""
    return spread(joined(plain(name), coloured(look, style.bold, shown)), end, width)


def _state(report: Report) -> str:
    if report.stopping:
        return "STOPPING"
    return "PAUSED" if report.paused else ""


def fraction(report: Report) -> float | None:
    """How much of the run is done, by whichever limit comes first; None without a limit."""
    load = report.load
    parts = []
    if load.requests:
        parts.append(report.completed / load.requests)
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
        return elide(f" {words}", width)
    tail = f" {words}  {int(done * 100):3d}%{_eta(report, done)} "
    room = width - len(tail) - 1
    if room < 8:
        tail = f" {words} {int(done * 100)}% "
        room = width - len(tail) - 1
    if room < 4:
        return elide(tail, width)
    return " " + progress(done, room, look) + tail


def _eta(report: Report, done: float) -> str:
    if report.paused or not done or done >= 1:
        return "  ETA     -"
    return f"  ETA {clock(report.elapsed_s / done - report.elapsed_s + 0.5)}"


def _totals(report: Report, ui: Ui, width: int, look: Look) -> Span:
    style = look.style
    now = ui.series.now()
    rate = "- rps" if now is None else f"{count(now, 9)} rps"
    spans = [
        coloured(look, style.ok, f" ok {report.ok:,}"),
        coloured(
            look, _error_role(report, look), f"err {report.errors:,} ({error_rate(report.errors, report.completed)})"
        ),
        plain(f"in-flight {report.in_flight:,}"),
        coloured(look, style.bold, rate),
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
    return ("dropped", report.dropped), ("cancelled", report.cancelled), ("retries", report.retries)


def _error_role(report: Report, look: Look) -> str:
    if not report.errors:
        return look.style.muted
    return look.style.err if report.errors >= report.completed * 0.01 else look.style.warn


def _percentiles(report: Report, ui: Ui) -> Span:
    digest = ui.digests.of(report.latency, report.elapsed_s)
    values = (digest.p50, digest.p90, digest.p99, digest.max_us) if digest else (None,) * 4
    names = ("p50", "p90", "p99", "max")
    return plain("  ".join(f"{name} {duration(value)}" for name, value in zip(names, values, strict=True)) + " ")
