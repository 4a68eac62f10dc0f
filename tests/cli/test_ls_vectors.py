"""Every published registration, and many that went wrong, put into a real etcd and listed by a command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.stubs import pb
from tests.cli.conftest import Lbctl
from tests.discovery.mutants import VECTORS, Stored, mutants, stored
from tests.discovery.test_fuzz import LARGE, is_tame

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("at")]

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "services.schema.json"
Fill = Callable[[Sequence[Stored]], None]
FIELDS = ("address", "weight", "protocol", "secure", "metadata")


@pytest.fixture
def fill(etcd_server: EtcdServer) -> Iterator[Fill]:
    """Fill the session's etcd with exactly these keys, each under the lease that it says."""

    async def filled(wanted: Sequence[Stored]) -> None:
        async with Etcd(EtcdConfig((etcd_server.endpoint,))) as etcd:
            await etcd.delete_prefix(b"")
            for lease in {each.lease for each in wanted if each.lease}:
                if await etcd.time_to_live(lease) is None:
                    request = pb.LeaseGrantRequest(TTL=600, ID=lease)
                    await etcd.session.call(lambda channel: channel.lease.LeaseGrant, request, repeatable=False)
            for key, value, lease in wanted:
                await etcd.put(key, value, lease)

    yield lambda wanted: asyncio.run(filled(wanted))
    asyncio.run(filled(()))


def listed(lbctl: Lbctl) -> dict[str, Any]:
    said = lbctl("ls", "--all", "-o", "json")
    assert said.status == 0, said.err
    document: dict[str, Any] = json.loads(said.out)
    return document


@pytest.mark.parametrize(
    "vector", [pytest.param(each, id=f"{each['framework']} {each['key'][:60]}") for each in VECTORS]
)
def test_a_published_registration_is_listed_as_it_should_be(lbctl: Lbctl, fill: Fill, vector: dict[str, Any]) -> None:
    beside = [Stored(key.encode(), value.encode(), 0) for key, value in vector.get("ctx", [])]
    fill([*beside, stored(vector)])

    document = listed(lbctl)

    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    expected, key = vector["expect"], vector["key"]
    found = [
        (service["name"], service["layout"], {name: each[name] for name in FIELDS}, each["status"])
        for service in document["services"]
        for each in service["instances"]
        if each["key"] == key
    ]
    assert found == [
        (expected["service"], expected["layout"], {name: each[name] for name in FIELDS}, each.get("status"))
        for each in expected.get("instances", ())
    ]
    flaws = [flaw["code"] for flaw in document["invalid"] if flaw["key"] == key]
    assert flaws == ([expected["code"]] if "invalid" in expected else [])
    if "skip" in expected or "unknown" in expected:
        others = [each["key"] for each in document["others"]]
        trees = [tree["where"] for tree in document["unread"] if tree["where"]]
        assert key in others or key.startswith(tuple(trees))
        assert document["other_keys"] >= 1


@pytest.mark.parametrize("seed", range(2))
def test_nothing_that_went_wrong_ends_a_listing_or_steers_the_terminal(lbctl: Lbctl, fill: Fill, seed: int) -> None:
    # A lease of another key's is none here: etcd refuses it.
    broken = {each.key: each._replace(lease=0) for each in islice(mutants(Random(1000 + seed)), 200)}
    fill([*broken.values(), Stored(b"team/echo/large", LARGE, 0), Stored(b"/services/echo/large", LARGE, 0)])

    lines = [("ls",), ("ls", "--all"), *(("ls", "--all", "-o", output) for output in ("wide", "json", "yaml"))]
    lines += [("ls", "-o", output) for output in ("csv", "name")]
    lines += [("ls", service["name"], "-o", "wide") for service in listed(lbctl)["services"][:10] if service["name"]]
    lines += [("ls", "--explain", key.decode()) for key in list(broken)[:10] if is_argument(key)]
    for line in lines:
        said = lbctl(*line)
        assert said.status in (0, 4), (line, said.err)  # a name may be of several services
        assert is_tame(said.out), line
        assert is_tame(said.err), line


def is_argument(key: bytes) -> bool:
    """Whether a command line can have it as the value of an option."""
    return key.isascii() and b"\0" not in key and not key.startswith(b"-")
