"""Reports with invented numbers, the same every time, for tests of the screens and for pictures of them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any

from lbctl.model import Code, Event, Origin
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import (
    BackendRow,
    Balance,
    Candidate,
    ErrorGroup,
    Explanation,
    Generator,
    Load,
    Report,
    Starts,
    Streams,
    Wait,
    Wire,
)
from lbctl.stats.streams import Spread
from lbctl.view.hammer_frame import hold
from lbctl.view.ui import Ui

STARTED = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
WEIGHTS = {1: (1,), 3: (5, 3, 2), 5: (5, 3, 2, 1, 1)}
EVENTS = (
    Event(0.0, "resync", None, "resolved /services/echo: 5 backends (revision 4711)"),
    Event(3.2, "weight", "10.0.0.13:50051", "weight 2 -> 3", "change"),
    Event(5.0, "breaker", "10.0.0.14:50051", "circuit opened: 5 consecutive UNAVAILABLE", "bad"),
    Event(8.1, "breaker", "10.0.0.14:50051", "circuit half-open, probe ok", "good"),
    Event(9.4, "joined", "10.0.0.16:50051", "joined (lease 7587, ttl 10s)"),
    Event(11.0, "health", "10.0.0.12:50051", "health NOT_SERVING, out of rotation", "change"),
)


def weights_of(backends: int) -> tuple[int, ...]:
    """Weights for a number of backends."""
    rng = Random(7)
    return WEIGHTS.get(backends) or tuple(rng.choice((1, 2, 3, 5, 10)) for _ in range(backends))


def latencies(rng: Random, calls: int, typical_us: float) -> Histogram:
    """Return a log-normal body and a thin tail."""
    histogram = Histogram()
    for _ in range(calls):
        value = rng.lognormvariate(0, 0.55) * typical_us
        histogram.record(int(value * rng.uniform(5, 40) if rng.random() < 0.012 else value))
    return histogram


def errors_of(address: str, picks: int) -> dict[Code, int]:
    """One bad backend, and a few errors elsewhere."""
    if address.endswith("14:50051"):
        return {Code.UNAVAILABLE: picks * 3 // 100, Code.DEADLINE_EXCEEDED: 2}
    return {Code.UNAVAILABLE: picks // 700, Code.RESOURCE_EXHAUSTED: picks // 1500}


def sample(backends: int = 5, *, calls: int = 6292, skewed: bool = False, **changes: Any) -> Report:  # noqa: ANN401
    """Return a run in its 13th second; ``changes`` replace fields of the report."""
    busy = 50 if changes.get("in_flight") != 0 else 0
    rows = [replace(row, latency=_copy(row.latency)) for row in _rows(backends, calls, skewed=skewed, busy=busy)]
    report = _report(tuple(rows), skewed=skewed)
    return replace(report, **changes)


def _copy(histogram: Histogram) -> Histogram:
    made = copy(histogram)
    made.counts = histogram.counts[:]
    return made


@cache
def _rows(backends: int, calls: int, *, skewed: bool, busy: int) -> tuple[BackendRow, ...]:
    """Return rows whose histograms nobody may change: to draw them takes longer than any test of a screen."""
    rng, weights = Random(backends), weights_of(backends)
    total = sum(weights) or 1
    pull = [weight * (1.6 if index == 1 else 0.7 if index == 3 else 1.0) for index, weight in enumerate(weights)]
    rows = []
    for index, weight in enumerate(weights):
        address = f"10.0.{index // 50}.{11 + index % 50}:50051"
        share = pull[index] / sum(pull) if skewed else weight / total
        picks = round(calls * share)
        codes = {code: number for code, number in errors_of(address, picks).items() if number}
        failed = sum(codes.values())
        in_flight = busy * weight // total
        ok = max(picks - failed - in_flight, 0)
        state = "ready" if index != 3 else "connecting"
        rows.append(
            BackendRow(
                key=f"/services/echo/{address}",
                address=address,
                weight=weight,
                state=state,
                reason="" if state == "ready" else "connection refused",
                picks=picks,
                expected=calls * weight / total,
                ok=ok,
                errors=failed,
                cancelled=0,
                in_flight=in_flight,
                codes={Code.OK: ok, **codes},
                latency=latencies(rng, ok, 1800 * (1 + 0.25 * (index % 4))),
                joined_s=0.0,
                left_s=None,
            )
        )
    return tuple(rows)


def _groups(rows: tuple[BackendRow, ...]) -> tuple[ErrorGroup, ...]:
    kinds = (
        (Code.UNAVAILABLE, Origin.TRANSPORT, "connection refused"),
        (Code.DEADLINE_EXCEEDED, Origin.CLIENT, "timeout 1s elapsed"),
        (Code.RESOURCE_EXHAUSTED, Origin.SERVER, "pool exhausted"),
    )
    groups = []
    for code, origin, message in kinds:
        counts = sorted(((row.codes.get(code, 0), row.address) for row in rows if row.codes.get(code)), reverse=True)
        if counts:
            total = sum(number for number, _ in counts)
            groups.append(ErrorGroup(code, origin, message, total, {address: number for number, address in counts}))
    return tuple(sorted(groups, key=lambda group: -group.count))


def _balance(rows: tuple[BackendRow, ...], *, skewed: bool) -> Balance:
    picks = sum(row.picks for row in rows)
    if not picks:
        return Balance("sequence", "too_few", None, None, None, None, None, None, "nothing was picked yet")
    worst = max(rows, key=lambda row: abs(row.picks - row.expected))
    delta = abs(worst.picks - worst.expected) / picks
    ratio = max(row.picks / row.expected for row in rows)
    if skewed:
        return Balance("multinomial", "skewed", delta, 625.4, len(rows) - 1, 1e-9, ratio, worst.address, "")
    note = "every count is within 1 call of its expectation"
    return Balance("sequence", "balanced", delta, None, None, None, ratio, worst.address, note)


def _report(rows: tuple[BackendRow, ...], *, skewed: bool) -> Report:
    everything = Histogram()
    for row in rows:
        everything.merge(row.latency)
    ok, errors, busy = (sum(getattr(row, name) for row in rows) for name in ("ok", "errors", "in_flight"))
    groups = _groups(rows)
    return Report(
        service="echo",
        method="demo.echo.v1.Echo/Say",
        policy="weighted_random" if skewed else "smooth_wrr",
        policy_options={},
        seed=7,
        load=Load("closed", 10_000, None, 50, 1, None, 20.0),
        started_at=STARTED,
        elapsed_s=12.1,
        end_reason=None,
        paused=False,
        stopping=False,
        concurrency=50,
        issued=ok + errors + busy,
        completed=ok + errors,
        ok=ok,
        errors=errors,
        cancelled=0,
        dropped=0,
        attempts=ok + errors + busy,
        retries=0,
        in_flight=busy,
        codes={Code.OK: ok},
        error_groups=groups,
        latency=everything,
        service_time=everything,
        wait=Histogram(),
        balance=_balance(rows, skewed=skewed),
        backends=rows,
        events=EVENTS if rows else (),
        generator=Generator("wire", 0.4, 0.12, 0.1, ()),
    )


def seasoned(report: Report) -> Ui:
    """Return a view that has watched the run from its start: every half second a few more calls, unevenly."""
    ui = Ui()
    rng = Random(3)
    steps = max(int(report.elapsed_s / 0.5), 1)
    everything = Histogram()
    ok = [0.0] * len(report.backends)
    for step in range(steps + 1):
        part = step / steps
        for index, row in enumerate(report.backends if step else ()):
            ok[index] += row.ok / steps * rng.uniform(0.85, 1.15)
            everything.merge(latencies(rng, min(row.ok // steps, 40), 2000))
        rows = tuple(
            replace(row, ok=int(done), errors=int(row.errors * part))
            for row, done in zip(report.backends, ok, strict=True)
        )
        finished = sum(row.ok + row.errors for row in rows)
        now = replace(report, elapsed_s=report.elapsed_s * part, backends=rows, completed=finished, latency=everything)
        if report.streams is not None:
            sent, received = int(report.streams.sent * part), int(report.streams.received * part)
            now = replace(now, streams=Streams(sent, received, None, None, Histogram()))
        ui.sight.series.sample(now)
    return ui


def recently(backends: int = 5, *, idle: int | None = None, out: int | None = None) -> tuple[Report, Ui]:
    """Return a run that was even for 7 s and is skewed now, and a view that looks at its last 5 s.

    Of its backends one may have had no call lately, or was ``out`` of the rotation meanwhile.
    """
    first, then = sample(backends, elapsed_s=7.1), sample(backends, calls=2600, skewed=True)
    ui = seasoned(first)
    ui.recent = True
    hold(first, ui)
    list(ui.sight.look(first))
    rows = []
    for index, (row, more) in enumerate(zip(first.backends, then.backends, strict=True)):
        if index in (idle, out):
            rows.append(row if index == out else replace(row, expected=row.expected + more.expected))
            continue
        row.latency.merge(more.latency)
        first.latency.merge(more.latency)
        rows.append(_both(row, more))
    ok, errors = sum(row.ok for row in rows), sum(row.errors for row in rows)
    counts = {"ok": ok, "errors": errors, "completed": ok + errors, "error_groups": _groups(tuple(rows))}
    balance = _balance(tuple(rows), skewed=True)
    return replace(first, elapsed_s=12.1, backends=tuple(rows), balance=balance, **counts), ui  # type: ignore[arg-type]


def _both(row: BackendRow, more: BackendRow) -> BackendRow:
    counts = {name: getattr(row, name) + getattr(more, name) for name in ("picks", "expected", "ok", "errors")}
    codes = {code: row.codes.get(code, 0) + more.codes.get(code, 0) for code in {**row.codes, **more.codes}}
    return replace(row, codes=codes, **counts)


def left_and_joined() -> Report:
    """Return a finished run in which one backend left and another came."""
    report = sample(5, end_reason="duration", in_flight=0)
    rows = list(report.backends)
    rows[3] = replace(rows[3], state="left", left_s=5.25, reason="")
    rows[4] = replace(rows[4], joined_s=9.4)
    load = replace(report.load, requests=None, duration_s=12.0)
    return replace(report, backends=tuple(rows), load=load)


def open_loop() -> Report:
    """Return a finished run at a planned rate, with calls that waited."""
    report = sample(3, end_reason="completed", in_flight=0, dropped=12, retries=3)
    wait = Histogram()
    wait.record(40, 6000)
    wait.record(21_000, 200)
    delays = Histogram()
    delays.record(26, 6100)
    delays.record(1800, 92)
    load = replace(report.load, mode="open", rps=520.0, concurrency=None)
    return replace(
        report,
        load=load,
        wait=wait,
        rps=650.0,
        starts=Starts(92, delays),
        retried={"refused": 3},
        wire=Wire(3, opened=3),
    )


def troubled() -> Report:
    """Return a finished run on connections that gave trouble of every kind."""
    wire = Wire(
        sockets=3,
        opened=9,
        closed={"by peer": 4, "keepalive timeout": 2, "by lbctl": 3},
        goaways={"NO_ERROR": 4, 'ENHANCE_YOUR_CALM "too_many_pings"': 1},
        rst_sent={"CANCEL": 120},
        rst_received={"REFUSED_STREAM": 31, "INTERNAL_ERROR": 2},
        pings=12,
        pings_sent=3,
        settings=9,
        late_frames=240,
        late_ok=17,
        anomalies={"content-length mismatch": 2},
        protocol_errors=1,
        header_cache_hit=0.9971,
        bytes_in=1_234_567,
        bytes_out=345_678,
        replies_per_read=31.4,
        blocked_writes=5,
        paused_s=2.5,
    )
    waits = {"slot": Wait(4100, 0.37), "peer": Wait(62, 0.021), "connection": Wait(3, 0.0004)}
    report = sample(3, end_reason="completed", in_flight=0, retries=35, retried={"refused": 31, "goaway": 4})
    warnings = ("stream limit 100 reached: 37% of the time was waiting for a slot; --connections N opens more",)
    generator = replace(report.generator, warnings=warnings)
    rows = tuple(replace(row, wire=replace(wire, sockets=1, opened=3)) for row in report.backends)
    first = report.latency.copy()
    return replace(report, wire=wire, waits=waits, generator=generator, first_byte=first, wait=first, backends=rows)


def streaming() -> Report:
    """Return a finished run of a method that streams both ways."""
    report = sample(3, end_reason="completed", in_flight=0)
    gaps = Histogram()
    gaps.record(1_000, 50_000)
    gaps.record(12_000, 900)
    streams = Streams(31_000, 62_000, Spread(5, 5.0, 5), Spread(8, 10.02, 12), gaps)
    return replace(report, method="demo.echo.v1.Echo/Chat", streams=streams, first_byte=report.latency)


def load_aware() -> Report:
    """Return a finished run of a policy that promises no shares."""
    report = sample(3, end_reason="completed", in_flight=0)
    note = "no share can be stated beforehand where picks follow feedback"
    balance = Balance("feedback", "not_applicable", 0.2, None, None, None, 1.4, "10.0.0.11:50051", note, stated=False)
    return replace(report, policy="p2c_ewma", policy_options={"decay": "10s"}, balance=balance)


def overridden() -> Report:
    """Return a run of a policy that has weights of its own, with a backend that guards have seen to."""
    report = sample(3)
    first, second, third = report.backends
    second = replace(second, override=0.75, ejections=2, passed=7)
    return replace(
        report,
        policy="dynamic_weight",
        policy_options={"interval": "2s", "window": "4s"},
        backends=(replace(first, override=10), second, third),
        guards={"outlier-detection": {"interval": "1s", "base-ejection-time": "2s"}},
    )


def simulated(*, skewed: bool = False) -> Report:
    """Return the same at its end, held against a simulation of it."""
    report = load_aware()
    note = "every share is where the same run, simulated, puts it"
    if skewed:
        note = "10.0.0.11:50051 got 58.1%, simulation gives 38.2-51.4%"
    balance = replace(report.balance, verdict="skewed" if skewed else "balanced", note=note, max_delta=0.03)
    bands = ((0.382, 0.514), (0.25, 0.331), (0.0, 0.0019))
    rows = tuple(replace(row, band=band) for row, band in zip(report.backends, bands, strict=True))
    return replace(report, balance=balance, backends=rows)


def judged() -> Report:
    """Return a skewed run that a condition ended, with thresholds of which some hold."""
    report = sample(5, skewed=True, end_reason="aborted", in_flight=0, stopped_by="--abort-on backend.error_rate>3%")
    return replace(
        report,
        thresholds=(
            Outcome("max_delta<2pp", ok=False, value=10.4, unit="pp", limit=2.0),
            Outcome("p99<50ms", ok=True, value=25.2, unit="ms", limit=50.0),
            Outcome("p99.9<101ms", ok=False, value=101.4, unit="ms", limit=101.0),
            Outcome("backend.p99<40ms", ok=False, value=58.1, unit="ms", limit=40.0, backend="10.0.0.13:50051"),
            Outcome("wait.p99<1ms", ok=False, value=None, unit="ms", limit=1.0, reason="no call was written"),
            Outcome("rps>500", ok=True, value=518.2, unit="", limit=500.0),
        ),
        abort_on=(
            Outcome("errors>=100", ok=True, value=26.0, unit="", limit=100.0),
            Outcome("backend.error_rate>3%", ok=False, value=3.21, unit="%", limit=3.0, backend="10.0.0.14:50051"),
        ),
    )


def explained(candidates: int = 3) -> Report:
    """Return a finished run whose first call is explained."""
    report = sample(max(candidates, 1), end_reason="completed", in_flight=0)
    rows = report.backends[:candidates]
    why = Explanation(
        pick=1,
        policy="ring_hash",
        backend=report.backends[-1].address,
        hash_key="user-4711",
        text="its key is hashed to 1358662563146998643: point 79 of 1029 is the first from there",
        columns=("point", "of the ring"),
        candidates=tuple(Candidate(row.key, row.address, (str(10**12 + n), f"{n}.5%")) for n, row in enumerate(rows)),
    )
    return replace(report, policy="ring_hash", explanation=why)
