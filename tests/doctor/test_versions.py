"""LB404 in the layouts that say versions, each in its own words, as it comes out of a real etcd."""

from __future__ import annotations

import json
from urllib.parse import quote_plus

import pytest

from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from tests.doctor.ward import examined, registry_in, seen

_SKEW = "backends of several versions: 1.1 (2), 1.2 (1)"
_APART = "providers of several versions of the interface, each called by consumers of its own: 1.1 (2), 1.2 (1)"
_BUILT = "backends built with several versions of their framework: 1.1 (2), 1.2 (1)"
_OFFER = "backends that offer different interfaces, by their revisions: 1.1 (2), 1.2 (1)"


def kratos(number: int, version: str) -> tuple[str, object]:
    endpoints = [f"http://10.0.0.{number}:8000", f"grpc://10.0.0.{number}:9000"]
    return f"/microservices/a/{number}", {
        "id": f"{number}",
        "name": "a",
        "version": version,
        "metadata": {"version": "of something else"},
        "endpoints": endpoints,
    }


def kratos_v1(number: int, version: str) -> tuple[str, object]:
    return f"/kratos_etcd/a/h{number}", {
        "region": "",
        "zone": "z",
        "env": "dev",
        "appid": "a",
        "hostname": f"h{number}",
        "addrs": [f"grpc://10.0.0.{number}:9000"],
        "version": version,
        "latest_timestamp": 1,
        "metadata": {},
        "status": 1,
    }


def go_micro(number: int, version: str) -> tuple[str, object]:
    node = {"metadata": {"protocol": "grpc"}, "id": f"a-{number}", "address": f"10.0.0.{number}:9000"}
    value = {"name": "a", "version": version, "metadata": None, "endpoints": [], "nodes": [node]}
    return f"/micro/registry/a/a-{number}", value


def jupiter(number: int, version: str) -> tuple[str, object]:
    address = f"10.0.0.{number}:9000"
    info = {"name": "a", "scheme": "grpc", "address": address, "metadata": {"appVersion": version}}
    return f"grpc:a:v1:live/{address}", {"Op": 0, "Addr": address, "MetadataX": info}


def ego(number: int, version: str) -> tuple[str, object]:
    address = f"10.0.0.{number}:9000"
    info = {"name": "a", "scheme": "grpc", "address": address, "weight": 100, "enable": True, "healthy": True}
    return f"/ego/a/providers/grpc://{address}", info | {"metadata": {"egoVersion": version}}


def dubbo(number: int, parameters: str) -> tuple[str, object]:
    url = quote_plus(f"tri://10.0.0.{number}:20000/a.A?interface=a.A&{parameters}")
    return f"/dubbo/a.A/providers/{url}", ""


def dubbo_version(number: int, version: str) -> tuple[str, object]:
    return dubbo(number, f"release=dubbo-golang-3.0.0&version={version}")


def dubbo_release(number: int, version: str) -> tuple[str, object]:
    return dubbo(number, f"release={version}&version=1.0.0")


def dubbo_app(number: int, version: str) -> tuple[str, object]:
    metadata = {"dubbo.metadata.revision": version, "dubbo.endpoints": '[{"port":20000,"protocol":"tri"}]'}
    value = {"ServiceName": "a", "Host": f"10.0.0.{number}", "Port": 20000, "Weight": 0}
    return f"/services/a/10.0.0.{number}:20000", value | {"Enable": True, "Healthy": True, "Metadata": metadata}


def etcd_naming(number: int, version: str) -> tuple[str, object]:
    address = f"10.0.0.{number}:9000"
    return f"a/{address}", {"Op": 0, "Addr": address, "Metadata": {"version": [version]}}


def kitex(number: int, version: str) -> tuple[str, object]:
    address = f"10.0.0.{number}:9000"
    value = {"network": "tcp", "address": address, "weight": 10, "tags": {"Version": version}}
    return f"kitex/registry-etcd/a/{address}", value


def trpc_go(number: int, version: str) -> tuple[str, object]:
    value = {"name": "a", "id": f"{number}", "address": f"10.0.0.{number}:9000", "metadata": {"version": version}}
    return f" trpc/registry/services/a/10.0.0.{number}-9000-{number}", value | {"weight": 1}


def generic(number: int, version: str) -> tuple[str, object]:
    return f"/services/a/{number}", {"addr": f"10.0.0.{number}:9000", "version": version}


def grpc_lb(number: int, version: str) -> tuple[str, object]:
    value = {"InstanceId": f"{number}", "Name": "a", "Version": version, "Address": f"10.0.0.{number}:9000"}
    return f"/backend/services/a/{version}/{number}", value | {"Metadata": {"weight": ["1"]}}


def goframe(number: int, version: str) -> tuple[str, object]:
    return f"/service/default/default/a/{version}/10.0.0.{number}:9000", {"protocol": "grpc"}


def hertz(number: int, version: str) -> tuple[str, object]:
    address = f"10.0.0.{number}:9000"
    value = {"network": "tcp", "address": address, "weight": 10, "tags": {"version": version}}
    return f"hertz/registry-etcd/a/{address}", value


_SAYING = {
    kratos: _SKEW,
    kratos_v1: _SKEW,
    go_micro: _SKEW,
    jupiter: _SKEW,
    ego: _BUILT,
    dubbo_version: _APART,
    dubbo_release: _BUILT,
    dubbo_app: _OFFER,
    etcd_naming: _SKEW,
    kitex: _SKEW,
    trpc_go: _SKEW,
    generic: _SKEW,
    grpc_lb: "",  # a version is a service of its own there
    goframe: "",
    hertz: "",  # no gRPC client picks it
}


@pytest.mark.parametrize("layout", _SAYING, ids=lambda layout: layout.__name__)
async def test_versions_are_told_apart_by_the_name_that_the_layout_has_for_them(etcd: Etcd, layout: object) -> None:
    assert callable(layout)
    registry = await registry_in(etcd)
    for number, version in enumerate(("1.1", "1.2", "1.1"), 1):
        key, value = layout(number, version)
        await registry.put(key, value if isinstance(value, str) else json.dumps(value))
    found = await examined(etcd, select=("LB404", "LB204"))
    assert [each.symptom.what for each in found.findings] == ([_SAYING[layout]] if _SAYING[layout] else [])
    assert sum(len(service.instances) for service in found.services) == (6 if layout is kratos else 3)


async def test_backends_that_say_no_version_are_no_skew(etcd: Etcd) -> None:
    registry = await registry_in(etcd)
    await registry.add_json(Endpoint("10.0.0.1", 1), "a", version="v1")
    await registry.add_json(Endpoint("10.0.0.2", 1), "a", version="")
    await registry.add_json(Endpoint("10.0.0.3", 1), "a", zone="b")
    assert seen(await examined(etcd, select=("LB404",))) == []
