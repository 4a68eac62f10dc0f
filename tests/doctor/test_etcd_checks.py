"""LB1xx, LB202 and LB5xx: etcd as it should not be, and nothing said of one that is well."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL
from contextlib import AsyncExitStack, aclosing
from datetime import datetime, timedelta

import pytest

from lbctl.clock import SystemClock
from lbctl.demo.etcd_server import EtcdServer
from lbctl.doctor.table import CHECKS
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Change, Changes
from tests.demo.watching import until
from tests.doctor.forwarding import forwarding
from tests.doctor.ward import backend, examined, raise_alarm, registry_in, seen
from tests.etcd.guarding import READER, guard
from tests.etcd.members import cluster, member


class Late:
    """A clock that is ahead of everybody else's, or that finds everything slow."""

    def __init__(self, ahead: timedelta = timedelta(), step_ns: int = 0) -> None:
        self._ahead = ahead
        self._step_ns = step_ns
        self._lost_ns = 0

    def now_ns(self) -> int:
        self._lost_ns += self._step_ns
        return SystemClock.now_ns() + self._lost_ns

    def cpu_s(self) -> float:
        return SystemClock.cpu_s()

    def wall(self) -> datetime:
        return SystemClock.wall() + self._ahead


async def test_a_healthy_etcd_and_a_healthy_service_have_no_finding(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as first, backend() as second:
        await registry.add(first, 3)
        await registry.add(second, 1)
        found = await examined(etcd, "echo", probe=100, canary=True)
    assert seen(found) == []
    assert found.checks == tuple(check.code for check in CHECKS)
    assert found.skipped == ()


async def test_a_watch_that_is_refused_is_found(etcd: Etcd, etcd_server: EtcdServer) -> None:
    async with forwarding(etcd_server.endpoint) as address, Etcd(EtcdConfig((address,))) as behind:
        found = await examined(behind, select=("LB103",))
    assert [each.code for each in found.findings] == ["LB103"]
    assert "no streams here" in found.findings[0].symptom.what


async def test_who_may_read_the_services_alone_may_watch_all_that_clients_watch(own_etcd: EtcdServer) -> None:
    config = EtcdConfig((own_etcd.endpoint,))
    async with AsyncExitStack() as stack:
        open_to_all = await stack.enter_async_context(Etcd(config))
        registry = await registry_in(open_to_all)
        for service in ("echo", "shop"):
            await registry.add(await stack.enter_async_context(backend()), service=service)
        await guard(config, (b"/services/",))
        reader = await stack.enter_async_context(Etcd(EtcdConfig((own_etcd.endpoint,), *READER)))
        found = await examined(reader, probe=20)
    assert [each.name for each in found.services] == ["echo", "shop"]
    assert seen(found) == []
    assert "LB103" in found.checks
    assert {each.code for each in found.skipped} == {"LB501"}  # nobody asked for a write


async def test_a_watch_that_is_refused_for_every_service_is_one_finding(etcd: Etcd, etcd_server: EtcdServer) -> None:
    registry = await registry_in(etcd)
    for service in ("echo", "shop"):
        await registry.add("127.0.0.1:1", service=service)
    async with forwarding(etcd_server.endpoint) as address, Etcd(EtcdConfig((address,))) as behind:
        found = await examined(behind, select=("LB103",))
    assert seen(found) == [("LB103", "error", "/services/echo/")]
    assert found.findings[0].symptom.what.endswith("(and 1 more prefix)")


@pytest.mark.skipif(shutil.which("etcdctl") is None, reason="no etcdctl in the path")
async def test_the_command_for_an_alarm_mends_it(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        await (await registry_in(etcd)).add("127.0.0.1:1")
        await raise_alarm(etcd)
        found = await examined(etcd, select=("LB102",))
        (finding,) = found.findings
        for _ in range(2):  # the second time there is nothing to compact, and that is no harm
            mending = await asyncio.create_subprocess_shell(finding.symptom.command, stdout=DEVNULL, stderr=DEVNULL)
            assert await mending.wait() == 0
        assert seen(await examined(etcd, select=("LB102",))) == []
        await etcd.put(b"/again", b"there is space")


async def test_a_clock_that_is_not_ours_is_found(etcd: Etcd) -> None:
    for ahead, words in ((1, "behind"), (-1, "ahead of")):
        found = await examined(etcd, select=("LB104",), clock=Late(timedelta(hours=ahead)))
        assert [each.code for each in found.findings] == ["LB104"]
        assert words in found.findings[0].symptom.what


async def test_a_key_that_outlives_its_lease_is_found(etcd: Etcd, etcd_server: EtcdServer) -> None:
    async with backend() as endpoint:
        await (await registry_in(etcd)).add(endpoint)
        async with (
            forwarding(etcd_server.endpoint, leases_are_over=True) as address,
            Etcd(EtcdConfig((address,))) as behind,
        ):
            found = await examined(behind, select=("LB202", "LB502"))
    assert seen(found) == [("LB502", "warn", str(endpoint))]


async def test_events_that_come_late_are_found(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    await registry.add("127.0.0.1:1")
    found = await examined(etcd, "echo", select=("LB501",), canary=True, clock=Late(step_ns=1_500_000_000))
    assert seen(found) == [("LB501", "warn", "/services/.lbctl-canary/")]


async def test_the_canary_is_a_key_beside_the_services_and_is_gone_afterwards(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    key = await registry.add("127.0.0.1:1")
    async with aclosing(etcd.watch(b"/services/")) as events:
        await anext(events)
        await examined(etcd, "echo", select=("LB501",), canary=True)
        changes: list[Change] = []
        while not changes or changes[-1].entry is not None:
            event = await anext(events)
            assert isinstance(event, Changes)
            changes += event.changes
    put, removed = changes
    assert put.key == removed.key
    assert put.key.startswith(b"/services/.lbctl-canary/")
    assert put.entry is not None
    assert await etcd.time_to_live(put.entry.lease) is None
    assert [entry.key for entry in (await etcd.range(b"")).entries] == [key.encode()]


async def test_a_canary_of_somebody_else_is_no_registration(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as endpoint:
        await registry.add(endpoint)
        for root in ("/services/", "/microservices/", "/micro/registry/", "kitex/registry-etcd/", ""):
            await registry.put(f"{root}.lbctl-canary/0123", "lbctl doctor --canary: no registration")
        found = await examined(etcd)
    assert [each.name for each in found.services] == ["echo"]
    assert seen(found) == []


async def test_nothing_is_written_without_canary(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as endpoint:
        await registry.add(endpoint)
        before = (await etcd.status()).revision
        await examined(etcd, probe=20)
    assert (await etcd.status()).revision == before


@pytest.mark.slow
async def test_a_lease_that_nobody_keeps_alive_is_found_before_it_ends(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    lease = await etcd.grant(12)
    async with backend() as endpoint:
        await registry.add(endpoint, lease=lease)

        async def is_late() -> bool:
            left = await etcd.time_to_live(lease)
            return left is not None and left.ttl * 3 < left.granted

        await until(is_late, "the lease is late")
        found = await examined(etcd)
    assert seen(found) == [("LB202", "warn", str(endpoint))]


@pytest.mark.slow
async def test_a_member_that_is_down_is_found_whether_it_was_named_or_not() -> None:
    async with AsyncExitStack() as stack:
        members = await stack.enter_async_context(cluster(3))
        down, *up = members
        await down.kill()
        one = await stack.enter_async_context(Etcd(EtcdConfig((up[0].endpoint,))))
        found = await examined(one)
        assert seen(found) == [("LB101", "warn", down.endpoint)]
        every = await stack.enter_async_context(Etcd(EtcdConfig(tuple(each.endpoint for each in members))))
        found = await examined(every)
        assert seen(found) == [("LB101", "error", down.endpoint)]


@pytest.mark.slow
async def test_endpoints_of_two_clusters_are_found() -> None:
    async with member() as one, member() as other, Etcd(EtcdConfig((one.endpoint, other.endpoint))) as both:
        found = await examined(both, select=("LB101",))
    assert seen(found) == [("LB101", "error", other.endpoint)]
