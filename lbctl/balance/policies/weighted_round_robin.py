"""Weights from the load that servers report (gRFC A58), else round robin.

A server says with its replies, in the trailer endpoint-load-metrics-bin, or
on a stream beside the calls, how many requests per second it takes (qps),
how many of them fail (eps), and how busy that keeps it (utilization):

    weight = qps / (utilization + penalty x eps / qps)

    qps    eps   utilization   penalty   weight
    100    0     0.5           1         100 / 0.5             = 200
    100    10    0.5           1         100 / (0.5 + 0.1)     = 167
    10     10    0.1           0         10 / 0.1              = 100
    100    0     0             1         no utilization: the report is ignored

The utilization is application_utilization, or cpu_utilization where that is
not stated. Metrics named by metric-names-for-computing-utilization come
first (gRFC A114): the greatest of them that is stated and above 0.

A server that is busy with qps / C of its time at every load has weight C,
whatever it gets now. So one update is enough: the shares are C / sum of C.

    capacity   share before   qps   utilization   weight   share after
    100        1/3            50    0.5           100      1/6
    200        1/3            50    0.25          200      2/6
    300        1/3            50    0.167         300      3/6

When a weight counts:

- not before blackout-period has passed since the first report of a backend
  that became ready: until then it knows too little of its load;
- not after weight-expiration-period without a report, and then the blackout
  begins anew;
- a backend whose weight does not count gets the mean of those that do;
- with fewer than two that count, every backend gets the same.

Servers that do not report load make this policy a round robin. gRPC says
nothing about that; here the report has a warning.

Weights are looked at every weight-update-period. Turns are those of the
static stride scheduler, which goes on from the same sequence number, so that
new weights favour nobody. How far apart weights may be is not the same in
every gRPC: C++ keeps them within 10 times and 1 % of the mean (clamp core),
Java within 10 times and 10 % (java), and Go lets a weight that is 100,000
times smaller than another starve (none).

A backend that joins gets the mean at once, one that leaves nothing. Weights
of the registry are ignored. Streams end late, and so do their trailers: for
them use enable-oob-load-report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lbctl.balance.load_report import LOAD_REPORT, LoadReport, from_metadata
from lbctl.balance.load_weight import LoadWeight
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.stride import CLAMPS, StaticStride, scaled
from lbctl.model import Reply


@dataclass(frozen=True, slots=True)
class Options:
    """Named as in the service config of gRPC."""

    enable_oob_load_report: bool = option(False, "ask for reports on a stream of its own, not with every reply")
    oob_reporting_period: float = option(10.0, "how often to be told on that stream", above=0, unit="duration")
    blackout_period: float = option(10.0, "how long first reports do not count", least=0, unit="duration")
    weight_expiration_period: float = option(180.0, "how long a report counts", above=0, unit="duration")
    weight_update_period: float = option(1.0, "how often weights are looked at", least=0.1, unit="duration")
    error_utilization_penalty: float = option(1.0, "what an error costs, in utilization", least=0, most=1000)
    metric_names_for_computing_utilization: str = option("", "metrics instead of the utilization, joined by commas")
    clamp: str = option("core", "how far apart weights may be: as in C++, in Java, or any as in Go", choices=CLAMPS)


class _Shared:
    """What goes on when a picker is replaced: the sequence of turns, and when weights are looked at next."""

    __slots__ = ("due_ns", "sequence", "weighed")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.due_ns = 0
        self.weighed = False  # weights have counted at least once


class _Load(LoadWeight):
    """One peer's load, and what the pickers over it share."""

    __slots__ = ("arrival", "counted", "replies", "shared")

    def __init__(self, shared: _Shared, arrival: int) -> None:
        super().__init__()
        self.shared = shared
        self.arrival = arrival
        self.counted = 0.0  # what its weight counted for when it was looked at last
        self.replies = 0


class WeightedRoundRobin:
    """Takes turns by static stride, and asks to be replaced when the weights have changed."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        known = next((peer.memory.shared for peer in peers if isinstance(peer.memory, _Load)), None)
        self._peers = peers
        self._options = options
        self._names = [name.strip() for name in options.metric_names_for_computing_utilization.split(",")]
        self._renew = setup.renew
        self._shared: _Shared = known or _Shared(setup.rng.getrandbits(32))
        self._loads = [self._load_of(peer) for peer in peers]
        for load in self._loads:
            load.shared = self._shared
        self._due_ns = self._shared.due_ns
        self._stride = StaticStride([load.counted for load in self._loads], self._shared.sequence, options.clamp)
        self._next = map(peers.__getitem__, self._stride).__next__

    def pick(self, call: Call) -> Peer:
        if call.now_ns >= self._due_ns:
            self._look(call.now_ns)
        return self._next()

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer, options = self.pick(call), self._options
        rows = []
        for each, load, share in zip(self._peers, self._loads, self._stride.shares(), strict=True):
            state = load.judge(call.now_ns, options.blackout_period, options.weight_expiration_period)[1]
            rows.append((each, (f"{load.weight:.4g}" if load.weight else "-", f"{share:.2%}", state)))
        counted, size = sum(load.counted > 0 for load in self._loads), len(self._peers)
        by = f"by the load that {counted} of {size} backends report"
        text = (
            f"its turn, {by}" if counted > 1 else f"its turn, one like the other: {counted} weights count, 2 are needed"
        )
        return peer, Why(text, ("weight", "share", "report"), tuple(rows))

    def law(self) -> Law:
        return Law(self._stride.shares(), self._stride.bound())

    def retire(self) -> None:
        self._shared.sequence = self._stride.sequence

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        load = self._load_of(peer)
        load.replies += 1
        if reply.metadata and not self._options.enable_oob_load_report:
            report = from_metadata(reply.metadata)
            if report is not None:
                load.take(report, now_ns, self._options.error_utilization_penalty, self._names)

    def reported(self, peer: Peer, report: LoadReport, now_ns: int) -> None:
        self._load_of(peer).take(report, now_ns, self._options.error_utilization_penalty, self._names)

    def _look(self, now_ns: int) -> None:
        """See what weights count for; when that is something new it takes a picker, and an epoch, of its own."""
        options, shared = self._options, self._shared
        self._due_ns = shared.due_ns = now_ns + int(options.weight_update_period * 1e9)
        for load in self._loads:
            load.counted, _ = load.judge(now_ns, options.blackout_period, options.weight_expiration_period)
        weights = [load.counted for load in self._loads]
        shared.weighed = shared.weighed or sum(weight > 0 for weight in weights) > 1
        if scaled(weights, options.clamp) != self._stride.scaled:
            self._renew()

    def _load_of(self, peer: Peer) -> _Load:
        """What is known of the peer; one whose connection is new has its blackout before it."""
        load = peer.memory
        if not isinstance(load, _Load):
            load = peer.memory = _Load(self._shared, peer.arrivals)
        elif load.arrival != peer.arrivals:
            load.arrival = peer.arrivals
            load.restart()
            if self._options.blackout_period:
                load.counted = 0.0
        return load


def reporting_period_s(policy: Policy) -> float | None:
    """How often backends are to report on a stream of its own; None: not at all."""
    options = policy.options
    wanted = isinstance(options, Options) and options.enable_oob_load_report
    return options.oob_reporting_period if wanted else None


def doubts(peers: Sequence[Peer]) -> Iterator[str]:
    """Why this was a round robin: gRPC falls back to that without a word."""
    loads = [peer.memory for peer in peers if isinstance(peer.memory, _Load) and peer.memory.replies]
    telling = sum(load.last_ns is not None for load in loads)
    if not loads:
        return
    if not any(load.reports for load in loads):
        yield "servers do not report load: this policy is round robin"
    elif telling < 2 <= len(loads):
        yield f"{telling} of {len(loads)} backends report a load, 2 are needed: this policy is round robin"
    elif not loads[0].shared.weighed and len(loads) > 1:
        yield "load reports have not counted yet (blackout-period): until they do this policy is round robin"
    elif telling < len(loads):
        yield f"{len(loads) - telling} of {len(loads)} backends do not report load: they get the mean of the others"


POLICY = Policy(
    "weighted_round_robin",
    "by the load that servers report (gRPC A58), else round robin",
    Expectation.FEEDBACK,
    WeightedRoundRobin,
    Options(),
    aliases=("weighted_round_robin_experimental",),
    wants=frozenset({LOAD_REPORT}),
    doubts=doubts,
)
