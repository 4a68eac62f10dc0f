"""A run as a plain dict: the document of docs/reference/run.schema.json. Keys may be added, never renamed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from lbctl import __version__
from lbctl.model import Code
from lbctl.stats.report import (
    BackendRow,
    Balance,
    ErrorGroup,
    Explanation,
    Load,
    Recounted,
    Repeated,
    Report,
    Sent,
    Warmed,
)
from lbctl.view.confidence import backend_confidence, confidence, is_drawn
from lbctl.view.figures import Document, histogram, latency_ms, micros, rate, ratio, stamp
from lbctl.view.methods import methods
from lbctl.view.outcomes import outcome_document
from lbctl.view.sample_document import event, failed_ms, histograms, machine, samples, stationarity
from lbctl.view.search_lines import search_document
from lbctl.view.wire_document import run_wire, streams, wire

RUN = "lbctl.run/v1"


def run_document(report: Report) -> Document:
    """Return the run document of ``hammer -o json`` and ``--save``."""
    return {
        "schema": RUN,
        "lbctl": __version__,
        "command": report.command or None,
        "name": report.name or None,
        "tags": dict(report.tags),
        "service": report.service,
        "method": report.method,
        "described_by": report.described_by or None,
        "policy": report.policy,
        "policy_options": dict(report.policy_options),
        "hash_key": report.hash_key,
        "started_at": stamp(report.started_at),
        "duration_s": micros(report.elapsed_s),  # rps is ok + errors by this also in a run of 1 ms
        "end_reason": report.end_reason,
        "stopped_by": report.stopped_by or None,
        "seed": report.seed,
        "load": _load(report.load),
        "warmup": _warmup(report.warmed),
        "recounted": _recounted(report.recounted),
        "issuing": _issuing(report.sent),
        "at_end": {"concurrency": report.concurrency, "rps": report.rps},
        **_totals(report),
        "codes": _codes(report.codes),
        "error_groups": [_error_group(group) for group in report.error_groups],
        "latency_ms": latency_ms(report.latency),
        "service_ms": latency_ms(report.service_time),
        "wait_ms": latency_ms(report.wait),
        "first_byte_ms": latency_ms(report.first_byte),
        "error_latency_ms": failed_ms(report.failed_times),
        "confidence": confidence(report),
        "histogram": histogram(report.latency),
        "balance": _balance(report.balance),
        "explanation": _explanation(report.explanation),
        "backends": _backends(report),
        "methods": methods(report),
        "events": [event(each) for each in report.events],
        "generator": _generator(report),
        "repeated": _repeated(report.repeated),
        "guards": {name: dict(options) for name, options in report.guards.items()},
        "turned_away": dict(report.turned_away),
        "wire": run_wire(report),
        "streams": streams(report.streams, report.elapsed_s),
        "thresholds": [outcome_document(each) for each in report.thresholds],
        "abort_on": [outcome_document(each) for each in report.abort_on],
        "search": search_document(report.search),
        "stationarity": stationarity(report.drift),
        "samples": samples(report.samples),
        "histograms": histograms(report),
    }


def _totals(report: Report) -> Document:
    return {
        "requests": report.issued,
        "ok": report.ok,
        "errors": report.errors,
        "cancelled": report.cancelled,
        "in_flight": report.in_flight,
        "dropped": report.dropped,
        "attempts": report.attempts,
        "retries": report.retries,
        "amplification": ratio(report.amplification),
        "modelled_amplification": ratio(report.modelled_amplification),
        "rps": rate(report.ended, report.elapsed_s),
    }


def _load(load: Load) -> Document:
    return {
        "mode": load.mode,
        "requests": load.requests,
        "duration_s": load.duration_s,
        "concurrency": load.concurrency,
        "connections": load.connections,
        "rps": load.rps,
        "arrival": load.arrival,
        "stages": [_stage(stage) for stage in load.stages],
        "timeout_s": load.timeout_s,
        "latency_correction": load.corrected,
        "count_errors": load.counts_errors,
    }


def _stage(stage: tuple[float, float, float]) -> Document:
    seconds, first, last = stage
    return {"seconds": None if seconds == math.inf else seconds, "first_rps": first, "last_rps": last}


def _warmup(warmed: Warmed | None) -> Document | None:
    if warmed is None:
        return None
    return {"requests": warmed.requests, "errors": warmed.errors, "duration_s": micros(warmed.seconds)}


def _recounted(found: Recounted | None) -> Document | None:
    if found is None:
        return None
    counts = {"times": found.times, "requests": found.requests, "errors": found.errors}
    return {**counts, "duration_s": micros(found.seconds)}


def _issuing(sent: Sent | None) -> Document | None:
    if sent is None:
        return None
    return {"duration_s": micros(sent.seconds), "ended": sent.ended, "rps": rate(sent.ended, sent.seconds)}


def _codes(codes: Mapping[Code, int]) -> dict[str, int]:
    return {code.name: count for code, count in codes.items()}


def _error_group(group: ErrorGroup) -> Document:
    return {
        "code": group.code.name,
        "origin": group.origin.value,
        "message": group.message,
        "example": group.example,
        "count": group.count,
        "backends": dict(group.backends),
    }


def _balance(balance: Balance) -> Document:
    return {
        "expectation": balance.expectation,
        "verdict": balance.verdict,
        "max_delta": ratio(balance.max_delta),
        "chi2": balance.chi2,
        "dof": balance.dof,
        "p_value": balance.p_value,
        "max_over_expected": ratio(balance.max_over_expected),
        "worst": balance.worst,
        "note": balance.note,
        "effect_size": None if balance.effect is None else round(balance.effect, 6),
        "stated": balance.stated,
    }


def _explanation(found: Explanation | None) -> Document | None:
    if found is None:
        return None
    return {
        "pick": found.pick,
        "policy": found.policy,
        "backend": found.backend,
        "hash_key": found.hash_key,
        "text": found.text,
        "columns": list(found.columns),
        "candidates": [
            {"key": each.key, "address": each.address, "figures": list(each.figures)} for each in found.candidates
        ],
    }


def _repeated(found: Repeated | None) -> Document | None:
    if found is None:
        return None
    return {
        "policy": found.policy,
        "max_attempts": found.max_attempts,
        "sent": found.sent,
        "cancelled": found.cancelled,
        "throttled": found.throttled,
        "refused": found.refused,
        "exhausted": found.exhausted,
        "waiting": found.waiting,
        "codes": _codes(found.codes),
        "tokens": None if found.tokens is None else round(found.tokens, 3),
    }


def _backends(report: Report) -> list[Document]:
    attempts = sum(row.attempts for row in report.backends)
    expected = sum(row.expected for row in report.backends)
    drawn = is_drawn(report)
    return [
        {
            **_backend(row, attempts, expected, report.elapsed_s),
            "error_latency_ms": failed_ms(row.failed_times),
            "confidence": backend_confidence(row, attempts, by_chance=drawn),
        }
        for row in report.backends
    ]


def _backend(row: BackendRow, attempts: int, expected: float, elapsed_s: float) -> Document:
    return {
        "key": row.key,
        "address": row.address,
        "weight": row.weight,
        "weight_used": row.weight if row.override is None else round(row.override, 6),
        "expected_share": ratio(row.expected / expected) if expected else None,
        "expected": row.expected,  # not rounded: shares are worked out from it
        "share": ratio(row.attempts / attempts) if attempts else None,
        "band": None if row.band is None else [ratio(edge) for edge in row.band],
        "picks": row.picks,
        "attempts": row.attempts,
        "ok": row.ok,
        "errors": row.errors,
        "cancelled": row.cancelled,
        "in_flight": row.in_flight,
        "codes": _codes(row.codes),
        "rps": rate(row.ok + row.errors, elapsed_s),
        "latency_ms": latency_ms(row.latency),
        "state": row.state,
        "reason": row.reason,
        "joined_s": micros(row.joined_s),
        "left_s": None if row.left_s is None else micros(row.left_s),
        "dropped": row.dropped,
        "passed": row.passed,
        "ejections": row.ejections,
        "trips": row.trips,
        "warmth": ratio(row.warmth),
        "wire": wire(row.wire),
    }


def _generator(report: Report) -> Document:
    generator, starts = report.generator, report.starts
    return {
        "engine": generator.engine,
        "cpu_s": round(generator.cpu_s, 4),
        "busy": ratio(generator.busy),
        "lag_p99_ms": round(generator.lag_p99_ms, 4),
        "late_starts": 0 if starts is None else starts.late,
        "start_ms": None if starts is None else latency_ms(starts.delays),
        "machine": machine(generator.machine),
        "warnings": list(generator.warnings),
    }
