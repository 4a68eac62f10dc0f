"""Latency for the tools around HdrHistogram: its percentile distribution as text, and its interval log.

The distribution is a table of value, percentile, calls up to it and 1/(1 - percentile). Its percentiles stand the
closer the nearer they are to 1, five to each half of what is left, until every call is counted:

    from 0       0, 0.1, 0.2, 0.3, 0.4
    from 0.5     0.5, 0.55, 0.6, 0.65, 0.7
    from 0.75    0.75, 0.775, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt
from typing import Final

from lbctl.stats.histogram import BUCKETS, Histogram
from lbctl.stats.report import Report
from lbctl.view.hdr_code import encoded

_TICKS: Final = 5  # per half of the distance that is left
_HIGHEST_NS: Final = 2**42  # the next power of two above an hour
_LEGEND: Final = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'

Steps = Iterable[tuple[float, int]]  # microseconds, how many


def distribution(times: Histogram) -> str:
    """Spell the percentile distribution in milliseconds; that of nothing has no rows."""
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    lines += [_row(*row) for row in _rows(times)]
    mean, deviation = times.mean_us / 1e3, _deviation_ms(times)
    lines += [
        f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]",
        f"#[Max     = {times.max_us / 1e3:12.3f}, Total count    = {times.total:12d}]",
        f"#[Buckets = {BUCKETS // 128 - 1:12d}, SubBuckets     = {256:12d}]",
    ]
    return "\n".join(lines) + "\n"


def _row(us: float, level: float, count: int) -> str:
    last = "" if level >= 1.0 else f" {1 / (1 - level):14.2f}"
    return f"{us / 1e3:12.3f} {level:14.12f} {count:10d}{last}"


def _rows(times: Histogram) -> Iterator[tuple[float, float, int]]:
    """Microseconds, the level 0..1, and how many took at most that long."""
    total, seen, level = times.total, 0, 0.0
    for us, count in _steps(times):
        seen += count
        while level <= seen / total:
            yield us, level, seen
            level = _next(level)
            if seen == total:
                break
    if total:
        yield times.max_us, 1.0, total


def _next(level: float) -> float:
    """The level after this one: a fifth of the way to the next halving of what is left."""
    half = 1
    while 1 - level <= 1 / (2 * half):
        half *= 2
    return level + 1 / (half * 2 * _TICKS)


def _deviation_ms(times: Histogram) -> float:
    """The standard deviation as the buckets have it, milliseconds; 0 for nothing."""
    if not times.total:
        return 0.0
    mean = times.mean_us
    return sqrt(sum(count * (us - mean) ** 2 for us, count in _steps(times)) / times.total) / 1e3


def _steps(times: Histogram) -> Iterator[tuple[float, int]]:
    """The buckets that have any, none outside of the least and the greatest."""
    return ((min(max(us, times.min_us), times.max_us), count) for us, count in times.steps())


def interval_log(report: Report) -> str:
    """Spell the log: the calls of each sample, then those of each backend under its address as tag; in nanoseconds.

    Times of the log are seconds since the epoch. A run that was read from a file without samples is one interval.
    """
    start_s = report.started_at.timestamp()
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch), {report.started_at.isoformat(sep=' ')}]",
        "#[BaseTime: 0.000 (seconds since epoch)]",
        _LEGEND,
    ]
    sampled = [sample for sample in report.samples if sample.latency is not None]
    if sampled and all(sample.durations.steps() for sample in sampled):
        lines += [
            _interval(start_s + sample.t_s - sample.seconds, sample.seconds, sample.durations.steps(), report.latency)
            for sample in report.samples
        ]
    else:
        lines.append(_interval(start_s, report.elapsed_s, report.latency.steps(), report.latency))
    for row in report.backends:
        end_s = report.elapsed_s if row.left_s is None else row.left_s
        steps = _interval(start_s + row.joined_s, max(end_s - row.joined_s, 0.0), row.latency.steps(), row.latency)
        lines.append(f"Tag={_tag(row.address)},{steps}")
    return "\n".join(lines) + "\n"


def _tag(address: str) -> str:
    """A tag ends at the first comma and has no room for spaces or line ends."""
    return "".join(char if char.isprintable() and char not in ", " else "_" for char in address)


def _interval(at_s: float, seconds: float, steps: Steps, bounds: Histogram) -> str:
    counts = [(round(min(max(us, bounds.min_us), bounds.max_us) * 1000), count) for us, count in steps]
    longest_ns = max((ns for ns, _ in counts), default=0)
    return f"{at_s:.3f},{seconds:.3f},{longest_ns / 1e6:.3f},{encoded(counts, _HIGHEST_NS)}"
