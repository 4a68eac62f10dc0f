from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["key"] for vector in VECTORS])
def test_every_published_value_is_read_as_its_own_clients_read_it(vector: dict[str, Any]) -> None:
    catalog = Catalog()
    for key, value in vector.get("ctx", []):
        catalog.put(Entry(key.encode(), value.encode()))
    catalog.put(Entry(vector["key"].encode(), vector["value"].encode(), vector.get("lease", 0)))
    services, invalid, foreign = catalog.read()
    expected = vector["expect"]

    if "code" in expected:
        assert [(flaw.key, flaw.code) for flaw in invalid] == [(vector["key"], expected["code"])]
        return
    assert (invalid, foreign) == ((), 0)
    assert [(service.name, service.layout) for service in services] == [(expected["service"], expected["layout"])]
    instances = [instance for instance in services[0].instances if instance.key == vector["key"]]
    assert [
        {
            "address": instance.address,
            "weight": instance.weight,
            "protocol": instance.protocol,
            "secure": instance.secure,
            "metadata": instance.metadata,
        }
        for instance in instances
    ] == expected["instances"]
    assert all(instance.lease == vector.get("lease", 0) for instance in instances)
