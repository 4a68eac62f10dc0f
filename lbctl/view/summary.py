"""The end of a run as text for the scrollback: plain unless a style is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from textwrap import wrap

from lbctl.stats.chance import TOO_EVEN
from lbctl.stats.report import BackendRow, Balance, ErrorGroup, Report
from lbctl.view.bars import bar
from lbctl.view.connections import connection_lines
from lbctl.view.digest import Digest, digest
from lbctl.view.event_panel import SERVER_FAULTS, event_lines_whole
from lbctl.view.explanation import explanation_lines
from lbctl.view.guard_lines import guard_lines
from lbctl.view.latency_panel import buckets
from lbctl.view.repeat_lines import repeat_lines, transparent
from lbctl.view.stream_lines import stream_lines, two
from lbctl.view.table import p_words
from lbctl.view.text import cell_len, clock, count, duration, error_rate, part, percent, plural, points, rate
from lbctl.view.theme import PLAIN, UNICODE, Glyphs, Look, Style

_WIDTH = 80
_BUCKETS = 12
_ERRORS = 20
_EVENTS = 12
_START_S = 0.05  # what happened before is how the run began
_QUANTILES = ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9"))


def summary(
    report: Report,
    command: str = "",
    *,
    stopped_by: str = "Ctrl-C",
    verbose: bool = False,
    style: Style = PLAIN,
    glyphs: Glyphs = UNICODE,
) -> str:
    """Return the whole text, with a line end; ``command`` is what was typed, ``stopped_by`` what interrupted it.

    With ``verbose`` everything that is known of the connections is told, not only what is worth a look.
    """
    look = Look(style, glyphs)
    parts = [
        [look.show(command)] if command else [],
        _stopped(report, stopped_by, look),
        _totals(report, look, verbose=verbose),
        _distribution(report, look),
        explanation_lines(report, look, _WIDTH),
        guard_lines(report, look, _WIDTH),
        _latency(report, look),
        _errors(report, look),
        _streams(report, look),
        _connections(report, look, verbose=verbose),
        _events(report, look),
        _warnings(report, look),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part) + "\n"


def _stopped(report: Report, stopped_by: str, look: Look) -> list[str]:
    reasons = {
        "interrupted": f"Stopped by {look.show(stopped_by)}",
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
    done = report.completed / report.elapsed_s if report.elapsed_s > 0 else 0.0
    share = f"({report.ok / report.completed * 100:.2f}%)" if report.completed else ""
    failed = f"errors {report.errors:,} ({error_rate(report.errors, report.completed)})"
    role = style.err if report.errors else ""
    lines = [
        look.paint(style.bold, "Summary"),
        f"  requests  {report.completed:>9,} in {_seconds(report.elapsed_s)} ({rate(done)}/s), {_mode(report)}",
        f"  ok        {report.ok:>9,} {share:<9}  {look.paint(role, failed)}    cancelled {report.cancelled:,}",
    ]
    picks = _sums(report)[0]  # more than calls where some were picked again, or dropped at their backend
    extra = [
        words
        for number, words in (
            (report.dropped, f"dropped {report.dropped:,}"),
            (transparent(report), f"retries {transparent(report):,} ({report.attempts:,} attempts)"),
            (report.in_flight, f"still in flight {report.in_flight:,}"),
            (picks != report.completed + report.in_flight, f"picks {picks:,}"),
        )
        if number
    ]
    if extra:
        lines.append("  also      " + "    ".join(extra))
    lines += repeat_lines(report, look.show)
    lines.append(f"  policy    {look.show(_policy(report))}, seed {report.seed}")
    return lines + _times(report, verbose=verbose)


def _seconds(seconds: float) -> str:
    if seconds < 0.1:
        return duration(seconds * 1e6)
    return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s" if seconds < 1000 else clock(seconds)


def _mode(report: Report) -> str:
    load = report.load
    if load.rps:
        return f"open loop at {rate(report.rps or load.rps, 4)}/s, times from the plan"
    return f"closed loop, {report.concurrency:,} in flight"


def _policy(report: Report) -> str:
    options = ", ".join(f"{name}={value}" for name, value in report.policy_options.items())
    return f"{report.policy} ({options})" if options else report.policy


def _times(report: Report, *, verbose: bool) -> list[str]:
    histogram = report.latency
    if not histogram.total:
        return ["  latency   - (no call ended well)"]
    values = histogram.quantiles([quantile for quantile, _ in _QUANTILES])
    named = dict(zip((name for _, name in _QUANTILES), map(duration, values), strict=True))
    first = f"min {duration(histogram.min_us)}  mean {duration(histogram.mean_us)}"
    middle = "  ".join(f"{name} {named[name]}" for name in ("p50", "p90", "p95"))
    lines = [
        f"  latency   {first}  {middle}",
        f"            p99 {named['p99']}  p99.9 {named['p99.9']}  max {duration(histogram.max_us)}",
    ]
    if (report.load.rps or verbose) and report.service_time.total and report.wait.total:
        lines.append(f"  of it     service {two(report.service_time)}    wait {two(report.wait)}")
    if verbose and report.first_byte.total and report.streams is None:
        lines.append(f"            first byte {two(report.first_byte)}")
    if report.starts is not None and report.starts.delays.total:
        late = f"    {plural(report.starts.late, 'call')} over 1ms" if report.starts.late else ""
        lines.append(f"  starts    {two(report.starts.delays)} behind the plan{late}")
    return lines


def _distribution(report: Report, look: Look) -> list[str]:
    title = look.paint(look.style.bold, "Distribution") + "  " + _verdict(report, look)
    if not report.backends:
        return [title, "  no backends"]
    return [title, *_rows(report, look), *_tests(report)]


def _verdict(report: Report, look: Look) -> str:
    """Return the verdict and the reason for it; a chance test's figures are on a line of their own below the table."""
    balance, style = report.balance, look.style
    note = look.show(balance.note)
    if balance.verdict == "skewed" and balance.expectation == "feedback" and note:
        return look.paint(style.err, f"SKEWED: {note}")
    if balance.verdict == "skewed":
        worst = next((row for row in report.backends if row.address == balance.worst), None)
        return look.paint(style.err, "SKEWED: " + (_worst(report, worst, look) if worst else note))
    if note.startswith(TOO_EVEN):
        note = TOO_EVEN  # the figures are below
    reason = f", {note}" if note and (balance.p_value is None or note == TOO_EVEN) else ""
    if balance.verdict == "balanced":
        return look.paint(style.ok, "balanced") + reason
    words = {"too_few": "too few calls to judge", "not_applicable": "not judged"}
    return look.paint(style.muted, words.get(balance.verdict, balance.verdict)) + reason


def _sums(report: Report) -> tuple[int, float]:
    return sum(row.picks for row in report.backends), sum(row.expected for row in report.backends)


def _worst(report: Report, row: BackendRow, look: Look) -> str:
    picks, expected = _sums(report)
    share, due = row.picks / (picks or 1), row.expected / (expected or 1)
    return f"{look.show(row.address)} got {percent(share)}%, expected {percent(due)}% ({points(share - due)} pp)"


def _rows(report: Report, look: Look) -> list[str]:
    """Return the table: numbers right, SINCE only if somebody joined late or left; closer together where it is wide."""
    moved = any(row.left_s is not None or row.joined_s > _START_S for row in report.backends)
    head = ["ADDRESS", "WT", "EXP%", "ACT%", f"{look.glyphs.delta}pp", "PICKS", "ERR", "P50", "P99", "MAX"]
    table = [head + (["SINCE"] if moved else [])]
    table += [_cells(report, row, look, moved=moved) for row in report.backends]
    widths = [max(cell_len(line[index]) for line in table) for index in range(len(table[0]))]
    gap = "  " if sum(widths) + 2 * len(widths) <= _WIDTH else " "
    lines = []
    for line in table:
        cells = [look.left(line[0], widths[0])]
        cells += [text.rjust(width) for text, width in zip(line[1:10], widths[1:10], strict=True)]
        lines.append("  " + gap.join(cells + line[10:]))
    lines[0] = look.paint(look.style.muted, lines[0].rstrip())
    return lines


def _cells(report: Report, row: BackendRow, look: Look, *, moved: bool) -> list[str]:
    picks, expected = _sums(report)
    judged = report.balance.expectation != "feedback"
    share = row.picks / picks if picks else None
    due = row.expected / expected if expected and judged else None
    delta = share - due if share is not None and due is not None else None
    found = digest(row.latency)
    times = (found.p50, found.p99, found.max_us) if found else (None, None, None)
    expectation = percent(due) if row.band is None else _band(row.band)
    cells = [look.show(row.address), count(row.weight), expectation, percent(share), points(delta)]
    cells += [f"{row.picks:,}", f"{row.errors:,}", *(duration(value) for value in times)]
    return cells + ([_since(row)] if moved else [])


def _band(band: tuple[float, float]) -> str:
    """A range in whole per cent: more would be more than a simulation knows."""
    low, high = floor(band[0] * 100), ceil(band[1] * 100)
    return f"{low}-{high}"


def _since(row: BackendRow) -> str:
    late = row.joined_s > _START_S
    if row.left_s is not None:
        return f"{row.joined_s:.1f}-{row.left_s:.1f}s" if late else f"to {row.left_s:.1f}s"
    return f"{row.joined_s:.1f}s" if late else "start"


def _tests(report: Report) -> list[str]:
    balance = report.balance
    words = []
    if balance.chi2 is not None and balance.dof is not None and balance.p_value is not None:
        words.append(f"chi-square {balance.chi2:.4g}, df {balance.dof}, {p_words(balance.p_value)}{_effect(balance)}")
    if balance.max_over_expected is not None and balance.verdict != "not_applicable":
        words.append(f"largest actual/expected {balance.max_over_expected:.2f}")
    return ["  " + "; ".join(words)] if words else []


def _effect(balance: Balance) -> str:
    """How large the difference is, whatever the number of calls; below 0.01 it is of no consequence."""
    return "" if balance.effect is None else f", effect {balance.effect:.3f}"


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
    if len(groups) > _ERRORS:
        rest = groups[_ERRORS:]
        lines.append(f"{sum(group.count for group in rest):>6,} in {plural(len(rest), 'other kind')}")
    return lines


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
    events = [event for event in report.events if event.t_s > _START_S or event.level in ("bad", "change")]
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
