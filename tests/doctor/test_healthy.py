"""Nothing is found where all is well, whichever layout the registrations have."""

from __future__ import annotations

import json
from urllib.parse import quote_plus

import pytest

from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from tests.doctor.ward import TTL_S, Registry, backend, examined, registry_in, seen


async def seed(registry: Registry, number: int, endpoint: Endpoint) -> None:
    await registry.add(endpoint, number)


async def kratos(registry: Registry, number: int, endpoint: Endpoint) -> None:
    value = {"id": f"{number}", "name": "a", "version": "v1", "metadata": {"weight": "10"}}
    endpoints = [f"http://127.0.0.1:{number}", f"grpc://{endpoint}"]
    await registry.put(f"/microservices/a/{number}", json.dumps(value | {"endpoints": endpoints}))


async def go_zero(registry: Registry, number: int, endpoint: Endpoint) -> None:
    lease = await registry.etcd.grant(TTL_S)
    await registry.put(f"user.rpc/{lease}", str(endpoint), lease)


async def kitex(registry: Registry, number: int, endpoint: Endpoint) -> None:
    value = {"network": "tcp", "address": str(endpoint), "weight": 10, "tags": {"version": "v1"}}
    await registry.put(f"kitex/registry-etcd/a/{endpoint}", json.dumps(value))


async def etcd_naming(registry: Registry, number: int, endpoint: Endpoint) -> None:
    await registry.add_json(endpoint, "a")


async def go_micro(registry: Registry, number: int, endpoint: Endpoint) -> None:
    node = {"metadata": {"protocol": "grpc"}, "id": f"a-{number}", "address": str(endpoint)}
    value = {"name": "a", "version": "latest", "metadata": None, "endpoints": [], "nodes": [node]}
    await registry.put(f"/micro/registry/a/a-{number}", json.dumps(value))


async def dubbo(registry: Registry, number: int, endpoint: Endpoint) -> None:
    url = quote_plus(f"tri://{endpoint}/a.A?interface=a.A&release=dubbo-golang-3.0.0&version=1.0&weight=100")
    await registry.put(f"/dubbo/a.A/providers/{url}", "")


async def jupiter(registry: Registry, number: int, endpoint: Endpoint) -> None:
    info = {"name": "a", "scheme": "grpc", "address": str(endpoint), "weight": 100, "enable": True, "healthy": True}
    value = {"Op": 0, "Addr": str(endpoint), "MetadataX": info | {"metadata": {"appVersion": "1.0"}}}
    await registry.put(f"grpc:a:v1:live/{endpoint}", json.dumps(value))


_LAYOUTS = {
    "seed": seed,
    "kratos": kratos,
    "go-zero": go_zero,
    "kitex": kitex,
    "etcd-naming": etcd_naming,
    "go-micro": go_micro,
    "dubbo-interface": dubbo,
    "jupiter": jupiter,
}


@pytest.mark.parametrize("layout", _LAYOUTS)
async def test_nothing_is_found_of_a_service_that_is_well(etcd: Etcd, layout: str) -> None:
    registry = await registry_in(etcd)
    async with backend() as first, backend() as second:
        for number, endpoint in enumerate((first, second), 1):
            await _LAYOUTS[layout](registry, number, endpoint)
        found = await examined(etcd, probe=90, canary=True)
    assert [each.layout for each in found.services] == [layout]
    assert seen(found) == []
    assert found.skipped == ()
    assert found.probes[found.services[0].prefix].ok == 90
