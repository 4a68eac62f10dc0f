"""A run as Prometheus metrics, at its end as text and while it goes on through an endpoint.

The names are those that a client with such a balancer exports, so a dashboard made for one shows a run as well.
An address is one series, also where several keys had it one after the other: a series twice is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from lbctl import __version__
from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import BackendRow, Report

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

_BALANCER: Final = "grpc_load_balancer"
# The usual buckets of Prometheus' own libraries, and finer ones below: calls in a data centre take less than 5 ms.
EDGES_US: Final = (
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000,
    1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
)  # fmt: skip


@dataclass(slots=True)
class Ends:
    """How calls ended; ``latencies`` are copies, and added up."""

    ended: dict[tuple[str, str], int] = field(default_factory=dict)  # by status and code
    latencies: list[Histogram] = field(default_factory=list)

    def count(self, codes: Mapping[Code, int], ok: int, cancelled: int) -> None:
        """Add calls that ended; OK among ``codes`` beyond ``ok`` are replies that a check of ours refused."""
        ended = {("error", code.name): count for code, count in codes.items()}
        refused = ended.get(("error", "OK"), 0) - ok
        ended |= {("error", "OK"): refused, ("success", "OK"): ok, ("cancelled", "CANCELLED"): cancelled}
        for key, number in ended.items():
            if number > 0:
                self.ended[key] = self.ended.get(key, 0) + number

    @property
    def buckets(self) -> list[int]:
        """OK calls up to each of EDGES_US, and all."""
        counts = (latency.rebinned(EDGES_US) for latency in self.latencies)
        return list(accumulate(map(sum, zip(*counts, strict=True))))

    @property
    def sum_s(self) -> float:
        """The time of OK calls in all, seconds."""
        return sum(latency.total_us for latency in self.latencies) / 1e6


@dataclass(slots=True)
class Server(Ends):
    """What is exported of one address, of each key that had it."""

    picks: int = 0
    in_flight: int = 0
    expected: float = 0.0
    present: bool = False
    weight: float = 0.0
    healthy: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one moment, with nothing in it that goes on changing: another thread may read it."""

    started_at: datetime
    method: str
    labels: Mapping[str, str]  # of the run
    servers: Mapping[str, Server]
    methods: Mapping[str, Ends]  # of a mix
    counters: Mapping[str, tuple[float, str]]  # by name: how much, and what it is
    gauges: Mapping[str, tuple[float, str]]


def snapshot(report: Report) -> Snapshot:
    """Take what is exported of a run; takes some 10 us a backend."""
    servers: dict[str, Server] = {}
    for row in report.backends:
        _add(servers.setdefault(row.address, Server()), row)
    expected = sum(server.expected for server in servers.values())
    for server in servers.values():
        server.expected = round(server.expected / expected, 6) if expected else 0.0
    _add_unassigned(servers, report)
    return Snapshot(
        started_at=report.started_at,
        method=report.method,
        labels={
            "service": report.service,
            "method": report.method,
            "policy": report.policy,
            "load": report.load.mode,
            "seed": str(report.seed),
            "version": __version__,
        },
        servers=servers,
        methods=_methods(report),
        counters={
            "lbctl_requests_issued": (report.issued, "Calls issued."),
            "lbctl_requests_dropped": (report.dropped, "Calls that were due and not issued: too many were in flight."),
            "lbctl_retries": (report.retries, "Attempts beyond the first of each call, hedges not among them."),
            "lbctl_generator_cpu_seconds": (report.generator.cpu_s, "Processor time of lbctl itself."),
            **_messages(report),
        },
        gauges={
            "lbctl_run_duration_seconds": (report.elapsed_s, "How long the run has gone on, without pauses."),
            "lbctl_requests_in_flight": (report.in_flight, "Calls that were issued and have not ended."),
            "lbctl_generator_busy_ratio": (
                report.generator.busy,
                "How busy lbctl itself is, 0 to 1; beyond 0.8 its figures are a bound.",
            ),
            **_found(report),
        },
    )


def _methods(report: Report) -> dict[str, Ends]:
    """What became of the calls of each method of a mix."""
    found = {}
    for row in report.methods:
        found[row.method] = Ends(latencies=[row.latency.copy()])
        found[row.method].count(row.codes, row.ok, row.cancelled)
    return found


def _messages(report: Report) -> dict[str, tuple[float, str]]:
    streams = report.streams
    if streams is None:
        return {}
    return {
        "lbctl_messages_sent": (streams.sent, "Messages of streams that were sent."),
        "lbctl_messages_received": (streams.received, "Messages of streams that came back."),
    }


def _found(report: Report) -> dict[str, tuple[float, str]]:
    search = report.search
    if search is None or search.low is None:
        return {}
    text = "The highest rate at which what --find-max asked for held, calls a second."
    return {"lbctl_find_max_requests_per_second": (search.low, text)}


def _add(server: Server, row: BackendRow) -> None:
    server.count(row.codes, row.ok, row.cancelled)
    server.latencies.append(row.latency.copy())  # which is quick; what is made of it is another thread's business
    server.picks += row.picks
    server.in_flight += row.in_flight
    server.expected += row.expected
    if row.left_s is None:
        server.present = True
        server.weight = row.weight if row.override is None else row.override
        server.healthy = row.state == "ready"


def _add_unassigned(servers: dict[str, Server], report: Report) -> None:
    """Calls that ended without a backend have no server; with them the counts add up to the run."""
    rows = report.backends
    codes = {code: count - sum(row.codes.get(code, 0) for row in rows) for code, count in report.codes.items()}
    ok = report.ok - sum(row.ok for row in rows)
    cancelled = report.cancelled - sum(row.cancelled for row in rows)
    if ok > 0 or cancelled > 0 or any(count > 0 for count in codes.values()):
        servers.setdefault("", Server()).count(codes, ok, cancelled)


def exposition(report: Report) -> str:
    """Spell a run in Prometheus' text format."""
    from prometheus_client import generate_latest

    return generate_latest(registry(lambda: snapshot(report))).decode()


def registry(latest: Callable[[], Snapshot]) -> CollectorRegistry:
    """A registry that collects whatever snapshot is the latest one then."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector

    class Run(Collector):
        def collect(self) -> Iterable[Metric]:
            return metrics(latest())

    found = CollectorRegistry(auto_describe=False)
    found.register(Run())
    return found


def metrics(found: Snapshot) -> Iterator[Metric]:
    """Every metric of a snapshot."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

    yield from _balancer(found)
    if found.methods:
        yield from _of_methods(found.methods)
    yield InfoMetricFamily("lbctl_run", "The run that these figures are of.", value=dict(found.labels))
    for name, (value, text) in found.counters.items():
        yield CounterMetricFamily(name, text, value=value)
    for name, (value, text) in found.gauges.items():
        yield GaugeMetricFamily(name, text, value=value)


def _balancer(found: Snapshot) -> Iterator[Metric]:
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

    servers, method = found.servers, found.method
    requests = CounterMetricFamily(
        f"{_BALANCER}_requests", "Calls that ended.", labels=("server", "method", "status", "code")
    )
    times = HistogramMetricFamily(
        f"{_BALANCER}_request_duration_seconds",
        "How long OK calls took, in an open loop from the moment they were planned for.",
        labels=("server", "method"),
    )
    picks = CounterMetricFamily(f"{_BALANCER}_picks", "How often the policy chose each server.", labels=("server",))
    for name, server in servers.items():
        for (status, code), count in server.ended.items():
            requests.add_metric((name, method, status, code), count)
        if name:
            times.add_metric((name, method), _cumulative(server.buckets), sum_value=server.sum_s)
            picks.add_metric((name,), server.picks)
    yield requests
    yield times
    present = {name: server for name, server in servers.items() if server.present}
    yield _gauge("server_weight", "The weight that counts now.", {n: s.weight for n, s in present.items()})
    yield _gauge(
        "server_health",
        "1 for a server that may be picked, 0 for one that may not.",
        {n: float(s.healthy) for n, s in present.items()},
    )
    yield picks
    yield _gauge(
        "server_expected_share",
        "The part of all picks that each server should have had, 0 to 1.",
        {name: server.expected for name, server in servers.items() if name},
    )
    yield _gauge(
        "server_requests_in_flight",
        "Calls that each server has not answered yet.",
        {name: float(server.in_flight) for name, server in present.items()},
    )


def _of_methods(methods: Mapping[str, Ends]) -> Iterator[Metric]:
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

    requests = CounterMetricFamily(
        "lbctl_method_requests", "Calls of each method that ended.", labels=("method", "status", "code")
    )
    times = HistogramMetricFamily(
        "lbctl_method_request_duration_seconds", "How long OK calls of each method took.", labels=("method",)
    )
    for name, method in methods.items():
        for (status, code), count in method.ended.items():
            requests.add_metric((name, status, code), count)
        times.add_metric((name,), _cumulative(method.buckets), sum_value=method.sum_s)
    yield requests
    yield times


def _gauge(name: str, text: str, values: Mapping[str, float]) -> Metric:
    from prometheus_client.metrics_core import GaugeMetricFamily

    found = GaugeMetricFamily(f"{_BALANCER}_{name}", text, labels=("server",))
    for server, value in values.items():
        found.add_metric((server,), value)
    return found


def _cumulative(buckets: Sequence[int]) -> list[tuple[str, float]]:
    edges = (*(repr(edge / 1e6) for edge in EDGES_US), "+Inf")
    return list(zip(edges, buckets, strict=True))
