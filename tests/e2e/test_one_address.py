"""A backend that is registered under several keys, in a real run: it counts once."""

from __future__ import annotations

import pytest

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.e2e.conftest import Standing
from tests.e2e.runs import events_of, hammer

pytestmark = pytest.mark.e2e


async def test_an_address_under_several_keys_gets_one_share(demo: Standing) -> None:
    first, second, _ = demo.backends
    keys = {"a": f"{first}|1", "b": f"{first}|3", "c": f"{second}|1"}
    async with Etcd(EtcdConfig((demo.etcd,))) as etcd:
        for leaf, value in keys.items():
            await etcd.put(f"/services/twice/{leaf}".encode(), value.encode())
        try:
            run = ("/services/twice/", "-n", "400", "--policy", "smooth_wrr", "-o", "json")
            ended = await hammer(*run, etcd=demo.etcd)
        finally:
            await etcd.delete_prefix(b"/services/twice/")

    picks = {row["address"]: (row["weight"], row["picks"]) for row in ended.document["backends"]}
    assert picks == {first: (3, 300), second: (1, 100)}, ended.err
    assert (first, "registered under 2 keys: it counts once") in events_of(ended.document, "joined")
