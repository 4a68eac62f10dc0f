"""What was sent and received on the streams of a run, in lines."""

from __future__ import annotations

from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.stats.streams import Spread
from lbctl.view.text import NONE, count, duration, plural, rate


def stream_lines(report: Report) -> list[str]:
    """Return messages each way, the time between them, and the time to the first; nothing for unary calls."""
    found = report.streams
    if found is None:
        return []
    lines = [
        f"  {label:<10}{plural(number, 'message')} ({_per_second(number, report.elapsed_s)}){_spread(per_call)}"
        for label, number, per_call in (
            ("sent", found.sent, found.sent_per_call),
            ("received", found.received, found.received_per_call),
        )
    ]
    if found.gaps.total:
        lines.append(f"  gaps      {two(found.gaps)}  max {duration(found.gaps.max_us)} between two that came")
    if report.first_byte.total:
        lines.append(f"  first     {two(report.first_byte)} from the start of the call to the reply's first byte")
    return lines


def stream_rates(sent: float | None, received: float | None) -> str:
    """Return the messages per second each way, at this moment."""
    # Messages count when their call ends, received ones mostly sooner: none is no proof that nothing was sent.
    shown = (f"{count(each)}/s" if each else NONE for each in (sent, received))
    return "sent {}  received {}".format(*shown)


def _per_second(number: int, seconds: float) -> str:
    return f"{rate(number / seconds, 3)}/s" if seconds > 0 else NONE


def two(times: Histogram) -> str:
    """Return the median and the 99th percentile."""
    p50, p99 = times.quantiles((0.5, 0.99))
    return f"p50 {duration(p50)}  p99 {duration(p99)}"


def _spread(per_call: Spread | None) -> str:
    if per_call is None:
        return ""
    if per_call.least == per_call.most:
        return f"    {per_call.least:,} per call"
    return f"    {per_call.least:,} to {per_call.most:,} per call, mean {per_call.mean:,.1f}"
