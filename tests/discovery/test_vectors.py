from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS
from lbctl.model import Entry

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors.json").read_text())
NOBODYS = {"kubernetes", "etcd-lock", "none"}
READ = {codec.name for codec in CODECS} | NOBODYS


def stored(vector: dict[str, Any]) -> Entry:
    value = vector["value"]
    data = b64decode(value) if vector.get("value_encoding") == "base64" else value.encode()
    return Entry(vector["key"].encode(), data, vector.get("lease", 0))


def catalog_of(vector: dict[str, Any]) -> Catalog:
    catalog = Catalog()
    for key, value in vector.get("ctx", []):
        catalog.put(Entry(key.encode(), value.encode()))
    catalog.put(stored(vector))
    return catalog


def of_kind(kind: str) -> list[Any]:
    return [
        pytest.param(vector, id=f"{vector['framework']} {vector['key'][:60]}")
        for vector in VECTORS
        if kind in vector["expect"] and vector["expect"].get("layout", vector["framework"]) in READ
    ]


@pytest.mark.parametrize("vector", of_kind("instances"))
def test_every_published_value_is_read_as_its_own_clients_read_it(vector: dict[str, Any]) -> None:
    services, invalid, _ = catalog_of(vector).read()
    expected = vector["expect"]
    assert invalid == ()
    instances = [each for service in services for each in service.instances if each.key == vector["key"]]
    assert {(each.service, each.layout) for each in instances} == {(expected["service"], expected["layout"])}
    found = [
        {
            "address": instance.address,
            "weight": instance.weight,
            "protocol": instance.protocol,
            "secure": instance.secure,
            "metadata": instance.metadata,
            **({"status": instance.status} if instance.status is not None else {}),
        }
        for instance in instances
    ]
    assert found == expected["instances"]
    assert all(instance.lease == vector.get("lease", 0) for instance in instances)


@pytest.mark.parametrize("vector", of_kind("invalid"))
def test_every_broken_value_is_a_row_with_its_code(vector: dict[str, Any]) -> None:
    _, invalid, _ = catalog_of(vector).read()
    assert [(flaw.key, flaw.code) for flaw in invalid] == [(vector["key"], vector["expect"]["code"])]


@pytest.mark.parametrize("vector", of_kind("skip"))
def test_what_is_known_to_be_no_instance_is_counted_with_the_reason(vector: dict[str, Any]) -> None:
    catalog = catalog_of(vector)
    why = {other.key.decode(): other.why for other in catalog.others()}
    assert vector["key"] in why
    assert why[vector["key"]] != "no layout has such a key and value"


@pytest.mark.parametrize("vector", of_kind("unknown"))
def test_what_nobody_claims_is_counted(vector: dict[str, Any]) -> None:
    services, invalid, foreign = catalog_of(vector).read()
    assert (services, invalid, foreign) == ((), (), 1)
