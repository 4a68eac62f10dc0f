"""What happened on connections, in lines: only what is worth a look, or all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lbctl.stats.report import Report
from lbctl.view.text import count, duration
from lbctl.view.theme import Look

_LABEL = 10
_WORTH = 0.01  # of the calls' time
_OWN = "by lbctl"  # how connections end when a run does
_STALL_S = 0.1


def connection_lines(report: Report, look: Look, *, whole: bool) -> list[str]:
    """Return label and words per line; without ``whole`` nothing where all went as it should."""
    lines = [*_trouble(report, 0.0 if whole else _WORTH), *(_rest(report) if whole else ())]
    if lines or whole:
        lines.insert(0, ("sockets", _sockets(report)))
    return [f"  {label:<{_LABEL}}{look.show(words)}" for label, words in lines]


def _sockets(report: Report) -> str:
    return f"{report.wire.opened:,} opened  {report.wire.sockets:,} open"


def _trouble(report: Report, least: float) -> Iterator[tuple[str, str]]:
    wire = report.wire
    costly = {cause: wait for cause, wait in report.waits.items() if wait.share >= least}
    if costly:
        yield "waits", _joined(f"{cause} {wait.calls:,} calls, {_share(wait.share)}" for cause, wait in costly.items())
    if wire.paused_s >= _STALL_S:
        yield "not read", f"peers did not read for {duration(wire.paused_s * 1e6)} in all"
    yield from _line("closed", _named("", {reason: n for reason, n in wire.closed.items() if reason != _OWN}))
    yield from _line("goaways", _named("", wire.goaways))
    resets = _named("received", wire.rst_received) + _named("sent", wire.rst_sent)
    yield from _line("resets", resets)
    yield from _line("retries", _named("", {why: n for why, n in report.retried.items() if why != "policy"}))
    odd = _named("", wire.anomalies)
    odd += [f"protocol errors {wire.protocol_errors:,}"] if wire.protocol_errors else []
    yield from _line("anomalies", odd)
    if wire.late_ok:
        yield "late", f"{wire.late_ok:,} OK replies came after their deadline and count as errors"


def _rest(report: Report) -> Iterator[tuple[str, str]]:
    wire = report.wire
    # An engine that does not count its bytes has none.
    words = [f"{count(wire.bytes_in)} in", f"{count(wire.bytes_out)} out"] if wire.bytes_in or wire.bytes_out else []
    if wire.replies_per_read is not None:
        words.append(f"{wire.replies_per_read:.1f} replies per read")
    yield from _line("bytes", words)
    if wire.header_cache_hit is not None:
        yield "headers", f"HPACK blocks seen before {wire.header_cache_hit * 100:.1f}%"
    named = {
        "settings": wire.settings,
        "pings": wire.pings,
        "pings sent": wire.pings_sent,
        "late frames": wire.late_frames,
        "blocked writes": wire.blocked_writes,
    }
    yield from _line("frames", _named("", named))


def _line(label: str, words: list[str]) -> Iterator[tuple[str, str]]:
    if words:
        yield label, _joined(words)


def _named(kind: str, counts: Mapping[str, int]) -> list[str]:
    prefix = f"{kind} " if kind else ""
    return [f"{prefix}{name} {number:,}" for name, number in counts.items() if number]


def _joined(words: Iterator[str] | list[str]) -> str:
    return "  ".join(words)


def _share(share: float) -> str:
    return f"{share * 100:.1f}% of the time" if share < 0.1 else f"{share * 100:.0f}% of the time"
