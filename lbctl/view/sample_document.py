"""Parts of the run document that stand elsewhere too or are for programs: samples, events, whole histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lbctl.model import Code, Event
from lbctl.stats.drift import Drift
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import BackendRow, Machine, Report
from lbctl.stats.samples import Sample
from lbctl.view.figures import Document, latency_ms, micros, ratio

DENSE: Final = frozenset({"samples", "histograms"})  # keys of the run document that nobody reads with their own eyes


def samples(found: Sequence[Sample]) -> list[Document]:
    """The samples of a run, oldest first."""
    return [sample(each) for each in found]


def sample(found: Sample) -> Document:
    """One sample; times are null where no call was OK in it."""
    times = found.latency
    return {
        "t_s": micros(found.t_s),
        "seconds": micros(found.seconds),
        "requests": found.requests,
        "ok": found.ok,
        "errors": found.errors,
        "cancelled": found.cancelled,
        "dropped": found.dropped,
        "retries": found.retries,
        "in_flight": found.in_flight,
        "rps": round(found.rps, 1),
        "p50_ms": None if times is None else round(times.p50_ms, 4),
        "p90_ms": None if times is None else round(times.p90_ms, 4),
        "p99_ms": None if times is None else round(times.p99_ms, 4),
        "max_ms": None if times is None else round(times.max_ms, 4),
    }


def stationarity(found: Drift | None) -> Document | None:
    """What became of the latency over the run; null while it goes on, and where the load was meant to change."""
    if found is None:
        return None
    times = {"before_ms": found.before_ms, "after_ms": found.after_ms, "warmup_ms": found.warmup_ms}
    return {
        "verdict": found.verdict,
        "p_value": found.p_value,
        "warmup_s": micros(found.warmup_s),
        **{name: None if ms is None else round(ms, 4) for name, ms in times.items()},
    }


def machine(found: Machine | None) -> Document | None:
    """What went on around the generator; null while the run goes on."""
    if found is None:
        return None
    return {
        "busy": ratio(found.busy),
        "others": ratio(found.others),
        "stolen": ratio(found.stolen),
        "throttled": ratio(found.throttled),
        "page_faults": found.faults,
        "collections": found.collections,
        "collecting_ms": round(found.collecting_s * 1e3, 4),
        "longest_ms": round(found.longest_s * 1e3, 4),
    }


def event(found: Event) -> Document:
    """One event."""
    words = {"kind": found.kind, "level": found.level, "backend": found.backend, "text": found.text}
    return {"t_s": micros(found.t_s), **words}


def histograms(report: Report) -> Document:
    """Every histogram without loss: ``Histogram.of_state`` makes it again."""
    starts, streams = report.starts, report.streams
    return {
        "latency": report.latency.state(),
        "service": report.service_time.state(),
        "wait": report.wait.state(),
        "first_byte": report.first_byte.state(),
        "start": None if starts is None else starts.delays.state(),
        "gap": None if streams is None else streams.gaps.state(),
        "backends": {name: row.latency.state() for name, row in named(report.backends).items()},
        "failed": _by_code(report.failed_times),
        "failed_by_backend": {
            name: _by_code(row.failed_times) for name, row in named(report.backends).items() if row.failed_times
        },
        "methods": {row.method: row.latency.state() for row in report.methods},
    }


def _by_code(times: Mapping[Code, Histogram]) -> Document:
    return {code.name: found.state() for code, found in times.items()}


def failed_ms(times: Mapping[Code, Histogram]) -> Document:
    """How long failed calls took, by code; a call that ended at its own deadline took at least so long."""
    return {
        code.name: {"count": found.total, **(latency_ms(found) or {}), "at_least": code is Code.DEADLINE_EXCEEDED}
        for code, found in times.items()
    }


def named(rows: Sequence[BackendRow]) -> Mapping[str, BackendRow]:
    """Backends by key; where the address under a key changed, its later ones by key and address."""
    found: dict[str, BackendRow] = {}
    for row in rows:
        found[row.key if row.key not in found else f"{row.key} {row.address}"] = row
    return found
