"""``lbctl watch -o jsonl`` as a process, through what happens to its service and to its etcd."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.cli.processes import lbctl, line, schema
from tests.etcd.members import member
from tests.etcd.proxy import TcpProxy
from tests.warm import Process

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEY, OTHER = b"/services/echo/a", b"/services/echo/b"


async def told(process: Process, count: int) -> list[dict[str, Any]]:
    """The next events, each of which fits the schema."""
    documents = [json.loads(await line(process)) for _ in range(count)]
    for document in documents:
        schema("watch").validate(document)
    return documents


def words(documents: list[dict[str, Any]]) -> list[tuple[str, str | None, str]]:
    return [(each["kind"], each["backend"], each["text"]) for each in documents]


async def test_every_event_says_whether_the_registry_is_followed_and_up_to_which_revision() -> None:
    async with member() as server, TcpProxy(server.port) as proxy, Etcd(EtcdConfig((server.endpoint,))) as etcd:
        first = await etcd.put(KEY, b"127.0.0.1:1|5")
        async with lbctl("--endpoints", proxy.endpoint, "watch", "echo", "--no-check", "-o", "jsonl") as process:
            begun = await told(process, 2)
            for _ in range(20):
                await etcd.put(KEY, b"127.0.0.1:1|5")  # the same again is no event
            moved = await etcd.put(KEY, b"127.0.0.1:2|5")
            assert words(await told(process, 2)) == [
                ("left", "127.0.0.1:1", f"its key has another address now (rev {moved})"),
                ("joined", "127.0.0.1:2", f"weight 5, no lease (rev {moved})"),
            ]
            await etcd.delete(KEY)
            (gone,) = await told(process, 1)
            again = await etcd.put(KEY, b"127.0.0.1:2|5")
            (back,) = await told(process, 1)
            await proxy.refuse()
            (lost,) = await told(process, 1)
            await etcd.delete(KEY)
            await etcd.put(KEY, b"127.0.0.1:2|5")
            now = await etcd.put(OTHER, b"127.0.0.1:3|1")
            await proxy.accept()
            resumed, *missed = await told(process, 3)

    assert words(begun) == [
        ("resync", None, f"synced at rev {first}: 1 instance"),
        ("joined", "127.0.0.1:1", f"weight 5, no lease, there since rev {first}"),
    ]
    assert (gone["kind"], gone["revision"]) == ("left", again - 1)
    assert (back["kind"], back["revision"]) == ("joined", again)
    assert lost["text"].startswith(f"registry lost: etcd {proxy.endpoint}: ")
    assert lost["text"].endswith(f"what is shown may be old (rev {again})")
    assert (lost["synced"], lost["stale_s"], lost["revision"]) == (False, 0.0, again)
    assert resumed["text"].startswith(f"synced again at rev {again} after ")
    assert resumed["text"].endswith(f", by {proxy.endpoint}")
    assert words(missed) == [
        ("log", "127.0.0.1:2", f"registered again (rev {now - 1})"),
        ("joined", "127.0.0.1:3", f"weight 1, no lease (rev {now})"),
    ]
    for document in (*begun, gone, back, resumed, *missed):
        assert (document["synced"], document["stale_s"]) == (True, None)
