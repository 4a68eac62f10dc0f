"""What a run has measured so far: plain values that a view or a document is a function of.

Histograms in a report are the live ones, not copies: read them, never write. Everything else is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lbctl.model import Code, Event, Origin
from lbctl.stats.drift import Drift
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.samples import Sample
from lbctl.stats.searched import RateSearch
from lbctl.stats.streams import Spread


@dataclass(frozen=True, slots=True)
class Load:
    """How the load was asked for; None means not limited by it."""

    mode: str  # closed | open
    requests: int | None
    duration_s: float | None
    concurrency: int | None  # an open loop need not have a bound
    connections: int
    rps: float | None  # where it is one all the time
    timeout_s: float
    arrival: str | None = None  # constant | poisson | bursts:N | recorded; of an open loop
    corrected: bool = True  # times of an open loop count from the plan, not from when a call was started
    counts_errors: bool = False  # calls that failed and were answered are in the headline times
    stages: Sequence[tuple[float, float, float]] = ()  # seconds (inf for ever), first and last rate in calls/s


@dataclass(frozen=True, slots=True)
class Wire:
    """What happened on connections, in counts; details are the peer's words, cleaned by whoever shows them.

    ``replies_per_read`` and ``header_cache_hit`` (0..1) are None where nothing was read.
    """

    sockets: int = 0
    waiting: int = 0  # calls that wait now for a slot, a window or the peer to read
    stream_limit: int | None = None  # calls that one connection may carry at once: the smallest
    opened: int = 0
    closed: Mapping[str, int] = field(default_factory=dict)  # by reason
    goaways: Mapping[str, int] = field(default_factory=dict)  # received
    rst_sent: Mapping[str, int] = field(default_factory=dict)
    rst_received: Mapping[str, int] = field(default_factory=dict)
    pings: int = 0  # received
    pings_sent: int = 0
    settings: int = 0  # received
    late_frames: int = 0
    late_ok: int = 0
    anomalies: Mapping[str, int] = field(default_factory=dict)
    protocol_errors: int = 0
    header_cache_hit: float | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    replies_per_read: float | None = None
    blocked_writes: int = 0
    paused_s: float = 0.0  # how long peers did not read, in all
    untold: frozenset[str] = frozenset()  # fields that the engine cannot know: what they hold means nothing


@dataclass(frozen=True, slots=True)
class BackendRow:
    """One backend of the run, also after it left. ``expected`` is in picks, integrated over epochs at pick time.

    ``picks`` are what the policy decided, and what a verdict is made of; some may be ``given_back``, and nothing sent.
    """

    key: str
    address: str
    weight: int
    state: str  # connecting | ready | transient_failure | draining | drained | left, or why it is not in the rotation
    reason: str  # why it is not ready, or what looks wrong with it
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
    dropped: int = 0
    passed: int = 0  # attempts that failed here, and whose calls went on
    given_back: int = 0  # picks that nothing was sent for: the call went elsewhere, or nowhere
    wire: Wire = field(default_factory=Wire)  # a second old at most
    band: tuple[float, float] | None = None  # where the same run, simulated, puts its share; once it is over
    ejections: int = 0  # as an outlier
    trips: int = 0  # times its breaker opened
    warmth: float = 1.0  # the part of its weight it has, while it warms up
    override: float | None = None  # the weight that counts now, where it is not the registry's
    failed_times: Mapping[Code, Histogram] = field(default_factory=dict)  # of failed calls, the headline time

    @property
    def attempts(self) -> int:
        """What was sent here, or is about to be."""
        return self.picks - self.given_back


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method of a run of several: its calls that ended; ``weight`` is the part it was to have, beside the others.

    Calls that were turned away before anything was picked for them are of no method.
    """

    method: str
    weight: float
    ok: int
    errors: int
    cancelled: int
    codes: Mapping[Code, int]
    latency: Histogram  # OK calls, the headline time of the mode

    @property
    def requests(self) -> int:
        """All of them."""
        return self.ok + self.errors + self.cancelled


@dataclass(frozen=True, slots=True)
class Wait:
    """Calls that waited for one thing before they were written; ``share`` of the time of all calls, 0..1."""

    calls: int
    share: float


@dataclass(frozen=True, slots=True)
class Streams:
    """Messages of streaming calls that ended; ``sent_per_call`` and ``received_per_call`` of those that were OK."""

    sent: int
    received: int
    sent_per_call: Spread | None
    received_per_call: Spread | None
    gaps: Histogram  # between two messages that a call received

    @property
    def arrived(self) -> int:
        """Messages received so far: also those of calls in flight, where only the first of each is missing."""
        return max(self.received, self.gaps.total)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The further attempts that a policy made, beside those of calls that a backend did not process.

    ``codes``: how attempts ended that others followed. ``cancelled``: hedges that were not needed any more.
    ``throttled``: further attempts that tokens or a budget forbade; ``refused``: that the server did not want;
    ``exhausted``: calls that failed although every attempt was made. ``waiting``: calls that wait for their next one.
    """

    policy: str  # retry | hedging
    max_attempts: int
    sent: int = 0
    cancelled: int = 0
    throttled: int = 0
    refused: int = 0
    exhausted: int = 0
    waiting: int = 0
    codes: Mapping[Code, int] = field(default_factory=dict)
    tokens: float | None = None  # left of retryThrottling's


@dataclass(frozen=True, slots=True)
class Starts:
    """How exactly an open loop started its calls: ``late`` by more than 1 ms; ``delays`` from planned to started."""

    late: int
    delays: Histogram


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed calls alike in code, origin and message; counts per backend address, the largest first.

    ``message`` is without what differs from call to call; ``example`` is the first one as it was, empty if unknown.
    """

    code: Code
    origin: Origin
    message: str
    count: int
    backends: Mapping[str, int]
    example: str = ""


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
    effect: float | None = None  # Cohen's w, where chance was judged: 0.1 is small, under 0.01 is nothing
    stated: bool = True  # shares could be stated beforehand; if not, the expected ones are but a guide


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backend that could have been picked, and its figures in the order of ``Explanation.columns``."""

    key: str
    address: str
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one call went where it went: a sentence, and the candidates in the order the policy compared them."""

    pick: int  # the number of the pick, from 1; a retry is a pick of its own
    policy: str
    backend: str  # its address
    hash_key: str | None  # of the call, as text
    text: str
    columns: tuple[str, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Warmed:
    """A warm-up that is over: calls issued before counting began, how many of them failed, and how long it took."""

    requests: int
    errors: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sent:
    """How a run stood when its last call had been issued: after so many seconds, so many had ended by themselves."""

    seconds: float
    ended: int


@dataclass(frozen=True, slots=True)
class Recounted:
    """What a run had issued when somebody had it begin anew, so many ``times``: calls that are in no other figure."""

    times: int = 0
    requests: int = 0
    errors: int = 0
    seconds: float = 0.0

    def and_also(self, requests: int, errors: int, seconds: float) -> Recounted:
        """With what was issued since the last time."""
        return Recounted(self.times + 1, self.requests + requests, self.errors + errors, self.seconds + seconds)


@dataclass(frozen=True, slots=True)
class Machine:
    """What went on around the generator: shares 0..1 of the time of all CPUs, None where nothing tells.

    ``others`` is what other processes took, ``stolen`` what other virtual machines did. ``throttled`` is the part of
    the run that a container's CPU limit held it up, ``faults`` how often memory came from disk.
    """

    busy: float | None = None
    others: float | None = None
    stolen: float | None = None
    throttled: float | None = None
    faults: int = 0
    collections: int = 0  # of garbage, which are off while calls are made
    collecting_s: float = 0.0
    longest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Generator:
    """The load generator's own health: CPU seconds, busy share of the loop 0..1, lag of the loop."""

    engine: str
    cpu_s: float
    busy: float
    lag_p99_ms: float
    warnings: tuple[str, ...]
    machine: Machine | None = None  # once the run is over


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
    end_reason: str | None  # completed | duration | interrupted | aborted | max_errors | error
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
    rps: float | None = None  # the rate now, of an open loop
    starts: Starts | None = None  # of an open loop
    first_byte: Histogram = field(default_factory=Histogram)  # OK calls: written to the first byte of the reply
    streams: Streams | None = None  # of a streaming method
    wire: Wire = field(default_factory=Wire)  # a second old at most, and so is ``first_byte``
    waits: Mapping[str, Wait] = field(default_factory=dict)  # connection | slot | window | peer | rotation
    grace_s: float | None = None  # while stopping: what is left until calls in flight are cancelled
    explanation: Explanation | None = None  # of the pick that was asked for, once it was made
    given_up: str = ""  # why, where a run was: no backend could be used for long
    retried: Mapping[str, int] = field(default_factory=dict)  # refused | goaway | policy; retries by why
    repeated: Repeated | None = None  # where a policy makes further attempts
    guards: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # what is around the policy, and its options
    turned_away: Mapping[str, int] = field(default_factory=dict)  # calls and further attempts not let in, by breaker
    hash_key: str | None = None  # where the hash keys of calls come from, as it was typed
    described_by: str = ""  # v1 | v1alpha | builtin | files: who described the method, more than one of a mix
    samples: Sequence[Sample] = ()  # of each second so far, or of two, four, ... where the run is longer than 600 s
    command: str = ""  # what was typed, without its secrets
    stopped_by: str = ""  # Ctrl-C | SIGTERM | SIGHUP | q | --abort-on EXPR; what ended it early
    warming: bool = False  # the warm-up goes on: nothing of this is counted in the end
    warmed: Warmed | None = None  # of a run that had one
    recounted: Recounted | None = None  # of a run that somebody had begin anew
    thresholds: tuple[Outcome, ...] = ()  # once the run is over
    abort_on: tuple[Outcome, ...] = ()  # likewise: conditions that would have ended it, or did
    failed_times: Mapping[Code, Histogram] = field(default_factory=dict)  # of failed calls, the headline time
    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    drift: Drift | None = None  # likewise, where the load was meant to stay the same

    search: RateSearch | None = None  # that this run was the result of
    sent: Sent | None = None  # once nothing more is issued; what follows is waiting for calls in flight
    methods: tuple[MethodRow, ...] = ()  # of a run of several

    @property
    def ended(self) -> int:
        """Calls that ended by themselves: what lbctl cancelled says nothing about a service, and is in no rate."""
        return self.ok + self.errors

    @property
    def throughput(self) -> float:
        """Calls that ended by themselves, a second, from the first call to the last end; 0 before any time passed."""
        return self.ended / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def amplification(self) -> float | None:
        """Attempts per call; None before the first call."""
        return self.attempts / self.issued if self.issued else None

    @property
    def modelled_amplification(self) -> float | None:
        """Attempts per call if each fails as often as all did, whatever became of the one before, and all are made.

        None where nothing is retried by a policy, or nothing was attempted.
        """
        found = self.repeated
        if found is None or found.policy != "retry" or not self.attempts:
            return None
        failed = sum(found.codes.values()) + found.exhausted + found.throttled + found.waiting
        part = min(1.0, failed / self.attempts)
        return sum(part**number for number in range(found.max_attempts))
