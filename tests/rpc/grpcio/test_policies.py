"""gRPC's own balancers: each gives what gRPC promises and is judged by that; what cannot be had is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.clock import SystemClock
from lbctl.errors import UsageError
from lbctl.load.engines import require
from lbctl.load.run import Run
from lbctl.model import Endpoint
from lbctl.rpc.grpcio.policies import LB_POLICIES, LbPolicy
from lbctl.rpc.grpcio.policies import require as grpcio_takes
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.limits import Limits
from tests.fakes import until
from tests.rpc.grpcio.backends import Backend, asking, backends, load_report
from tests.rpc.grpcio.runs import VERDICTS, consistent, instance, run_to_its_end, running, task


def test_every_policy_has_a_service_config_and_a_verdict() -> None:
    assert list(GRPC_POLICIES) == list(LB_POLICIES) == list(VERDICTS)


async def test_round_robin_gives_each_backend_its_turn() -> None:
    async with backends(3) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=1000), servers)
    assert sorted(backend.unary for backend in servers) == [333, 333, 334]
    assert [round(each.expected, 1) for each in report.backends] == [333.3] * 3


async def test_pick_first_stays_with_one_backend_and_the_others_are_idle() -> None:
    async with (
        backends(3) as servers,
        running(task("grpc:pick_first", requests=None), map(instance, servers)) as drive,
    ):
        await drive.goes_on()
        assert sorted(each.state for each in drive.run.report().backends) == ["idle", "idle", "ready"]
        report = await drive.stop()
    assert sorted(backend.unary > 0 for backend in servers) == [False, False, True]
    assert sorted(each.expected for each in report.backends) == [0, 0, report.issued]
    consistent(report, servers)


async def test_ring_hash_spreads_calls_by_their_keys_and_connects_when_it_picks() -> None:
    await require("grpc:ring_hash", "grpcio")
    async with backends(3) as servers:
        report = await run_to_its_end(task("grpc:ring_hash", requests=900), servers)
    assert all(backend.unary > 100 for backend in servers)
    assert report.balance.expectation == "hash"


async def test_weighted_round_robin_without_reports_of_load_is_said_to_be_a_round_robin() -> None:
    async with backends(3) as servers:
        report = await run_to_its_end(task("grpc:weighted_round_robin"), servers)
    assert sorted(backend.unary for backend in servers) == [200, 200, 200]
    assert [event.text for event in report.events if event.kind == "policy"] == [
        "the backends report no load: gRPC's weighted_round_robin is a round robin then"
    ]


@pytest.mark.slow
async def test_weighted_round_robin_goes_by_the_load_that_backends_report() -> None:
    async with backends(2) as servers:
        for backend, utilisation in zip(servers, (0.8, 0.2), strict=True):
            backend.load_report = load_report(utilisation, 100.0)
        wanted = task("grpc:weighted_round_robin", requests=None, concurrency=2)
        async with running(wanted, map(instance, servers)) as drive:
            await until(lambda: drive.run.report().elapsed_s > 12.0, 20.0)  # gRPC's own blackout is ten seconds
            before = [backend.unary for backend in servers]
            await drive.goes_on(1000)
            busy, idle = (backend.unary - count for backend, count in zip(servers, before, strict=True))
            report = await drive.stop()
    consistent(report, servers)
    assert busy / (busy + idle) == pytest.approx(0.2, abs=0.02)
    assert any("report their load" in event.text for event in report.events)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ConnectionOptions(connections=2), "--connections"),
        (ConnectionOptions(limits=Limits(reset_late=False)), "--no-rst"),
    ],
)
async def test_what_one_channel_cannot_do_is_refused_before_the_run(options: ConnectionOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Run(replace(task("grpc:round_robin"), connection=options), SystemClock())


async def test_metadata_that_grpcio_does_not_send_is_refused_before_the_run() -> None:
    request = asking("Say", metadata=((b"x", b"\xff"),))
    run = Run(replace(task("grpc:round_robin"), request_for=lambda _: request), SystemClock())
    with pytest.raises(UsageError, match="metadata x"):
        run.apply([instance(Backend(Endpoint("127.0.0.1", 1)))])
    await run.aclose()


async def test_grpcs_balancers_need_grpcs_engine_and_the_error_names_it() -> None:
    with pytest.raises(UsageError, match="gRPC's own balancer") as caught:
        await require("grpc:round_robin", "wire")
    assert caught.value.hint == "--engine grpcio --policy grpc:round_robin"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (LbPolicy("least_request_experimental", {}, eager=True), "No known policies in list"),
        (LbPolicy("ring_hash_experimental", {}, eager=False), "hash attribute not present"),
        (
            LbPolicy("ring_hash_experimental", {"minRingSize": 0}, eager=False),
            "field:minRingSize error:must be in the range",
        ),
    ],
)
async def test_what_grpcio_does_not_take_is_found_out_and_said(
    policy: LbPolicy, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="does not take the policy grpc:trial") as caught:
        await grpcio_takes("grpc:trial", {"grpc:trial": policy})
    assert words in str(caught.value)
    capfd.readouterr()  # C-core logs what it refuses
