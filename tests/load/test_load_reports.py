"""What backends tell beside the calls, from real servers: streams of reports, probes, and how both end."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

import grpc
import grpc.aio
import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.load_report import LOAD_REPORT, LoadReport, encoded
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Learning, Policy, Reported, Setup, Why, equal
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.policies.weighted_round_robin import POLICY as BY_REPORTS
from lbctl.balance.probes import ProbeReply
from lbctl.clock import SystemClock
from lbctl.errors import UsageError
from lbctl.load.engines import require
from lbctl.load.hand import rotation
from lbctl.load.load_reports import LoadReports, answer_of, wants_trailers
from lbctl.model import Code, Endpoint, Instance, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.orca import METHOD, SERVICE, period_of
from lbctl.wire.limits import Limits
from tests.balance.fleet import built, fleet
from tests.fakes import FakeClock, quiet_loop, until

__all__ = ["quiet_loop"]

OUT_OF_BAND = BY_REPORTS.with_options({"enable-oob-load-report": "true", "oob-reporting-period": "3s"})


class Server:
    """Reports this load once on every stream, and answers health checks with it when it may."""

    def __init__(self, report: LoadReport, *, offers: bool = True) -> None:
        self.report = report
        self.offers = offers
        self.periods: list[float] = []
        self.left = 0  # streams that are over
        self.checks = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.endpoint = Endpoint("127.0.0.1", 0)
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])

    async def _stream(self, request: bytes, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        self.periods.append(period_of(request))
        try:
            yield encoded(self.report)
            await asyncio.Event().wait()
        finally:
            self.left += 1

    async def _check(self, request: bytes, context: Any) -> bytes:  # noqa: ANN401
        self.checks += 1
        await self.may_answer.wait()
        context.set_trailing_metadata(((LOAD_REPORT.decode(), encoded(self.report)),))
        return b"\x08\x01"

    async def start(self) -> None:
        check = grpc.unary_unary_rpc_method_handler(self._check)
        handlers = [grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check})]
        if self.offers:
            stream = grpc.unary_stream_rpc_method_handler(self._stream)
            handlers.append(grpc.method_handlers_generic_handler(SERVICE, {METHOD: stream}))
        self._server.add_generic_rpc_handlers(tuple(handlers))
        port = self._server.add_insecure_port(f"127.0.0.1:{self.endpoint.port}")
        self.endpoint = Endpoint("127.0.0.1", port)
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)


class Told:
    """A picker that remembers what it was told."""

    def __init__(self, peers: Sequence[Peer], setup: Setup, heard: list[tuple[Peer, Any]]) -> None:
        self.peers = peers
        self.probe = setup.probe
        self.heard = heard

    def pick(self, call: Call) -> Peer:
        self.probe(self.peers[0])
        return self.peers[0]

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self.pick(call), Why("the first")

    def law(self) -> Law:
        return Law(equal(self.peers))

    def retire(self) -> None:
        """Nothing outlives it."""

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None:  # noqa: ANN401
        self.heard.append((peer, report))


class Scene:
    """A balancer over servers, all of them ready, and its load reports; ``notes`` are the events."""

    def __init__(self, policy: Policy, clock: Any) -> None:  # noqa: ANN401  # a Clock
        self.notes: list[tuple[str | None, str]] = []
        self.clock = clock
        self.balancer = Balancer(policy, Random(1))
        self.reports = LoadReports(
            self.balancer,
            lambda _: Access(options=ConnectionOptions(limits=Limits(load_reports=True))),
            clock,
            Random(1),
            lambda kind, backend, text, level: self.notes.append((backend, text)),
        )
        self.balancer.on_probe = self.reports.probe

    def list(self, *servers: Server) -> list[Peer]:
        """Have the registry list exactly these."""
        listed = [Instance(str(each.endpoint), "echo", "seed", each.endpoint, 1) for each in servers]
        change = self.balancer.update(listed)
        for peer in change.removed:
            self.reports.left(peer)
        for peer in change.added:
            self.balancer.mark(peer, ready=True)
            self.reports.joined(peer)
        return [self.balancer.peers[each.identity] for each in listed]

    def pick(self) -> Peer:
        picker = self.balancer.picker
        assert picker is not None
        return picker.pick(Call(self.clock.now_ns()))


@asynccontextmanager
async def scene(policy: Policy, *servers: Server, clock: Any = None) -> AsyncIterator[Scene]:  # noqa: ANN401
    async with asyncio.timeout(10), AsyncExitStack() as owned:
        for server in servers:
            await server.start()
            owned.push_async_callback(server.stop)
        found = Scene(policy, clock or SystemClock())
        owned.push_async_callback(found.reports.aclose)
        yield found


def load(weight: float) -> LoadReport:
    return LoadReport(rps_fractional=weight, application_utilization=1.0)


def remembering(heard: list[tuple[Peer, Any]], policy: Policy = OUT_OF_BAND) -> Policy:
    """A policy of these options that keeps everything it is told."""
    return Policy(
        "told", "", Expectation.FEEDBACK, lambda peers, setup: Told(peers, setup, heard), options=policy.options
    )


# Reports out of band.


async def test_every_backend_reports_on_one_stream_for_as_long_as_it_is_listed() -> None:
    heard: list[tuple[Peer, Any]] = []
    first, second = Server(load(100.0)), Server(load(300.0))
    async with scene(remembering(heard), first, second) as found:
        a, b = found.list(first, second)
        assert found.balancer.picker is not None
        await until(lambda: len(heard) == 2)
        assert dict(heard) == {a: first.report, b: second.report}
        assert (first.periods, second.periods) == ([3.0], [3.0])
        found.list(second)
        await until(lambda: first.left == 1)
        assert second.left == 0
    assert second.left == 1
    assert found.notes == []


async def test_the_weights_that_are_reported_are_picked_by() -> None:
    options = {"blackout-period": "0s", "enable-oob-load-report": "true"}
    first, second = Server(load(100.0)), Server(load(300.0))
    async with scene(BY_REPORTS.with_options(options), first, second) as found:
        peers = found.list(first, second)
        assert found.balancer.picker is not None
        await until(lambda: all(peer.memory.reports for peer in peers))
        found.pick()
        shares = dict(zip(found.balancer.peers.values(), found.balancer.picker.law().shares, strict=True))
        assert [shares[peer] for peer in peers] == pytest.approx([1 / 4, 3 / 4], abs=1e-4)


async def test_a_backend_that_offers_none_is_told_of_once_and_left_alone() -> None:
    silent = Server(load(1.0), offers=False)
    async with scene(OUT_OF_BAND, silent) as found:
        found.list(silent)
        await until(lambda: found.notes)
        assert found.notes == [(str(silent.endpoint), "does not report load out of band")]


async def test_a_policy_that_does_not_want_them_asks_for_none() -> None:
    server = Server(load(1.0))
    async with scene(POLICIES["round_robin"], server) as found:
        found.list(server)
        await found.reports.aclose()
    assert server.periods == []


async def test_reports_of_a_policy_that_was_switched_away_from_reach_nobody() -> None:
    heard: list[tuple[Peer, Any]] = []
    server = Server(load(1.0))
    async with scene(OUT_OF_BAND, server) as found:
        found.list(server)
        found.balancer.switch(remembering(heard, BY_REPORTS))
        assert found.balancer.picker is not None
        await until(lambda: server.periods)
    assert heard == []


# Probes.


async def test_a_probe_brings_the_figures_of_the_server() -> None:
    heard: list[tuple[Peer, Any]] = []
    clock, server = FakeClock(), Server(LoadReport(named_metrics={"rif": 7.0, "latency_ms": 2.5}))
    async with scene(remembering(heard, BY_REPORTS), server, clock=clock) as found:
        (peer,) = found.list(server)
        found.pick()
        await until(lambda: heard)
    assert heard == [(peer, ProbeReply(7, 2_500_000, until_ns=clock.now_ns() + 10_000_000))]


async def test_one_probe_at_a_time_is_on_its_way_and_the_next_is_sent_after_ten_milliseconds() -> None:
    heard: list[tuple[Peer, Any]] = []
    clock, server = FakeClock(), Server(load(1.0))
    server.may_answer.clear()
    async with scene(remembering(heard, BY_REPORTS), server, clock=clock) as found:
        found.list(server)
        for _ in range(5):
            found.pick()
        await until(lambda: server.checks)
        clock.advance(0.05)
        found.pick()
        server.may_answer.set()
        await until(lambda: heard)
        assert (server.checks, len(heard)) == (1, 1)
        for _ in range(3):
            found.pick()
        await until(lambda: server.checks == 2)


async def test_probes_in_between_are_answered_by_the_answer_before_while_that_is_fresh() -> None:
    heard: list[tuple[Peer, Any]] = []
    clock, server = FakeClock(), Server(LoadReport(named_metrics={"rif": 7.0, "latency_ms": 2.5}))
    async with scene(remembering(heard, BY_REPORTS), server, clock=clock) as found:
        (peer,) = found.list(server)
        found.pick()
        await until(lambda: heard)
        answer = ProbeReply(7, 2_500_000, until_ns=clock.now_ns() + 10_000_000)
        clock.advance(0.009)
        found.pick()
        assert heard == [(peer, answer)] * 2
        server.may_answer.clear()
        clock.advance(0.001)
        found.pick()  # is sent, and nobody answers
        await until(lambda: server.checks == 2)
        clock.advance(0.09)
        found.pick()
        assert len(heard) == 3
        clock.advance(0.001)
        found.pick()
        assert len(heard) == 3


async def test_a_probe_that_finds_nobody_tells_nothing() -> None:
    heard: list[tuple[Peer, Any]] = []
    clock, server = FakeClock(), Server(load(1.0))
    async with scene(remembering(heard, BY_REPORTS), server, clock=clock) as found:
        found.list(server)
        await server.stop()
        found.pick()
        await found.reports.aclose()
    assert heard == []


@pytest.mark.parametrize(
    ("metrics", "wanted"),
    [
        ({}, ProbeReply(4, 900, stated=False)),
        ({"rif": 2.0}, ProbeReply(2, 900, stated=False)),
        ({"latency_ms": 0.5}, ProbeReply(4, 500_000)),
        ({"rif": -1.0, "latency_ms": float("nan")}, ProbeReply(4, 900, stated=False)),
        ({"rif": float("inf"), "latency_ms": float("inf")}, ProbeReply(4, 900, stated=False)),
    ],
)
def test_figures_that_a_server_does_not_have_are_our_own(metrics: dict[str, float], wanted: ProbeReply) -> None:
    text = encoded(LoadReport(named_metrics=metrics))
    reply = Reply(Code.OK, metadata=((LOAD_REPORT, b64encode(text)),))
    assert answer_of(reply, in_flight=4, took_ns=900) == wanted
    assert answer_of(Reply(Code.OK), in_flight=4, took_ns=900) == ProbeReply(4, 900, stated=False)


# What a run makes of it.


def test_trailers_are_read_for_policies_that_go_by_them() -> None:
    assert wants_trailers(BY_REPORTS)
    assert not wants_trailers(OUT_OF_BAND)
    assert not wants_trailers(POLICIES["round_robin"])


def test_a_run_cannot_switch_to_a_policy_whose_reports_its_connections_do_not_hand_over() -> None:
    names = [policy.name for policy in rotation(POLICIES["round_robin"], keyed=False)]
    assert "smooth_wrr" in names
    assert BY_REPORTS.name not in names
    assert BY_REPORTS.name in [policy.name for policy in rotation(BY_REPORTS, keyed=False)]


async def test_grpcio_is_refused_where_it_would_keep_the_reports_to_itself() -> None:
    with pytest.raises(UsageError, match="does not hand over the load reports"):
        await require(BY_REPORTS.name, "grpcio", trailers=wants_trailers(BY_REPORTS))
    await require(OUT_OF_BAND.name, "grpcio", trailers=wants_trailers(OUT_OF_BAND))
    await require(BY_REPORTS.name, "wire", trailers=True)


def test_where_no_latency_is_stated_a_backend_is_as_slow_as_its_calls_were() -> None:
    first, second = fleet([1, 1])
    picker = built("prequal", [first, second])
    assert isinstance(picker, Learning)
    assert isinstance(picker, Reported)
    picker.ended(first, 1_000_000, 51_000_000, Reply(Code.OK))
    for _ in range(4):
        picker.reported(first, ProbeReply(0, 1_000_000, stated=False), 60_000_000)
        picker.reported(second, ProbeReply(0, 2_000_000, stated=False), 60_000_000)
    assert picker.pick(Call(61_000_000)) is second
