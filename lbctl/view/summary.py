"""The end of a run as text for the scrollback: plain unless a style is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from lbctl.stats.report import ErrorGroup, Report
from lbctl.view.bars import bar
from lbctl.view.confidence import sure_lines
from lbctl.view.connections import connection_lines
from lbctl.view.digest import Digest, digest
from lbctl.view.distribution import START_S, distribution_lines
from lbctl.view.event_panel import SERVER_FAULTS, event_lines_whole
from lbctl.view.explanation import explanation_lines
from lbctl.view.guard_lines import guard_lines
from lbctl.view.latency_panel import buckets
from lbctl.view.load_words import pace_of
from lbctl.view.methods import method_lines
from lbctl.view.outcomes import outcome_lines
from lbctl.view.repeat_lines import repeat_lines, transparent
from lbctl.view.search_lines import search_lines
from lbctl.view.stream_lines import stream_lines, two
from lbctl.view.text import cell_len, clock, duration, error_rate, folded, part, plural, rate
from lbctl.view.theme import PLAIN, UNICODE, Glyphs, Look, Style

_WIDTH = 80
_TIED = "\u00a0"  # a space at which no line ends
_BUCKETS = 12
_ERRORS = 20
_EVENTS = 12
_QUANTILES = ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9"))


def summary(
    report: Report,
    *,
    verbose: bool = False,
    style: Style = PLAIN,
    glyphs: Glyphs = UNICODE,
) -> str:
    """Return the whole text, with a line end; what was typed is its first line, where that is known.

    With ``verbose`` everything that is known of the connections is told, not only what is worth a look.
    """
    look = Look(style, glyphs)
    parts = [
        folded(look.show(report.command), _WIDTH) if report.command else [],
        _named(report, look),
        _stopped(report, look),
        search_lines(report, look, _WIDTH),
        _totals(report, look, verbose=verbose),
        distribution_lines(report, look, _WIDTH),
        explanation_lines(report, look, _WIDTH),
        guard_lines(report, look, _WIDTH),
        _latency(report, look),
        _errors(report, look),
        method_lines(report, look),
        _streams(report, look),
        _connections(report, look, verbose=verbose),
        outcome_lines(report, look, _WIDTH),
        _events(report, look),
        _warnings(report, look),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part) + "\n"


def brief(report: Report, look: Look) -> str:
    """Return two lines for whoever could not wait: how far the run came, and what became of its calls."""
    found = digest(report.latency)
    times = [f"p50 {duration(found.p50)}", f"p99 {duration(found.p99)}"] if found else []
    words = [*_outcomes(report, look), f"cancelled {report.cancelled:,}", f"{rate(report.throughput)}/s", *times]
    return "\n".join([*_stopped(report, look), "  ".join(words)]) + "\n"


def _outcomes(report: Report, look: Look) -> tuple[str, str]:
    share = f" ({report.ok / report.ended * 100:.2f}%)" if report.ended else ""
    failed = f"errors {report.errors:,} ({error_rate(report.errors, report.ended)})"
    return f"ok {report.ok:,}{share}", look.paint(look.style.err if report.errors else "", failed)


def _named(report: Report, look: Look) -> list[str]:
    words = [report.name, *(f"{key}={value}" for key, value in report.tags.items())]
    text = "  ".join(look.show(word) for word in words if word)
    return wrap(text, _WIDTH, break_on_hyphens=False) if text else []


def _stopped(report: Report, look: Look) -> list[str]:
    reasons = {
        "interrupted": f"Stopped by {look.show(report.stopped_by or 'Ctrl-C')}",
        "aborted": f"Stopped by {look.show(report.stopped_by or '--abort-on')}",
        "max_errors": "Stopped by --max-errors",
        "error": "Stopped by an error",
    }
    reason = reasons.get(report.end_reason or "")
    if reason is None:
        return []
    load = report.load
    of = f" of {load.requests:,}" if load.requests else ""
    return [look.paint(look.style.warn, f"{reason} after {report.elapsed_s:.1f}s ({report.completed:,}{of})")]


def _totals(report: Report, look: Look, *, verbose: bool) -> list[str]:
    style = look.style
    share = f"({report.ok / report.ended * 100:.2f}%)" if report.ended else ""
    _, failed = _outcomes(report, look)
    pace = f"({rate(report.throughput)}/s), {_mode(report)}"
    lines = [
        look.paint(style.bold, "Summary"),
        *wrap(
            f"  requests  {report.completed:>9,} in {_seconds(report.elapsed_s)} {pace}",
            _WIDTH,
            subsequent_indent=" " * 12,
            break_on_hyphens=False,
        ),
        f"  ok        {report.ok:>9,} {share:<9}  {failed}    cancelled {report.cancelled:,}",
    ]
    extra = [
        words
        for number, words in (
            (report.warmed and report.warmed.requests, _warmup(report)),
            (report.recounted is not None, _recounted(report)),
            (report.dropped, f"dropped {report.dropped:,}"),
            (transparent(report), f"retries {transparent(report):,} ({report.attempts:,} attempts)"),
            (report.in_flight, f"still in flight {report.in_flight:,}"),
        )
        if number
    ]
    if extra:
        lines.append("  also      " + "    ".join(extra))
    lines += repeat_lines(report, look.show)
    limit = f"deadline{_TIED}{report.load.timeout_s:g}s" if report.load.timeout_s else f"no{_TIED}deadline"
    words = wrap(f"{look.show(_policy(report))}, seed {report.seed}, {limit}", _WIDTH - 12, break_on_hyphens=False)
    first, *rest = (line.replace(_TIED, " ") for line in words)
    lines += [f"  policy    {first}", *(" " * 12 + line for line in rest)]
    return lines + _times(report, verbose=verbose)


def _warmup(report: Report) -> str:
    return "" if report.warmed is None else f"warm-up {plural(report.warmed.requests, 'call')}, not counted"


def _recounted(report: Report) -> str:
    found = report.recounted
    return "" if found is None else f"begun anew after {plural(found.requests, 'call')}"


def _seconds(seconds: float) -> str:
    if seconds < 0.1:
        return duration(seconds * 1e6)
    return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s" if seconds < 1000 else clock(seconds)


def _mode(report: Report) -> str:
    load = report.load
    if load.mode == "closed":
        return f"closed loop, {report.concurrency:,} in flight"
    return f"open loop {pace_of(report)}, times from the {'plan' if load.corrected else 'start'}"


def _policy(report: Report) -> str:
    options = ", ".join(f"{name}={value}" for name, value in report.policy_options.items())
    name = f"{report.policy} ({options})" if options else report.policy
    changes = [event.t_s for event in report.events if event.kind == "policy" and event.text.startswith("policy -> ")]
    if changes:
        name += f" since {changes[-1]:.1f}s, another before"
    return name if report.hash_key is None else f"{name}, keys {report.hash_key}"


def _times(report: Report, *, verbose: bool) -> list[str]:
    histogram = report.latency
    if not histogram.total:
        return [f"  latency   - ({'not in the file' if report.ok else 'no call ended well'})"]
    values = histogram.quantiles([quantile for quantile, _ in _QUANTILES])
    named = dict(zip((name for _, name in _QUANTILES), map(duration, values), strict=True))
    first = f"min {duration(histogram.min_us)}  mean {duration(histogram.mean_us)}"
    middle = "  ".join(f"{name} {named[name]}" for name in ("p50", "p90", "p95"))
    lines = [
        f"  latency   {first}  {middle}",
        f"            p99 {named['p99']}  p99.9 {named['p99.9']}  max {duration(histogram.max_us)}",
        *(["            also of calls that failed and were answered"] if report.load.counts_errors else []),
        *sure_lines(report, _WIDTH),
    ]
    if (report.load.mode == "open" or verbose) and report.service_time.total and report.wait.total:
        lines.append(f"  of it     service {two(report.service_time)}    wait {two(report.wait)}")
    if verbose and report.first_byte.total and report.streams is None:
        lines.append(f"            first byte {two(report.first_byte)}")
    if report.starts is not None and report.starts.delays.total:
        late = f"    {plural(report.starts.late, 'call')} over 1ms" if report.starts.late else ""
        lines.append(f"  starts    {two(report.starts.delays)} behind the plan{late}")
    return lines


def _latency(report: Report, look: Look) -> list[str]:
    found = digest(report.latency)
    if found is None:
        return []
    return [look.paint(look.style.bold, "Latency"), *_bars(found, look)]


def _bars(found: Digest, look: Look) -> list[str]:
    table = buckets([found], _BUCKETS)
    highest = max(counts[0] for _, counts in table) or 1
    room = _WIDTH - 27
    return [
        f"  {label:<6} {look.paint(look.style.latency, bar(counts[0] / highest, room, look.glyphs))}"
        f" {counts[0]:>9,} {counts[0] / found.total * 100:>5.1f}%"
        for label, counts in table
    ]


def _errors(report: Report, look: Look) -> list[str]:
    groups = report.error_groups
    if not groups:
        return []
    shown = groups[:_ERRORS]
    codes = max(len(group.code.name) for group in shown)
    origins = max(len(group.origin.value) for group in shown)
    messages = [look.elide(look.show(group.message), 60) for group in shown]
    places = [_place(group, look) for group in shown]
    longest, indent = max(map(cell_len, messages)), codes + origins + 11
    beside = indent + longest + 2 + max(map(cell_len, places)) <= _WIDTH
    lines = [look.paint(look.style.bold, "Errors")]
    for group, message, place in zip(shown, messages, places, strict=True):
        role = look.style.err if group.code in SERVER_FAULTS else look.style.warn
        head = look.paint(role, f"{group.count:>6,} {group.code.name:<{codes}}") + f"  {group.origin.value:<{origins}}"
        lines.append(f"{head}  {look.left(message, longest)}  {place}" if beside else f"{head}  {message}")
        if place and not beside:
            lines.append(" " * indent + place)
        lines += _example(group, indent, look)
    if len(groups) > _ERRORS:
        rest = groups[_ERRORS:]
        lines.append(f"{sum(group.count for group in rest):>6,} in {plural(len(rest), 'other kind')}")
    return lines


def _example(group: ErrorGroup, indent: int, look: Look) -> list[str]:
    """Return one message as it was, where that says more than what all of its kind have in common."""
    if group.example in ("", group.message):
        return []
    return [look.paint(look.style.muted, look.elide(f"{' ' * indent}e.g. {look.show(group.example)}", _WIDTH))]


def _place(group: ErrorGroup, look: Look) -> str:
    """Return the backend with most of a kind's errors, and its part of them."""
    address = next(iter(group.backends), "")
    return f"{look.show(address)} {part(group.backends[address], group.count)}" if address else ""


def _streams(report: Report, look: Look) -> list[str]:
    lines = stream_lines(report)
    return [look.paint(look.style.bold, "Streams"), *lines] if lines else []


def _connections(report: Report, look: Look, *, verbose: bool) -> list[str]:
    lines = connection_lines(report, look, whole=verbose)
    return [look.paint(look.style.bold, "Connections"), *lines] if lines else []


def _events(report: Report, look: Look) -> list[str]:
    """Return what explains the figures above: everything that happened after the start, the first dozen in full."""
    events = [event for event in report.events if event.t_s > START_S or event.level in ("bad", "change")]
    if not events:
        return []
    names = {row.key: row.address for row in report.backends}
    lines = [line for event in events[:_EVENTS] for line in event_lines_whole(event, names, _WIDTH, look)]
    more = [f"  {len(events) - _EVENTS:,} more, all in the JSON document"] if len(events) > _EVENTS else []
    return [look.paint(look.style.bold, "Events"), *lines, *more]


def _warnings(report: Report, look: Look) -> list[str]:
    warnings: Sequence[str] = report.generator.warnings
    if not warnings:
        return []
    return [
        look.paint(look.style.bold, "Load generator"),
        *(look.paint(look.style.warn, line) for text in warnings for line in _warning(look.show(text))),
    ]


def _warning(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="  ! ", subsequent_indent="    ", break_on_hyphens=False)
