"""A saved run back as the Report that it was made of: what is shown of it then is what was shown at its end.

Runs saved by an older lbctl lack some parts, most of all histograms and samples; those are empty, and ``lacking`` says
which.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Final

from lbctl.stats.histogram import Histogram
from lbctl.stats.report import BackendRow, Balance, Load, Recounted, Report, Sent, Warmed
from lbctl.stats.saved_methods import methods_from
from lbctl.stats.saved_parts import (
    codes_from,
    drift_from,
    error_group_from,
    event_from,
    explanation_from,
    failed_times_from,
    generator_from,
    guards_from,
    histogram_from,
    outcome_from,
    repeated_from,
    sample_from,
    starts_from,
    streams_from,
)
from lbctl.stats.saved_search import search_from
from lbctl.stats.saved_values import NotARun, Part
from lbctl.stats.saved_wire import waits_from, wire_from

__all__ = ["RUN", "NotARun", "lacking", "report_from"]

RUN: Final = "lbctl.run/v1"
_KIND: Final = "lbctl.run/"
_COMPARISONS: Final = "lbctl.comparison/"
_OF_GHZ: Final = frozenset(("latencyDistribution", "statusCodeDistribution", "options"))


def lacking(report: Report) -> tuple[str, ...]:
    """What an older lbctl did not save of this run, in words."""
    found = []
    if report.ok and not report.latency.total:
        found.append("histograms")
    if report.issued and not report.samples:
        found.append("samples over time")
    return tuple(found)


def report_from(document: object) -> Report:
    """Return the run of a document of ``hammer -o json`` or ``--save``; raises NotARun, which says why it is none."""
    run = Part(document)
    _known_schema(run)
    times = run.maybe_part("histograms") or Part({}, "histograms")
    at_end = run.maybe_part("at_end") or Part({}, "at_end")
    load = _load(run.part("load"))
    ok, errors, cancelled = (run.whole(name) for name in ("ok", "errors", "cancelled"))
    wire = run.maybe_part("wire") or Part({}, "wire")
    return Report(
        service=run.text("service"),
        method=run.text("method"),
        policy=run.text("policy"),
        policy_options=run.words("policy_options"),
        seed=run.whole("seed"),
        load=load,
        started_at=_moment(run),
        elapsed_s=run.number("duration_s"),
        end_reason=run.word("end_reason"),
        paused=False,
        stopping=False,
        concurrency=at_end.whole("concurrency", load.concurrency or 0),
        issued=run.whole("requests"),
        completed=ok + errors + cancelled,
        ok=ok,
        errors=errors,
        cancelled=cancelled,
        dropped=run.whole("dropped", 0),
        attempts=run.whole("attempts"),
        retries=run.whole("retries", 0),
        in_flight=run.whole("in_flight", 0),
        codes=codes_from(run, "codes"),
        error_groups=tuple(map(error_group_from, run.parts("error_groups"))),
        latency=histogram_from(times, "latency"),
        service_time=histogram_from(times, "service"),
        wait=histogram_from(times, "wait"),
        first_byte=histogram_from(times, "first_byte"),
        balance=_balance(run.part("balance")),
        backends=_backends(run, times),
        events=tuple(map(event_from, run.parts("events"))),
        generator=generator_from(run.part("generator")),
        rps=at_end.maybe("rps"),
        starts=starts_from(run.part("generator"), times),
        streams=streams_from(run.maybe_part("streams"), times),
        wire=wire_from(wire),
        waits=waits_from(wire.maybe_part("waits")),
        explanation=explanation_from(run.maybe_part("explanation")),
        retried=_retried(run, wire),
        repeated=repeated_from(run.maybe_part("repeated")),
        guards=guards_from(run.maybe_part("guards")),
        turned_away=run.counts("turned_away"),
        hash_key=run.word("hash_key"),
        described_by=run.word("described_by") or "",
        search=search_from(run.maybe_part("search")),
        samples=tuple(map(sample_from, run.parts("samples"))),
        command=run.word("command") or "",
        stopped_by=run.word("stopped_by") or "",
        warmed=_warmed(run.maybe_part("warmup")),
        recounted=_recounted(run.maybe_part("recounted")),
        sent=_sent(run.maybe_part("issuing")),
        thresholds=tuple(map(outcome_from, run.parts("thresholds"))),
        abort_on=tuple(map(outcome_from, run.parts("abort_on"))),
        failed_times=failed_times_from(times.maybe_part("failed")),
        name=run.word("name") or "",
        tags=run.words("tags"),
        drift=drift_from(run.maybe_part("stationarity")),
        methods=methods_from(run, times),
    )


def _known_schema(run: Part) -> None:
    schema = run.plain.get("schema")
    if schema == RUN:
        return
    if isinstance(schema, str) and schema.startswith(_KIND):
        raise NotARun(f"schema {schema[:60]} is not known, only {RUN}: a newer lbctl wrote it")
    if isinstance(schema, str) and schema.startswith(_COMPARISONS):
        raise NotARun(f"schema {schema[:60]} is not known: a newer lbctl wrote it")
    if schema is None and run.plain.keys() >= _OF_GHZ:
        raise NotARun("it is what ghz writes, or hammer -o ghz-json: that does not tell what each backend got")
    if isinstance(schema, str):
        raise NotARun(f"it is no run of lbctl hammer, its schema is {schema[:60]!r} and not {RUN}")
    raise NotARun(f"it is no run of lbctl hammer: it has no schema {RUN}")


def _moment(run: Part) -> datetime:
    text = run.text("started_at")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise run.refuse("started_at", f"{text[:40]!r} is no time") from None
    if found.tzinfo is None:
        raise run.refuse("started_at", f"{text[:40]!r} has no time zone")
    return found


def _load(load: Part) -> Load:
    return Load(
        mode=load.text("mode"),
        requests=load.maybe_whole("requests"),
        duration_s=load.maybe("duration_s"),
        concurrency=load.maybe_whole("concurrency"),
        connections=load.whole("connections"),
        rps=load.maybe("rps"),
        timeout_s=load.number("timeout_s"),
        arrival=load.word("arrival"),
        corrected=load.truth("latency_correction", default=True),
        counts_errors=load.truth("count_errors", default=False),
        stages=tuple(map(_stage, load.parts("stages"))),
    )


def _stage(stage: Part) -> tuple[float, float, float]:
    seconds = stage.maybe("seconds")
    return inf if seconds is None else seconds, stage.number("first_rps"), stage.number("last_rps")


def _warmed(warmed: Part | None) -> Warmed | None:
    if warmed is None:
        return None
    return Warmed(warmed.whole("requests"), warmed.whole("errors"), warmed.number("duration_s"))


def _recounted(found: Part | None) -> Recounted | None:
    if found is None:
        return None
    times, requests, errors = (found.whole(name) for name in ("times", "requests", "errors"))
    return Recounted(times, requests, errors, found.number("duration_s"))


def _sent(sent: Part | None) -> Sent | None:
    return None if sent is None else Sent(sent.number("duration_s"), sent.whole("ended"))


def _balance(balance: Part) -> Balance:
    return Balance(
        expectation=balance.text("expectation"),
        verdict=balance.text("verdict"),
        max_delta=balance.maybe("max_delta"),
        chi2=balance.maybe("chi2"),
        dof=balance.maybe_whole("dof"),
        p_value=balance.maybe("p_value"),
        max_over_expected=balance.maybe("max_over_expected"),
        worst=balance.word("worst"),
        note=balance.text("note", ""),
        effect=balance.maybe("effect_size"),
        stated=balance.truth("stated", balance.text("expectation") != "feedback"),
    )


def _backends(run: Part, times: Part) -> tuple[BackendRow, ...]:
    rows = list(run.parts("backends"))
    picks = sum(row.whole("picks") for row in rows)
    latencies = times.maybe_part("backends") or Part({}, "histograms.backends")
    failed = times.maybe_part("failed_by_backend") or Part({}, "histograms.failed_by_backend")
    taken: set[str] = set()
    found = []
    for row in rows:
        key = row.text("key")
        name = key if key not in taken else f"{key} {row.text('address')}"  # its address changed
        taken.add(name)
        backend = _backend(row, histogram_from(latencies, name), picks)
        found.append(replace(backend, failed_times=failed_times_from(failed.maybe_part(name))))
    return tuple(found)


def _backend(row: Part, latency: Histogram, picks: int) -> BackendRow:
    weight, used = row.whole("weight"), row.maybe("weight_used")
    return BackendRow(
        key=row.text("key"),
        address=row.text("address"),
        weight=weight,
        state=row.text("state"),
        reason=row.text("reason", ""),
        picks=row.whole("picks"),
        expected=row.number("expected", row.number("expected_share", 0.0) * picks),
        ok=row.whole("ok"),
        errors=row.whole("errors"),
        cancelled=row.whole("cancelled", 0),
        in_flight=row.whole("in_flight", 0),
        codes=codes_from(row, "codes"),
        latency=latency,
        joined_s=row.number("joined_s", 0.0),
        left_s=row.maybe("left_s"),
        dropped=row.whole("dropped", 0),
        passed=row.whole("passed", 0),
        given_back=max(row.whole("picks") - row.whole("attempts", row.whole("picks")), 0),
        wire=wire_from(row.maybe_part("wire") or Part({}, "wire")),
        band=_band(row),
        ejections=row.whole("ejections", 0),
        trips=row.whole("trips", 0),
        warmth=row.number("warmth", 1.0),
        override=None if used is None or used == weight else used,
    )


def _band(row: Part) -> tuple[float, float] | None:
    edges = row.items("band")
    if not edges:
        return None
    if len(edges) != 2:
        raise row.refuse("band", "two numbers are needed")
    low, high = (Part({"edge": edge}, "band").number("edge") for edge in edges)
    return low, high


def _retried(run: Part, wire: Part) -> dict[str, int]:
    """Retries by why; those that are none of the connections' are the policy's."""
    found = {why: count for why, count in wire.counts("retries").items() if count}
    policy = run.whole("retries", 0) - sum(found.values())
    return {**found, **({"policy": policy} if policy > 0 else {})}
