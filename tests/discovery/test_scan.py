"""What of a big etcd is read: names first, values of what may be a registration, and never what is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.discovery.directory import follow_keys, read, survey
from lbctl.discovery.scan import MAX_VALUES, scan
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Snapshot
from lbctl.etcd.stubs import pb

pytestmark = pytest.mark.e2e

SECRETS = {
    "/apisix/ssls/1": "-----BEGIN PRIVATE KEY-----",
    "/apisix/consumers/jack": '{"key":"hunter2"}',
    "/dubbo/metadata/demo/provider": '{"host":"10.0.0.9","port":1}',
    "/apisix/plugin_metadata/kafka-logger": '{"password":"hunter2"}',
    "/registry/secrets/default/token": "hunter2",
    "/kubernetes.io/secrets/default/token": "hunter2",
    "/registry/services/endpoints/default/web": "10.0.0.9:80",
}
ECHO = {f"/services/echo/10.0.0.{n}:80": f"10.0.0.{n}:80|1" for n in range(1, 4)}


async def fill(etcd: Etcd, keys: Mapping[str, str]) -> None:
    await asyncio.gather(*(etcd.put(key.encode(), value.encode()) for key, value in keys.items()))


@pytest.fixture
async def narrow(etcd_server: EtcdServer, etcd: Etcd) -> AsyncIterator[Etcd]:
    """An etcd whose answers are at most 4 KiB long."""
    async with Etcd(EtcdConfig((etcd_server.endpoint,), max_answer=4096)) as client:
        yield client


@pytest.mark.parametrize("prefix", [None, "/", "/apisix/", "/dubbo/metadata/demo/", "/registry/"])
async def test_trees_that_hold_no_registrations_are_counted_and_never_read(etcd: Etcd, prefix: str | None) -> None:
    await fill(etcd, SECRETS | ECHO)

    scanned = await scan(etcd, prefix)

    wanted = [key for key in sorted(ECHO) if key.startswith(prefix or "")]
    assert [entry.key.decode() for entry in scanned.entries] == wanted
    counts = {part.where: part.keys for part in scanned.unread}
    everything = {"/apisix/ssls/": 1, "/apisix/consumers/": 1, "/dubbo/metadata/": 1, "/registry/": 2}
    everything |= {"/apisix/plugin_metadata/": 1, "/kubernetes.io/": 1}
    assert counts == {
        tree: count
        for tree, count in everything.items()
        if tree.startswith(prefix or "") or (prefix or "").startswith(tree)
    }
    assert (await read(etcd, prefix)).foreign == sum(counts.values())
    assert scanned.revision == (await etcd.status()).revision


async def test_keys_that_look_like_registrations_are_read_and_only_some_of_the_others(etcd: Etcd) -> None:
    await fill(etcd, {f"app/data/{n:02}": "x" for n in range(30)} | {f"single{n}": "x" for n in range(5)})
    await fill(etcd, {"top": "rpcx_path", "top/Arith/tcp@10.0.0.1:80": "", "zoo/x/10.0.0.1:80": "10.0.0.1:80"})
    await etcd.put(b"zoo/y/z", b"x", await etcd.grant(60))

    scanned = await scan(etcd, None, max_values=4)

    assert [entry.key for entry in scanned.entries] == [
        b"app/data/00",
        b"app/data/01",
        b"app/data/02",
        b"app/data/03",
        b"top",
        b"top/Arith/tcp@10.0.0.1:80",
        b"zoo/x/10.0.0.1:80",
        b"zoo/y/z",
    ]
    assert [part.keys for part in scanned.unread] == [26, 5]
    assert scanned.notes == ("26 of too many keys outside known roots were not looked into; narrow with --prefix",)
    assert (await read(etcd, max_values=4)).foreign == 39 - 2  # all but the instances


@pytest.mark.slow
async def test_of_a_hundred_thousand_keys_few_values_are_read_and_no_registration_is_missed(etcd: Etcd) -> None:
    others = [f"app/{n % 50}/item{n}" for n in range(100_000)]
    for first in range(0, len(others), 100):
        puts = (pb.PutRequest(key=key.encode(), value=b"x" * 100) for key in others[first : first + 100])
        request = pb.TxnRequest(success=[pb.RequestOp(request_put=put) for put in puts])
        await etcd.session.call(lambda channel: channel.kv.Txn, request, repeatable=False)
    late = {f"zoo/{n % 5}/10.0.{n // 250}.{n % 250}:80": f"10.0.{n // 250}.{n % 250}:80" for n in range(1000)}
    await fill(etcd, ECHO | late)
    told: list[int] = []

    scanned = await scan(etcd, None, tell=told.append)

    assert told[-1] == len(others) + len(late) + len(ECHO)
    assert len(scanned.entries) == MAX_VALUES + len(late) + len(ECHO)
    assert sum(part.keys for part in scanned.unread) == len(others) - MAX_VALUES
    assert {len(service.instances) for service in (await read(etcd)).services} == {200, 3}


async def test_what_was_seen_is_told_while_it_is_read(etcd: Etcd) -> None:
    await fill(etcd, ECHO | {"a/b/c": "x"})
    told: list[int] = []

    await scan(etcd, None, tell=told.append)

    assert told == sorted(told)
    assert told[-1] == 4


async def test_answers_that_are_too_large_are_asked_for_in_parts(etcd: Etcd, narrow: Etcd) -> None:
    values = {f"/services/echo/10.0.0.{n}:80": f"10.0.0.{n}:80|{'0' * 300}1" for n in range(1, 60)}
    await fill(etcd, values)
    await fill(etcd, {f"team/echo/10.0.0.{n}:80": "x" * 300 for n in range(1, 60)})

    scanned = await scan(narrow, None)

    assert len(scanned.entries) == 118
    assert scanned.oversized == ()


async def test_a_value_that_is_too_large_is_a_row_with_the_reason(etcd: Etcd, narrow: Etcd) -> None:
    large = "x" * 5000
    await fill(etcd, ECHO | {"/services/echo/big": large, "/services/zoo/big": large, "team/a/10.0.0.1:80": large})
    await fill(etcd, {"team/a/10.0.0.2:80": "10.0.0.2:80", "top": large, "team/a/b/c": "x"})

    registry = await read(narrow)

    assert {(service.name, len(service.instances)) for service in registry.services} == {("echo", 3), ("team/a", 1)}
    assert [(flaw.key, flaw.code) for flaw in registry.invalid] == [
        ("/services/echo/big", "too_large"),
        ("/services/zoo/big", "too_large"),
        ("team/a/10.0.0.1:80", "too_large"),
    ]
    assert registry.foreign == 2
    assert registry.revision == (await etcd.status()).revision


async def test_a_watch_of_everything_begins_with_what_a_scan_reads(etcd: Etcd) -> None:
    await fill(etcd, SECRETS | ECHO)
    async with aclosing(follow_keys(etcd, None)) as events:
        snapshot = await anext(events)
        await fill(etcd, dict.fromkeys(SECRETS, "hunter3"))
        await etcd.put(b"/services/echo/10.0.0.9:80", b"10.0.0.9:80|1")
        changes = await anext(events)

    assert isinstance(snapshot, Snapshot)
    assert [entry.key.decode() for entry in snapshot.entries] == sorted(ECHO)
    assert isinstance(changes, Changes)
    assert [change.key for change in changes.changes] == [b"/services/echo/10.0.0.9:80"]


@pytest.mark.parametrize("prefix", ["/registry", "/dubbo/metadata/demo"])
def test_a_tree_without_registrations_cannot_be_watched(etcd: Etcd, prefix: str) -> None:
    with pytest.raises(UsageError, match="is never read: "):
        follow_keys(etcd, prefix)


async def test_a_survey_tells_of_every_key_that_is_no_registration(etcd: Etcd) -> None:
    await fill(etcd, SECRETS | ECHO | {"conf/db": "db:5432", "conf/app": "x", "/services/echo": "", "top": "x"})
    await etcd.put(b"conf/\xff", b"x")

    found = await survey(etcd)

    assert [(service.name, service.layout) for service in found.possible] == [("conf", "plain")]
    assert [other.key for other in found.others] == [b"/services/echo", b"conf/app", b"conf/\xff"]
    assert [other.why for other in found.others][1:] == ["no layout has such a key and value", "the key is not UTF-8"]
    assert found.registry.foreign == len(found.possible) + len(found.others) + sum(part.keys for part in found.unread)
    assert not any("hunter2" in str(part) for part in found)
