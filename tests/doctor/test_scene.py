"""``lbctl doctor`` in a real scene: every planted fault is found exactly once, and nothing else."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from lbctl.balance.load_report import LoadReport
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Endpoint
from tests.doctor.ward import NOT_SERVING, Registry, backend, examined, raise_alarm, registry_in, seen
from tests.rpc.servers import refused_port

pytestmark = pytest.mark.slow


async def test_each_planted_fault_is_found_exactly_once(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd, AsyncExitStack() as stack:
        planted = await _plant(await registry_in(etcd), stack)
        await raise_alarm(etcd)
        found = await examined(etcd, probe=200, timeout_s=2.0)
        planted.append(("LB102", "error", "lbctl-demo"))
    assert seen(found) == sorted(planted)
    assert all(each.symptom.what and each.symptom.command and each.check.why for each in found.findings)
    assert {each.code for each in found.skipped} == {"LB501"}


async def _plant(registry: Registry, stack: AsyncExitStack) -> list[tuple[str, str, str]]:
    """Put every fault into the scene; returns what is to be found."""

    async def well() -> Endpoint:
        return await stack.enter_async_context(backend())

    first, second = await well(), await well()
    await registry.add(first)
    await registry.add(second)

    permanent = await well()
    await registry.add(permanent, lease=0)
    dead, gone = (stack.enter_context(refused_port()) for _ in range(2))
    await registry.add(dead, lease=0)
    await registry.add(gone)

    await registry.add(first, name="copied")
    broken = await registry.put("/services/echo/broken", "rubbish")
    await registry.add("192.0.2.1:50051")
    wordy, none = await well(), await well()
    await registry.add(wordy, "plenty")
    await registry.add(none, 0)
    await registry.add_json(await well(), "echo", weight="1")

    secure = await stack.enter_async_context(backend(tls=True))
    ill = await stack.enter_async_context(backend(status=NOT_SERVING))
    other = await stack.enter_async_context(backend(offers=("test.Other",)))
    for endpoint in (secure, ill, other):
        await registry.add(endpoint)

    for each in (await well(), await stack.enter_async_context(backend(status=None))):
        await registry.add(each, service="unasked")
    for each in (await well(), await stack.enter_async_context(backend(offers=None))):
        await registry.add(each, service="untold")

    slow = await stack.enter_async_context(backend(delay_s=0.1))
    for each in (await well(), await well(), slow):
        await registry.add(each, service="slow")

    for version in ("v1", "v1", "v2"):
        await registry.add_json(await well(), "rollout", version=version)

    modest = await stack.enter_async_context(backend(report=LoadReport(named_metrics={"weight": 2.0})))
    honest = await stack.enter_async_context(backend(report=LoadReport(named_metrics={"weight": 5.0})))
    for each in (modest, honest):
        await registry.add(each, 5, service="reported")

    return [
        ("LB201", "warn", str(permanent)),
        ("LB201", "error", str(dead)),
        ("LB203", "warn", str(first)),
        ("LB204", "error", broken),
        ("LB205", "error", "192.0.2.1:50051"),
        ("LB206", "warn", str(wordy)),
        ("LB206", "warn", str(none)),
        ("LB207", "warn", "/services/echo/"),
        ("LB301", "error", str(gone)),
        ("LB302", "error", str(secure)),
        ("LB303", "error", str(ill)),
        ("LB304", "info", "unasked"),
        ("LB305", "info", "untold"),
        ("LB306", "error", str(other)),
        ("LB402", "warn", str(modest)),
        ("LB403", "warn", str(slow)),
        ("LB404", "warn", "services/rollout"),
    ]
