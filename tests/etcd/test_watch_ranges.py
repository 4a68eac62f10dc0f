"""A watch of what is left of a prefix without some others: one stream, several ranges, as complete as one of all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot
from lbctl.etcd.stubs import pb
from tests.etcd.following import Followed
from tests.etcd.proxy import TcpProxy
from tests.etcd.test_watch import compact

pytestmark = pytest.mark.e2e

SECRET = b"hunter2"
WITHOUT = (b"/b/secret/", b"/d/")
KEPT = {b"/a": b"1", b"/b/secre": b"2", b"/b/secret0": b"3", b"/c/1": b"4", b"/e": b"5"}
LEFT_OUT = {b"/b/secret/1": SECRET, b"/b/secret/x/y": SECRET, b"/d/1": SECRET}


@asynccontextmanager
async def following(endpoint: str) -> AsyncIterator[Followed]:
    async with (
        Etcd(EtcdConfig((endpoint,))) as client,
        aclosing(client.watch(b"/", without=WITHOUT)) as events,
    ):
        yield Followed(events)


async def write_at_once(etcd: Etcd, keys: Mapping[bytes, bytes]) -> None:
    puts = [pb.RequestOp(request_put=pb.PutRequest(key=key, value=value)) for key, value in keys.items()]
    request = pb.TxnRequest(success=puts)
    await etcd.session.call(lambda channel: channel.kv.Txn, request, repeatable=False)


async def test_values_of_what_is_left_out_never_come_over_the_wire(etcd: Etcd, etcd_server: EtcdServer) -> None:
    await write_at_once(etcd, KEPT | LEFT_OUT)
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)
        assert followed.state == KEPT
        for number in range(5):
            await write_at_once(etcd, LEFT_OUT | {b"/d/2": SECRET, b"/e": b"%d" % number})
        await etcd.put(b"/b/secret0", b"last")
        await followed.until(lambda me: me.state[b"/b/secret0"] == b"last" and me.state[b"/e"] == b"4")
        assert SECRET not in proxy.passed
        assert b"last" in proxy.passed
    assert followed.state == KEPT | {b"/b/secret0": b"last", b"/e": b"4"}


async def test_what_is_written_at_one_revision_in_several_ranges_arrives_whole(etcd: Etcd) -> None:
    async with aclosing(etcd.watch(b"/", without=WITHOUT)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        for number in range(20):
            await write_at_once(etcd, dict.fromkeys(KEPT, b"%d" % number))
        await followed.until(lambda me: len(me.written) == 20 * len(KEPT))
        newest = followed.seen[-1]
    assert sorted(followed.written) == sorted((key, b"%d" % number) for number in range(20) for key in KEPT)
    assert followed.state == dict.fromkeys(KEPT, b"19")
    assert isinstance(newest, Changes)
    assert newest.revision == (await etcd.status()).revision


async def test_connections_that_drop_lose_nothing_and_repeat_nothing(etcd: Etcd, etcd_server: EtcdServer) -> None:
    keys, writes = sorted(KEPT), [(b"/a", b"first")]
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)
        await etcd.put(*writes[0])
        await followed.until_kind(Changes)
        for number in range(60):
            writes.append((keys[number % len(keys)], b"%d" % number))
            await etcd.put(*writes[-1])
            if number % 20 == 10:
                await proxy.drop()
            if number % 20 == 19:
                await followed.until(lambda me, n=number: len(me.written) > n + 1)  # type: ignore[misc]
    assert sorted(followed.written) == sorted(writes)
    assert followed.count(Lost) == followed.count(Resumed) == 3
    assert followed.count(Resync) == 0


async def test_compaction_during_an_outage_is_a_resync_of_every_range(etcd: Etcd, etcd_server: EtcdServer) -> None:
    await write_at_once(etcd, KEPT)
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)
        await etcd.put(b"/a", b"seen")
        await followed.until(lambda me: me.state[b"/a"] == b"seen")
        await proxy.refuse()
        await followed.until_kind(Lost)
        await write_at_once(etcd, LEFT_OUT | {b"/c/2": b"new"})
        await etcd.delete(b"/e")
        await compact(etcd)
        await proxy.accept()
        await followed.until_kind(Resync)
        await etcd.put(b"/c/3", b"later")
        await followed.until(lambda me: b"/c/3" in me.state)
        assert SECRET not in proxy.passed
    wanted = {key: value for key, value in KEPT.items() if key != b"/e"}
    assert followed.state == wanted | {b"/a": b"seen", b"/c/2": b"new", b"/c/3": b"later"}


async def test_a_prefix_of_which_nothing_is_left_cannot_be_watched(etcd: Etcd) -> None:
    with pytest.raises(ValueError, match="no keys to watch"):
        etcd.watch(b"/d/1", without=WITHOUT)
