"""gRPC's own balancers: every call is attributed to the server that counted it, and judged by what gRPC promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.balance.policies import GRPC_POLICIES
from lbctl.clock import SystemClock
from lbctl.errors import UsageError
from lbctl.load.engines import require
from lbctl.load.run import Run
from lbctl.model import Code, Endpoint, Origin
from lbctl.rpc.grpcio.policies import LB_POLICIES, LbPolicy
from lbctl.rpc.grpcio.policies import require as grpcio_takes
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.tls import Credentials, TlsOptions
from lbctl.wire.limits import Limits
from tests.fakes import until
from tests.rpc.grpcio.backends import CERTS, PATIENCE_S, Backend, asking, backends, load_report, stream
from tests.rpc.grpcio.runs import consistent, instance, row, run_to_its_end, running, task
from tests.rpc.servers import answering, black_hole, refused_port
from tests.scripted import ScriptedServer
from tests.scripted import answering as scripted
from tests.wire import frames as h2

VERDICTS = {
    "grpc:round_robin": "balanced",
    "grpc:pick_first": "balanced",
    "grpc:weighted_round_robin": "not_applicable",
    "grpc:ring_hash": "not_applicable",
}
every_policy = pytest.mark.parametrize("policy", list(VERDICTS))


def test_every_policy_has_a_service_config_and_a_verdict() -> None:
    assert list(GRPC_POLICIES) == list(LB_POLICIES) == list(VERDICTS)


@every_policy
async def test_every_call_is_attributed_to_the_server_that_counted_it(policy: str) -> None:
    await require(policy, "grpcio")
    async with backends(3) as servers:
        report = await run_to_its_end(task(policy), servers)
    consistent(report, servers)
    assert (report.ok, report.issued) == (600, 600)
    assert sum(backend.unary for backend in servers) == 600
    assert report.balance.verdict == VERDICTS[policy], report.balance
    assert {backend.metadata["lbctl-call"] for backend in servers if backend.unary}


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


async def test_the_servers_errors_are_theirs() -> None:
    async with backends(2) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100, method="Fail"), servers)
    consistent(report, servers, method="Fail")
    (group,) = report.error_groups
    assert (group.code, group.origin, group.message, group.count) == (
        Code.NOT_FOUND,
        Origin.SERVER,
        "nothing here",
        100,
    )
    assert group.backends == {str(backend.endpoint): 50 for backend in servers}


async def test_a_refused_call_is_sent_again_by_lbctl_and_both_attempts_are_counted() -> None:
    def refused(stream_id: int) -> bytes:
        return h2.rst(stream_id, h2.REFUSED_STREAM)

    async with ScriptedServer(scripted(refused, h2.reply), strict=False) as server:
        wanted = task("grpc:round_robin", requests=10, concurrency=1)
        report = await run_to_its_end(wanted, [Backend(server.endpoint)])
    assert sum(len(peer.requests) for peer in server.connections) == 11
    assert (report.ok, report.attempts, report.retries, report.backends[0].picks) == (10, 11, 1, 11)


async def test_streams_are_attributed_like_any_call() -> None:
    async with backends(2) as servers:
        wanted = replace(task("grpc:round_robin", requests=60), request_for=lambda _: stream("Chat", count=3))
        report = await run_to_its_end(wanted, servers)
    consistent(report, servers, method="Chat")
    assert [backend.calls["Chat"] for backend in servers] == [30, 30]
    assert report.streams is not None
    assert (report.streams.sent, report.streams.received) == (180, 180)


async def test_an_open_loop_is_picked_by_grpc_too() -> None:
    async with backends(2) as servers:
        wanted = task("grpc:round_robin", requests=100)
        report = await run_to_its_end(replace(wanted, plan=replace(wanted.plan, rps=500.0, concurrency=0)), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [50, 50]


async def test_calls_that_are_late_are_charged_to_the_backend_that_had_them() -> None:
    async with backends(2) as servers:
        wanted = task("grpc:round_robin", requests=20, concurrency=10, method="Wait", timeout_s=0.2)
        report = await run_to_its_end(wanted, servers)
    consistent(report, servers, method="Wait")
    assert dict(report.codes) == {Code.DEADLINE_EXCEEDED: 20}
    assert [each.errors for each in report.backends] == [10, 10]


@every_policy
async def test_a_backend_that_joins_gets_what_the_policy_gives_it_and_no_call_is_lost(policy: str) -> None:
    await require(policy, "grpcio")
    async with backends(3) as servers, running(task(policy, requests=None), map(instance, servers[:2])) as drive:
        await drive.goes_on()
        drive.run.apply(map(instance, servers))
        await drive.told("started anew over 3 backends")
        await drive.goes_on(400)
        report = await drive.stop()
    consistent(report, servers)
    assert report.errors == 0
    assert report.balance.verdict == VERDICTS[policy], report.balance
    if policy != "grpc:pick_first":
        assert servers[2].unary > 20


@every_policy
async def test_a_backend_that_leaves_gets_nothing_more_and_no_call_is_lost(policy: str) -> None:
    await require(policy, "grpcio")
    async with backends(3) as servers, running(task(policy, requests=None), map(instance, servers)) as drive:
        await drive.goes_on()
        drive.run.apply(map(instance, servers[1:]))
        await drive.told("started anew over 2 backends")
        await drive.goes_on(20)
        before = servers[0].unary
        await drive.goes_on()
        assert servers[0].unary == before
        report = await drive.stop()
    consistent(report, servers)
    assert report.errors == 0
    assert row(report, servers[0]).state == "left"
    assert report.balance.verdict == VERDICTS[policy], report.balance


async def test_memberships_that_change_all_the_time_lose_no_call_and_no_pick() -> None:
    async with (
        backends(4) as servers,
        running(task("grpc:round_robin", requests=None), map(instance, servers)) as drive,
    ):
        for present in ((0, 1), (1, 2), (0, 1, 2, 3), (3,), (0, 3), (0, 1, 2)):
            drive.run.apply([instance(servers[index]) for index in present])
            await drive.goes_on(30)
        report = await drive.stop()
    consistent(report, servers)
    assert report.errors == 0
    assert report.balance.verdict != "skewed", report.balance


async def test_a_backend_that_dies_is_not_ready_and_comes_back() -> None:
    async with (
        backends(2) as servers,
        running(task("grpc:round_robin", requests=None), map(instance, servers)) as drive,
    ):
        await drive.goes_on()
        await servers[0].stop()
        await until(lambda: row(drive.run.report(), servers[0]).state == "transient_failure", PATIENCE_S)
        assert row(drive.run.report(), servers[0]).reason == "connection refused"
        await drive.goes_on()
        again = Backend(servers[0].endpoint, servers[0].calls)
        await again.start()
        await until(lambda: row(drive.run.report(), again).state == "ready", PATIENCE_S)
        await drive.goes_on()
        report = await drive.stop()
        await again.stop()
    consistent(report, servers[1:])
    assert row(report, again).picks >= again.unary  # what was under way when it died was not counted there
    assert report.balance.verdict == "balanced", report.balance
    assert {group.origin for group in report.error_groups} <= {Origin.TRANSPORT, Origin.SERVER}


async def test_pick_first_moves_on_when_its_backend_dies() -> None:
    async with (
        backends(2) as servers,
        running(task("grpc:pick_first", requests=None), map(instance, servers)) as drive,
    ):
        await drive.goes_on()
        first = next(backend for backend in servers if backend.unary)
        other = next(backend for backend in servers if not backend.unary)
        await first.stop()
        await until(lambda: other.unary > 100, PATIENCE_S)
        report = await drive.stop()
    consistent(report, [other])
    assert row(report, first).picks >= first.unary
    assert report.balance.verdict == "balanced", report.balance


async def test_a_backend_drained_by_hand_gets_nothing_until_it_is_back() -> None:
    async with (
        backends(3) as servers,
        running(task("grpc:round_robin", requests=None), map(instance, servers)) as drive,
    ):
        drained = instance(servers[1])
        await drive.goes_on()
        drive.run.hand.drain(drained.key, drained.address)
        await drive.told("over 2 backends")
        await drive.goes_on(20)
        before = servers[1].unary
        await drive.goes_on()
        assert servers[1].unary == before
        drive.run.hand.drain(drained.key, drained.address)
        await until(lambda: servers[1].unary > before + 20, PATIENCE_S)
        report = await drive.stop()
    consistent(report, servers)
    assert report.errors == 0
    assert report.balance.verdict == "balanced", report.balance


async def test_another_of_grpcs_policies_can_be_switched_to() -> None:
    async with (
        backends(2) as servers,
        running(task("grpc:round_robin", requests=None), map(instance, servers)) as drive,
    ):
        await drive.goes_on()
        drive.run.hand.next_policy(1)
        await drive.told("started anew")
        await drive.goes_on(50)
        before = sorted(backend.unary for backend in servers)
        await drive.goes_on()
        report = await drive.stop()
    assert report.policy == "grpc:pick_first"
    assert min(backend.unary for backend in servers) in before
    consistent(report, servers)
    assert report.errors == 0
    assert report.balance.verdict == "balanced", report.balance


async def test_the_taps_speak_tls_to_the_backends() -> None:
    secure = Credentials(TlsOptions(ca=CERTS / "ca.pem")).secure("localhost")
    async with backends(2, tls=True) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100, secure=secure), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [50, 50]


async def test_behind_taps_certificates_need_not_be_verified() -> None:
    secure = Credentials(TlsOptions(skip_verify=True)).secure("localhost")
    async with backends(1, tls=True) as servers:
        report = await run_to_its_end(task("grpc:pick_first", requests=10, secure=secure), servers)
    assert report.ok == 10


async def test_why_a_backend_cannot_be_reached_is_told_and_the_others_serve() -> None:
    with refused_port() as nobody:
        async with backends(1) as servers:
            report = await run_to_its_end(task("grpc:round_robin", requests=50), [Backend(nobody), *servers])
    consistent(report, servers)
    assert report.ok == 50
    assert row(report, Backend(nobody)).picks == 0
    assert any("connection refused" in event.text for event in report.events)


@pytest.mark.parametrize("policy", ["grpc:round_robin", "grpc:pick_first"])
async def test_where_nobody_can_be_reached_each_reason_is_known(policy: str) -> None:
    with refused_port() as one, refused_port() as other:
        run = Run(task(policy), SystemClock())
        try:
            run.apply([instance(Backend(one)), instance(Backend(other))])
            await run.backends.settled()
            assert run.backends.failures() == {str(one): "connection refused", str(other): "connection refused"}
        finally:
            await run.aclose()


async def test_a_backend_that_accepts_and_says_nothing_is_given_up_in_the_time_it_has() -> None:
    with black_hole() as silent:
        async with backends(1) as servers:
            wanted = task("grpc:round_robin", requests=20, connect_timeout_s=0.2)
            report = await run_to_its_end(wanted, [Backend(silent), *servers])
    assert (report.ok, row(report, Backend(silent)).picks) == (20, 0)
    assert any(event.text == "no HTTP/2 SETTINGS within 0.2s" for event in report.events)


async def test_a_backend_that_speaks_http1_is_named() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as foreign, backends(1) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=20), [Backend(foreign), *servers])
    assert report.ok == 20
    assert any("HTTP/1.x" in event.text for event in report.events)


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


async def test_what_the_connections_did_is_counted_by_the_taps() -> None:
    async with backends(2) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100), servers)
    assert (report.wire.opened, report.wire.sockets) == (2, 2)
    assert all(each.wire.bytes_in > 50 * 20 for each in report.backends)


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_lbctls_own_policies_work_with_both_engines(engine: str) -> None:
    await require("round_robin", engine)
    async with backends(3) as servers:
        report = await run_to_its_end(task("round_robin", requests=300, engine=engine), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [100, 100, 100]
    assert report.generator.engine == engine
    assert all("lbctl-call" not in backend.metadata for backend in servers)


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


async def test_a_channel_over_an_address_that_is_none_ends() -> None:
    nowhere = Backend(Endpoint("no such host", 1))
    async with backends(1) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=10), [nowhere, *servers])
    assert report.ok == 10
