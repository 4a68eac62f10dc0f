"""What a run has measured so far: plain values that a view or a document is a function of.

Histograms in a report are the live ones, not copies: read them, never write. Everything else is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lbctl.model import Code, Event, Origin
from lbctl.stats.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Load:
    """How the load was asked for; None means not limited by it."""

    mode: str  # closed | open
    requests: int | None
    duration_s: float | None
    concurrency: int
    connections: int
    rps: float | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class BackendRow:
    """One backend of the run, also after it left. ``expected`` is in picks, integrated over epochs at pick time."""

    key: str
    address: str
    weight: int
    state: str  # connecting | ready | transient_failure | draining | drained | left
    reason: str  # why it is not ready, "" when it is
    picks: int
    expected: float
    ok: int
    errors: int
    cancelled: int
    in_flight: int
    codes: Mapping[Code, int]
    latency: Histogram  # OK calls, the headline time of the mode
    joined_s: float
    left_s: float | None


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed calls alike in code, origin and message; counts per backend address, the largest first."""

    code: Code
    origin: Origin
    message: str
    count: int
    backends: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Balance:
    """Observed picks against expected ones. Shares are 0..1; ``max_delta`` is the largest |share - expected share|."""

    expectation: str
    verdict: str  # balanced | skewed | too_few | not_applicable
    max_delta: float | None
    chi2: float | None
    dof: int | None
    p_value: float | None
    max_over_expected: float | None
    worst: str | None  # address of the backend with the largest difference
    note: str = ""  # one sentence that explains the verdict


@dataclass(frozen=True, slots=True)
class Generator:
    """The load generator's own health: CPU seconds, busy share of the loop 0..1, lag of the loop."""

    engine: str
    cpu_s: float
    busy: float
    lag_p99_ms: float
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One run, at one moment. ``end_reason`` is None while it runs; issued = completed + in flight, always."""

    service: str
    method: str
    policy: str
    policy_options: Mapping[str, str]
    seed: int
    load: Load
    started_at: datetime
    elapsed_s: float
    end_reason: str | None  # completed | duration | interrupted | max_errors | error
    paused: bool
    stopping: bool
    concurrency: int  # now
    issued: int
    completed: int  # ok + errors + cancelled
    ok: int
    errors: int
    cancelled: int
    dropped: int
    attempts: int
    retries: int
    in_flight: int
    codes: Mapping[Code, int]
    error_groups: tuple[ErrorGroup, ...]
    latency: Histogram  # OK calls: planned start to end (open loop), queued to end (closed loop)
    service_time: Histogram  # OK calls: written to end
    wait: Histogram  # all calls: planned or queued to written
    balance: Balance
    backends: tuple[BackendRow, ...]
    events: Sequence[Event]
    generator: Generator
