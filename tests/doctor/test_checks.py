"""Single checks: what each takes for a fault, and what it lets pass."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest

from lbctl.balance.load_report import LoadReport
from lbctl.balance.policies.table import BY_NAME
from lbctl.clock import SystemClock
from lbctl.commands.drain import drain
from lbctl.commands.rewriting import Where, registered, write
from lbctl.doctor.case import Case, Order, chosen
from lbctl.doctor.checks import lag, leaseless, unroutable
from lbctl.doctor.checks.slow import is_slow
from lbctl.doctor.evidence import prometheus
from lbctl.doctor.hosts import why_unroutable
from lbctl.doctor.table import CHECKS, selected
from lbctl.errors import NotFound, UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Endpoint, Instance, Registry, Service
from lbctl.rpc.access import plain
from lbctl.stats.histogram import Histogram
from tests.doctor.ward import backend, examined, registry_in, seen


def service(*hosts: str, name: str = "echo", layout: str = "seed") -> Service:
    prefix = f"/services/{name}/"
    instances = (Instance(f"{prefix}{host}", name, layout, Endpoint(host, 50051), 1) for host in hosts)
    return Service(name, layout, prefix, tuple(instances))


@pytest.mark.parametrize(
    ("etcd", "hosts", "lost"),
    [
        ("127.0.0.1:2379", ("127.0.0.1", "localhost", "::1"), []),
        ("10.0.0.1:2379", ("127.0.0.1", "10.0.0.11"), ["127.0.0.1:50051"]),
        ("10.0.0.1:2379", ("127.0.0.1",), ["127.0.0.1:50051"]),
        ("127.0.0.1:2379", ("127.0.0.1", "10.0.0.11"), ["127.0.0.1:50051"]),
        ("[::1]:2379", ("localhost", "shop.example"), ["localhost:50051"]),
        ("127.0.0.1:2379", ("127.0.0.1", "192.0.2.1"), ["192.0.2.1:50051"]),
        ("10.0.0.1:2379", ("169.254.1.1", "fe80::1", "224.0.0.1", "255.255.255.255"), None),
        ("10.0.0.1:2379", ("10.0.0.11", "fd00::1", "shop.example"), []),
    ],
)
async def test_loopback_is_right_only_where_etcd_and_the_whole_service_are_on_it(
    etcd: str, hosts: tuple[str, ...], lost: list[str] | None
) -> None:
    found = service(*hosts)
    expected = [each.address for each in found.instances] if lost is None else lost
    async with Etcd(EtcdConfig((etcd,))) as client:
        order = Order(BY_NAME["smooth_wrr"], plain)
        async with Case(client, order, SystemClock(), Random(1), Registry(1, (found,))) as case:
            assert [each.subject for each in await unroutable.examine(case)] == expected


def test_a_link_local_address_with_a_zone_leads_somewhere() -> None:
    assert why_unroutable("fe80::1%eth0") == ""


def test_a_name_means_every_layout_under_its_prefix() -> None:
    both = (service("10.0.0.1"), service("10.0.0.2", layout="etcd-naming"))
    registry = Registry(1, (*both, service("10.0.0.3", name="shop")))
    assert chosen(registry, "echo") == both
    assert chosen(registry, "/services/echo/") == both
    assert chosen(registry, "echo", "seed") == both[:1]
    assert chosen(registry, None) == registry.services
    with pytest.raises(NotFound):
        chosen(registry, "nobody")


def test_codes_are_selected_and_ignored_by_how_they_begin() -> None:
    assert selected((), ()) == CHECKS
    assert [each.code for each in selected(("LB5", "LB201"), ("LB502",))] == ["LB201", "LB501"]
    assert len(selected((), ("LB1",))) == len(CHECKS) - 4
    with pytest.raises(UsageError, match="no check has the code LB9"):
        selected((), ("LB9",))


def test_every_check_has_a_code_of_its_own_a_reason_and_a_way_out() -> None:
    codes = [check.code for check in CHECKS]
    assert codes == sorted(set(codes))
    assert all(check.title and check.why.endswith(".") and check.fix for check in CHECKS)


async def test_a_policy_that_does_not_go_by_the_weights_is_found(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as heavy, backend() as light:
        await registry.add(heavy, 5)
        await registry.add(light, 1)
        found = await examined(etcd, select=("LB401",), policy="round_robin", probe=120)
        assert seen(found) == [("LB401", "warn", str(min(heavy, light, key=str)))]
        assert "50.0% of 120 calls" in found.findings[0].symptom.what
        assert seen(await examined(etcd, select=("LB401",), policy="weighted_random", probe=600)) == []


@pytest.mark.parametrize(
    ("times_us", "slow"),
    [
        ([9_000] * 20, True),
        ([900] * 5 + [9_000] * 15, False),  # left waiting for a while
        ([2_500] * 20, False),  # three times, and less than 2 ms more
        ([1_600] * 20, False),
    ],
)
def test_slow_is_who_is_slow_at_best_too(times_us: list[int], slow: bool) -> None:
    measured = Histogram()
    for each in times_us:
        measured.record(each)
    assert is_slow(measured, usual_us=800.0) == slow


@pytest.mark.parametrize(
    ("prefix", "name", "folder"),
    [
        ("/services/echo/", "echo", "/services/"),
        ("user.rpc/", "user.rpc", ""),
        ("/services/rollout/", "services/rollout", "/services/"),
        ("/a/b/", "named by its value", "/a/"),
    ],
)
async def test_the_canary_has_a_folder_beside_the_keys_of_the_service(prefix: str, name: str, folder: str) -> None:
    found = Service(name, "seed", prefix, (Instance(f"{prefix}1", name, "seed", Endpoint("10.0.0.1", 1)),))
    async with Etcd(EtcdConfig()) as client:
        order = Order(BY_NAME["smooth_wrr"], plain, service=name)
        async with Case(client, order, SystemClock(), Random(1), Registry(1, (found,))) as case:
            assert lag.root_of(case) == folder


async def test_the_probe_calls_nobody_who_states_another_protocol(etcd: Etcd) -> None:
    callers: list[object] = []
    web = await asyncio.start_server(lambda reader, writer: callers.append(writer), "127.0.0.1", 0)
    port = web.sockets[0].getsockname()[1]
    async with web, backend() as grpc:
        value = {"id": "1", "name": "echo", "version": "", "metadata": {}}
        endpoints = [f"http://127.0.0.1:{port}", f"grpc://{grpc}"]
        await etcd.put(b"/microservices/echo/1", json.dumps(value | {"endpoints": endpoints}).encode())
        assert seen(await examined(etcd, select=("LB401",), policy="round_robin", probe=20)) == []
    assert callers == []


async def test_too_few_calls_to_judge_are_told_as_a_note(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as heavy, backend() as light:
        await registry.add(heavy, 5)
        await registry.add(light, 1)
        found = await examined(etcd, select=("LB401",), policy="weighted_random", probe=5)
    assert seen(found) == [("LB401", "info", "echo")]


async def test_load_reports_that_stand_for_other_shares_than_the_weights_are_found(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    busy = LoadReport(rps_fractional=10, application_utilization=0.8)
    idle = LoadReport(rps_fractional=10, application_utilization=0.1)
    async with backend(report=busy) as first, backend(report=idle) as second:
        await registry.add(first, 1)
        await registry.add(second, 1)
        found = await examined(etcd, select=("LB402",))
        assert seen(found) == [("LB402", "warn", str(first))]
        await registry.add(second, 8)
        assert seen(await examined(etcd, select=("LB402",))) == []


async def test_a_drained_instance_is_a_note(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as endpoint:
        key = await registry.add(endpoint, 3)
        await write(etcd, drain(await registered(etcd, Where("echo")), [str(endpoint)]))
        found = await examined(etcd, select=("LB206",))
        await registry.put(key, f"{endpoint}|0")
        since = await examined(etcd, select=("LB206",))
    assert seen(found) == [("LB206", "info", str(endpoint))]
    assert found.findings[0].symptom.command == f"lbctl undrain echo {endpoint}"
    assert seen(since) == [("LB206", "warn", str(endpoint))], "whoever wrote it since may mean it"


async def test_a_backend_out_of_the_rotation_may_be_down(etcd: Etcd) -> None:
    await (await registry_in(etcd)).add("127.0.0.1:1", 0)
    assert seen(await examined(etcd, select=("LB3",))) == []


async def test_a_dead_key_without_a_lease_is_one_finding_whichever_check_tells_it(etcd: Etcd) -> None:
    await (await registry_in(etcd)).add("127.0.0.1:1", lease=0)
    assert seen(await examined(etcd)) == [("LB201", "error", "127.0.0.1:1")]
    assert seen(await examined(etcd, select=("LB3",))) == [("LB301", "error", "127.0.0.1:1")]


@pytest.mark.parametrize(
    ("layout", "key", "metadata", "expected"),
    [
        ("seed", "/services/a b/10.0.0.1:1", {}, "register 'a b' 10.0.0.1:1 --weight 5 --layout seed"),
        ("seed", "/services/a b/10.0.0.1:1", {"zone": "a"}, "ls 'a b' -o wide"),
        ("seed", "/other/a b/10.0.0.1:1", {}, "ls 'a b' -o wide"),
        ("go-zero", "a b/777", {}, "ls 'a b' -o wide"),
    ],
)
async def test_a_key_without_a_lease_is_registered_anew_only_where_that_writes_the_very_same(
    layout: str, key: str, metadata: dict[str, str], expected: str
) -> None:
    weight = 5 if layout == "seed" else None
    instance = Instance(key, "a b", layout, Endpoint("10.0.0.1", 1), weight, metadata=metadata)
    found = Service("a b", layout, key.rpartition("/")[0] + "/", (instance,))
    async with Etcd(EtcdConfig()) as client:
        case = Case(client, Order(BY_NAME["smooth_wrr"], plain), SystemClock(), Random(1), Registry(1, (found,)))
        assert leaseless.again(case, instance) == f"lbctl {expected}"


@asynccontextmanager
async def prometheus_with(figures: dict[str, dict[str, float]], status: str = "success") -> AsyncIterator[str]:
    """A server that answers queries as Prometheus does: by query, figures by instance."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        (query,) = parse_qs(urlsplit(target).query)["query"]
        result = [
            {"metric": {"instance": name}, "value": [0, str(value)]} for name, value in figures.get(query, {}).items()
        ]
        body = json.dumps({"status": status, "error": "no", "data": {"resultType": "vector", "result": result}})
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/"


async def test_what_prometheus_knows_of_the_servers_stands_beside_what_the_client_sees(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    async with backend() as first, backend() as second:
        await registry.add(first)
        await registry.add(second)
        figures = {prometheus.CPU: {str(first): 0.25}, prometheus.REQUESTS: {str(first): 12.5, "other:1": 3.0}}
        async with prometheus_with(figures) as url:
            found = await examined(etcd, probe=20, prometheus=url)
    (row,) = found.beside
    assert (row.address, row.server.cpu, row.server.rps) == (str(first), 0.25, 12.5)
    assert row.rtt_s is not None
    assert row.client_rps is not None
    assert row.client_p50_ms is not None
    assert found.findings == ()


async def test_prometheus_knows_given_backends_as_well() -> None:
    async with backend() as only:
        given = (Instance(str(only), "backends", "backends", only, 1),)
        async with prometheus_with({prometheus.CPU: {str(only): 0.5}}) as url:
            found = await examined(None, given=given, probe=20, prometheus=url)
    (row,) = found.beside
    assert (row.address, row.server.cpu, row.server.rps) == (str(only), 0.5, None)
    assert found.findings == ()


@pytest.mark.parametrize("status", ["error", "unreachable"])
async def test_a_prometheus_that_does_not_answer_is_told_and_the_rest_is_examined(etcd: Etcd, status: str) -> None:
    async with prometheus_with({}, status) as url:
        found = await examined(etcd, prometheus=url if status == "error" else "http://me:s3cret@127.0.0.1:1")
    (missing,) = (each for each in found.skipped if not each.why.startswith("needs"))
    assert missing.code == "prometheus"
    assert "s3cret" not in missing.why
    assert "LB101" in found.checks
