"""Backends that join, leave, die, or are drained under gRPC's own balancers: no call is lost, and none goes astray."""

from __future__ import annotations

import pytest

from lbctl.load.engines import require
from lbctl.model import Origin
from tests.fakes import until
from tests.rpc.grpcio.backends import PATIENCE_S, Backend, backends
from tests.rpc.grpcio.runs import VERDICTS, consistent, every_policy, instance, open_all, row, running, task


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
    wanted = task(policy, requests=None, method="Wait")
    async with backends(3) as servers, running(wanted, map(instance, servers)) as drive:
        before = await drive.all_waiting(servers)
        drive.run.apply(map(instance, servers[1:]))
        open_all(servers)
        await drive.told("started anew over 2 backends")
        await drive.goes_on()
        report = await drive.stop()
    assert servers[0].calls["Wait"] == before[0]
    consistent(report, servers, method="Wait")
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


@pytest.mark.slow  # gRPC's picker lags behind on a busy machine
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
    wanted = task("grpc:round_robin", requests=None, method="Wait")
    async with backends(3) as servers, running(wanted, map(instance, servers)) as drive:
        drained = instance(servers[1])
        before = await drive.all_waiting(servers)
        drive.run.hand.drain(drained.key, drained.address)
        open_all(servers)
        await drive.told("over 2 backends")
        await drive.goes_on()
        assert servers[1].calls["Wait"] == before[1]
        drive.run.hand.drain(drained.key, drained.address)
        await until(lambda: servers[1].calls["Wait"] > before[1] + 20, PATIENCE_S)
        report = await drive.stop()
    consistent(report, servers, method="Wait")
    assert report.errors == 0
    assert report.balance.verdict == "balanced", report.balance


async def test_another_of_grpcs_policies_can_be_switched_to() -> None:
    wanted = task("grpc:round_robin", requests=None, method="Wait")
    async with backends(2) as servers, running(wanted, map(instance, servers)) as drive:
        before = await drive.all_waiting(servers)
        drive.run.hand.next_policy(1)
        open_all(servers)
        await drive.told("started anew")
        await drive.goes_on()
        report = await drive.stop()
    assert report.policy == "grpc:pick_first"
    more = [backend.calls["Wait"] - count for backend, count in zip(servers, before, strict=True)]
    assert sorted(count > 0 for count in more) == [False, True]
    consistent(report, servers, method="Wait")
    assert report.errors == 0
    assert report.balance.verdict == "balanced", report.balance
