"""A run as the JSON document of ghz, for the dashboards and scripts that were made for it: its keys, types and units.

Where both tools mean something else by a key: latencies are those of OK calls, ``average`` too, and in an open loop
count from the moment a call was planned for; ``details`` is empty, since lbctl keeps no call.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Final

from lbctl import __version__
from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import ErrorGroup, Load, Report
from lbctl.view.figures import Document, stamp

_PERCENTAGES: Final = (10, 25, 50, 75, 90, 95, 99)
_MARKS: Final = 10  # steps between the fastest and the slowest call
_UNLIMITED: Final = (1 << 31) - 1  # what ghz has for the number of calls of a run that has a duration
_LOAD: Final = ("load-start", "load-end", "load-step", "load-step-duration", "load-max-duration")
_CONCURRENCY: Final = {
    "concurrency-schedule": "const",
    "concurrency-start": 0,
    "concurrency-end": 0,
    "concurrency-step": 1,
    "concurrency-step-duration": 0,
    "concurrency-max-duration": 0,
}
_REASONS: Final = {"completed": "normal", "duration": "timeout"}


def ghz_document(report: Report) -> Document:
    """Return the document; durations are in nanoseconds, marks of the histogram in seconds."""
    latency, ended = report.latency, report.completed
    return {
        "name": report.service,
        "endReason": _REASONS.get(report.end_reason or "", "cancel"),
        "options": _options(report),
        "date": stamp(report.started_at),
        "count": ended,
        "total": round(report.elapsed_s * 1e9),
        "average": round(latency.mean_us * 1000),
        "fastest": latency.min_us * 1000 if latency.total else 0,
        "slowest": latency.max_us * 1000,
        "rps": ended / report.elapsed_s if report.elapsed_s > 0 else 0.0,
        "errorDistribution": _errors(report),
        "statusCodeDistribution": _statuses(report),
        "latencyDistribution": _percentiles(latency),
        "histogram": _histogram(latency),
        "details": [],
        "tags": {
            "tool": f"lbctl {__version__}",
            "service": report.service,
            "policy": report.policy,
            "seed": str(report.seed),
        },
    }


def _options(report: Report) -> Document:
    load: Load = report.load
    found: Document = {
        "call": report.method.replace("/", "."),
        "host": ",".join(dict.fromkeys(row.address for row in report.backends)),
        **_schedule(load),
        "concurrency": load.concurrency or 0,
        **_CONCURRENCY,
        "total": _UNLIMITED if load.requests is None else load.requests,
        "connections": load.connections,
        "timeout": round(load.timeout_s * 1e9),
        "name": report.service,
    }
    if load.rps is not None:
        found["rps"] = round(load.rps)
    if load.duration_s is not None:
        found["duration"] = round(load.duration_s * 1e9)
    return found


def _schedule(load: Load) -> Document:
    """The rates as ghz asks for them; without the name of a schedule where it has none that is like it."""
    found: Document = dict.fromkeys(_LOAD, 0)
    if not load.stages or load.rps is not None:
        return {"load-schedule": "const", **found}
    (seconds, first, last), *rest = load.stages
    if first != last and 0 < seconds < inf and all(begin == end == last for _, begin, end in rest):
        return {"load-schedule": "line", **found, **_rates(first, last, (last - first) / seconds)}
    steps = {(each[1] - before[1], before[0]) for before, each in pairwise(load.stages)}
    if len(steps) == 1 and all(begin == end for _, begin, end in load.stages):
        ((step, each_s),) = steps
        words = _rates(first, load.stages[-1][2], step)
        return {"load-schedule": "step", **found, **words, "load-step-duration": round(each_s * 1e9)}
    return found


def _rates(first: float, last: float, step: float) -> Document:
    return {"load-start": round(first), "load-end": round(last), "load-step": round(step)}


def _errors(report: Report) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in report.error_groups:
        text = _error(group)
        found[text] = found.get(text, 0) + group.count
    if report.cancelled:
        text = f"rpc error: code = {status(Code.CANCELLED)} desc = cancelled at the end of the run"
        found[text] = found.get(text, 0) + report.cancelled
    return found


def _error(group: ErrorGroup) -> str:
    if group.code is Code.OK:  # a reply that a check of ours refused
        return group.message
    return f"rpc error: code = {status(group.code)} desc = {group.message}"


def _statuses(report: Report) -> dict[str, int]:
    found = {status(code): count for code, count in report.codes.items()}
    if report.cancelled:
        name = status(Code.CANCELLED)
        found[name] = found.get(name, 0) + report.cancelled
    return found


def status(code: Code) -> str:
    """Spell a status code as Go does: ``DeadlineExceeded``."""
    if code is Code.OK:
        return "OK"
    return "Canceled" if code is Code.CANCELLED else "".join(word.capitalize() for word in code.name.split("_"))


def _percentiles(latency: Histogram) -> list[Document]:
    if not latency.total:
        return []
    found = latency.quantiles([percentage / 100 for percentage in _PERCENTAGES])
    return [
        {"percentage": percentage, "latency": round(us * 1000)}
        for percentage, us in zip(_PERCENTAGES, found, strict=True)
    ]


def _histogram(latency: Histogram) -> list[Document]:
    """Marks at even distances: each counts the calls above the mark before it and not above itself."""
    if not latency.total:
        return []
    low, high = latency.min_us, latency.max_us
    marks = [low + (high - low) * step / _MARKS for step in range(_MARKS)] + [float(high)]
    counts = latency.rebinned([int(mark) for mark in marks])
    return [
        {"mark": mark / 1e6, "count": count, "frequency": count / latency.total}
        for mark, count in zip(marks, counts[:-1], strict=True)
    ]
