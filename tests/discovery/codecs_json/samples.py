"""One good registration of every layout that is known by the members of its JSON, and a way to read others."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry, Instance, Invalid

Members = dict[str, Any]


class Sample(NamedTuple):
    """A registration, and what its members have to be: text, texts, map, lists, number, flag or objects."""

    key: str
    value: Members
    kinds: dict[str, str]
    service: str

    @property
    def folder(self) -> str:
        return self.key.rpartition("/")[0] + "/"


SAMPLES = {
    "kratos": Sample(
        "/microservices/orders/1",
        {
            "id": "1",
            "name": "orders",
            "version": "v1",
            "metadata": {"weight": "3"},
            "endpoints": ["grpc://10.0.0.1:90"],
        },
        {"id": "text", "name": "text", "version": "text", "metadata": "map", "endpoints": "texts"},
        "orders",
    ),
    "go-micro": Sample(
        "/micro/registry/greeter/greeter-1",
        {
            "name": "greeter",
            "version": "latest",
            "metadata": None,
            "endpoints": [{"name": "Greeter.Hello", "request": None, "response": None, "metadata": {}}],
            "nodes": [{"metadata": {"protocol": "grpc"}, "id": "greeter-1", "address": "10.0.0.1:90"}],
        },
        {"name": "text", "version": "text", "metadata": "map", "nodes": "objects"},
        "greeter",
    ),
    "kratos-v1": Sample(
        "/kratos_etcd/demo.service/node-1",
        {
            "region": "sh",
            "zone": "sh001",
            "env": "prod",
            "appid": "demo.service",
            "hostname": "node-1",
            "addrs": ["grpc://10.0.0.1:90"],
            "version": "1.0",
            "latest_timestamp": 1755800000000000000,
            "metadata": {"weight": "3", "color": "red"},
            "status": 1,
        },
        {"zone": "text", "appid": "text", "addrs": "texts", "metadata": "map", "status": "number"},
        "demo.service",
    ),
    "kitex": Sample(
        "kitex/registry-etcd/echo/10.0.0.1:90",
        {"network": "tcp", "address": "10.0.0.1:90", "weight": 3, "tags": {"zone": "a"}},
        {"network": "text", "address": "text", "weight": "number", "tags": "map"},
        "echo",
    ),
    "hertz": Sample(
        "hertz/registry-etcd/team/api/10.0.0.1:90",
        {"network": "tcp", "address": "10.0.0.1:90", "weight": 3, "tags": None},
        {"network": "text", "address": "text", "weight": "number", "tags": "map"},
        "team/api",
    ),
    "trpc-go": Sample(
        " trpc/registry/services/trpc.test.Echo/10.0.0.1-90-12",
        {"name": "trpc.test.Echo", "id": "10.0.0.1-90-12", "address": "10.0.0.1:90", "metadata": None, "weight": 3},
        {"name": "text", "id": "text", "address": "text", "metadata": "map", "weight": "number"},
        "trpc.test.Echo",
    ),
    "dubbo-app": Sample(
        "/services/demo/10.0.0.1:90",
        {
            "ID": "10.0.0.1:90",
            "ServiceName": "demo",
            "Host": "10.0.0.1",
            "Port": 90,
            "Weight": 3,
            "Enable": True,
            "Healthy": True,
            "Metadata": {"dubbo.endpoints": '[{"port":90,"protocol":"tri"}]'},
            "ServiceMetadata": {"app": "demo"},
            "Address": "",
            "GroupName": "",
            "Tag": "",
        },
        {
            "ID": "text",
            "ServiceName": "text",
            "Host": "text",
            "Port": "number",
            "Weight": "number",
            "Enable": "flag",
            "Healthy": "flag",
            "Metadata": "map",
            "Tag": "text",
        },
        "demo",
    ),
    "grpc-lb": Sample(
        "/backend/services/test/1.0/node1",
        {
            "InstanceId": "node1",
            "Name": "test",
            "Version": "1.0",
            "Address": "10.0.0.1:90",
            "Metadata": {"weight": ["3"], "zone": ["a", "b"]},
        },
        {"InstanceId": "text", "Name": "text", "Version": "text", "Address": "text", "Metadata": "lists"},
        "test",
    ),
}


def spelled(value: object) -> bytes:
    """A value as it goes into etcd: bytes as they are, anything else as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def rows(key: str, value: object, *context: tuple[str, object]) -> list[Instance | Invalid]:
    """Read one key among others, and return what there is to show of it."""
    catalog = Catalog()
    for other, beside in (*context, (key, value)):
        catalog.put(Entry(other.encode(), spelled(beside)))
    services, invalid, _ = catalog.read()
    instances = [each for service in services for each in service.instances if each.key == key]
    return [*instances, *(flaw for flaw in invalid if flaw.key == key)]


def instance(key: str, value: object, *context: tuple[str, object]) -> Instance:
    """Read one key that is one instance."""
    (row,) = rows(key, value, *context)
    assert isinstance(row, Instance), row
    return row


def flaw(key: str, value: object, *context: tuple[str, object]) -> Invalid:
    """Read one key that cannot be used."""
    (row,) = rows(key, value, *context)
    assert isinstance(row, Invalid), row
    return row
