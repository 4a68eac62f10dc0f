"""A run as rows: one per backend, or one per sample. Columns may be added at the end, never renamed or moved."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.stats.report import BackendRow, Report
from lbctl.view.figures import latency_ms, rate, ratio, seconds_of, stamp
from lbctl.view.output import as_csv
from lbctl.view.sample_document import sample

_TIMES = ("min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max")
BACKEND_COLUMNS = (
    "started_at", "service", "method", "policy", "key", "address", "weight", "state", "expected_share", "share",
    "picks", "attempts", "ok", "errors", "cancelled", "in_flight", "dropped", "passed", "rps",
    *(f"{name}_ms" for name in _TIMES), "joined_s", "left_s",
)  # fmt: skip
SAMPLE_COLUMNS = (
    "t_s", "seconds", "requests", "ok", "errors", "cancelled", "dropped", "retries", "in_flight", "rps",
    "p50_ms", "p90_ms", "p99_ms", "max_ms",
)  # fmt: skip


def backends_csv(report: Report, *, headers: bool = True) -> str:
    """Spell the backends of a run; what is unknown is empty."""
    attempts = sum(row.attempts for row in report.backends)
    expected = sum(row.expected for row in report.backends)
    rows = [_record(report, row, attempts, expected) for row in report.backends]
    return as_csv(BACKEND_COLUMNS, rows, headers=headers)


def samples_csv(report: Report, *, headers: bool = True) -> str:
    """Spell the samples of a run, oldest first."""
    rows = [[document[name] for name in SAMPLE_COLUMNS] for document in map(sample, report.samples)]
    return as_csv(SAMPLE_COLUMNS, rows, headers=headers)


def _record(report: Report, row: BackendRow, attempts: int, expected: float) -> Sequence[object]:
    times = latency_ms(row.latency) or {}
    return (
        stamp(report.started_at),
        report.service,
        report.method,
        report.policy,
        row.key,
        row.address,
        row.weight,
        row.state,
        ratio(row.expected / expected) if expected else None,
        ratio(row.attempts / attempts) if attempts else None,
        row.picks,
        row.attempts,
        row.ok,
        row.errors,
        row.cancelled,
        row.in_flight,
        row.dropped,
        row.passed,
        rate(row.ok + row.errors, report.elapsed_s),
        *(times.get(name) for name in _TIMES),
        seconds_of(row.joined_s),
        None if row.left_s is None else seconds_of(row.left_s),
    )
