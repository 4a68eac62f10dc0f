"""One fault is one finding, however many addresses a key has; and what a layout does by design is no fault."""

from __future__ import annotations

import asyncio
import json

import pytest

from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from tests.doctor.ward import Registry, backend, examined, registry_in, seen
from tests.rpc.servers import refused_port


async def kratos(
    registry: Registry, name: str, *endpoints: str, weight: str = "1", lease: int | None = None, key: str = "1"
) -> None:
    """One instance of Kratos: a key for all that it serves."""
    value = {"id": key, "name": name, "version": "", "metadata": {"weight": weight}, "endpoints": endpoints}
    await registry.put(f"/microservices/{name}/{key}", json.dumps(value), lease)


async def test_a_key_of_two_protocols_has_each_fault_once(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    with refused_port() as dead:
        web = f"http://{dead.host}:8000"
        async with backend() as well:
            await kratos(registry, "twice", web, f"grpc://{well}", key="1")
            await kratos(registry, "twice", web, f"grpc://{well}", key="2")
            await kratos(registry, "kept", web, f"grpc://{well}", lease=0)
            await kratos(registry, "left", web, f"grpc://{dead}", lease=0)
            await kratos(registry, "zero", web, f"grpc://{well}", weight="0")
            await kratos(registry, "lost", "http://192.0.2.1:8000", "grpc://192.0.2.1:9000")
            found = await examined(etcd, timeout_s=1.0)
    assert seen(found) == [
        ("LB201", "error", str(dead)),
        ("LB201", "warn", str(well)),
        ("LB203", "warn", str(well)),
        ("LB205", "error", "192.0.2.1:9000"),
        ("LB206", "warn", str(well)),
    ]


async def test_nobody_who_states_another_protocol_is_called(etcd: Etcd) -> None:
    callers: list[object] = []
    web = await asyncio.start_server(lambda reader, writer: callers.append(writer), "127.0.0.1", 0)
    host, port = web.sockets[0].getsockname()
    registry = await registry_in(etcd)
    async with web, backend() as well:
        await kratos(registry, "a", f"http://{host}:{port}", f"grpc://{well}")
        assert seen(await examined(etcd, probe=20)) == []
    assert callers == []


async def test_a_key_is_left_behind_when_all_its_addresses_refuse(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    with refused_port() as dead, refused_port() as gone:
        async with backend() as well:
            key = "/service/default/default/{}/latest/{},{}"
            await registry.put(key.format("half", well, dead), json.dumps({"protocol": "grpc"}), 0)
            await registry.put(key.format("none", dead, gone), json.dumps({"protocol": "grpc"}), 0)
            half, none = await examined(etcd, "half"), await examined(etcd, "none")
    assert seen(half) == [("LB201", "warn", str(well)), ("LB301", "error", str(dead))]
    assert [each[:2] for each in seen(none)] == [("LB201", "error")]


def apisix(endpoint: Endpoint) -> tuple[str, object]:
    return "/apisix/upstreams/1", {"name": "a", "scheme": "grpc", "type": "roundrobin", "nodes": {str(endpoint): 1}}


def skydns(endpoint: Endpoint) -> tuple[str, object]:
    return "/skydns/local/cluster/a/node1", {"host": endpoint.host, "port": endpoint.port}


def ego(endpoint: Endpoint) -> tuple[str, object]:
    value = {"name": "a", "scheme": "grpc", "address": str(endpoint), "weight": 100, "enable": True, "healthy": True}
    return f"/ego/a/providers/grpc://{endpoint}", value


def kitex(endpoint: Endpoint) -> tuple[str, object]:
    value = {"network": "tcp", "address": str(endpoint), "weight": 10, "tags": None}
    return f"kitex/registry-etcd/a/{endpoint}", value


@pytest.mark.parametrize(
    ("layout", "alive", "dead"),
    [
        (apisix, [], [("LB301", "error")]),
        (skydns, [], [("LB301", "error")]),
        (ego, [("LB201", "info")], [("LB201", "error")]),
        (kitex, [("LB201", "warn")], [("LB201", "error")]),
    ],
)
async def test_a_key_without_a_lease_is_what_the_layout_makes_of_it(
    etcd: Etcd, layout: object, alive: list[tuple[str, str]], dead: list[tuple[str, str]]
) -> None:
    assert callable(layout)
    registry = await registry_in(etcd)
    with refused_port() as gone:
        async with backend() as well:
            for endpoint, expected in ((well, alive), (gone, dead)):
                key, value = layout(endpoint)
                await registry.put(key, json.dumps(value), 0)
                assert [each[:2] for each in seen(await examined(etcd))] == expected
                await etcd.delete(key.encode())
