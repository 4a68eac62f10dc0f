from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot
from lbctl.etcd.stubs import pb
from tests.etcd.following import Followed
from tests.etcd.proxy import TcpProxy

pytestmark = pytest.mark.e2e

PREFIX = b"/w/"


@asynccontextmanager
async def following(endpoint: str, prefix: bytes = PREFIX) -> AsyncIterator[Followed]:
    async with Etcd(EtcdConfig((endpoint,))) as client, aclosing(client.watch(prefix)) as events:
        yield Followed(events)


@asynccontextmanager
async def writing(endpoint: str) -> AsyncIterator[Etcd]:
    async with Etcd(EtcdConfig((endpoint,))) as client:
        yield client


async def compact(etcd: Etcd) -> None:
    status = await etcd.status()
    request = pb.CompactionRequest(revision=status.revision)
    await etcd.session.call(lambda channel: channel.kv.Compact, request, repeatable=False)


async def test_a_watch_starts_with_everything_and_goes_on_with_changes(etcd: Etcd) -> None:
    await etcd.put(b"/w/1", b"a")
    await etcd.put(b"/w-other/1", b"a")
    async with aclosing(etcd.watch(PREFIX)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        assert followed.state == {b"/w/1": b"a"}

        await etcd.put(b"/w/2", b"b")
        await etcd.delete(b"/w/1")
        last = await etcd.put(b"/w/\xff\xfe", b"")
        await followed.until(lambda me: b"/w/\xff\xfe" in me.state)

    assert followed.state == {b"/w/2": b"b", b"/w/\xff\xfe": b""}
    newest = followed.seen[-1]
    assert isinstance(newest, Changes)
    assert newest.revision == last


async def test_what_is_written_between_the_listing_and_the_watch_is_not_lost(etcd: Etcd) -> None:
    async with aclosing(etcd.watch(PREFIX)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)  # the generator rests here: the watch is not open yet
        await etcd.put(b"/w/between", b"v")
        await followed.until(lambda me: b"/w/between" in me.state)


async def test_the_keys_of_a_longer_name_do_not_wake_the_watch(etcd: Etcd) -> None:
    async with aclosing(etcd.watch(b"/s/demo/")) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        await etcd.put(b"/s/demo-b/1", b"foreign")
        await etcd.put(b"/s/demo/1", b"ours")
        await followed.until_kind(Changes)

    assert followed.written == [(b"/s/demo/1", b"ours")]


@pytest.mark.parametrize("prefix", [b"", b"/p\xff", b"\xff\xff"])
async def test_a_prefix_of_any_bytes_is_followed_and_nothing_beside_it(etcd: Etcd, prefix: bytes) -> None:
    keys = [
        b"/o",
        b"/p",
        b"/p\xff",
        b"/p\xff\xff",
        b"/q",
        b"/q\xff",
        b"\xff",
        b"\xff\xff",
        b"\xff\xff\x00",
        b"\xff\xff\xff",
    ]
    async with aclosing(etcd.watch(prefix)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        for key in keys:
            await etcd.put(key, b"v")
        expected = [key for key in keys if key.startswith(prefix)]
        await followed.until(lambda me: len(me.written) >= len(expected))
        last = prefix + b"\xff\xff\xff\xff"
        await etcd.put(last, b"v")
        await followed.until(lambda me: last in me.state)

    assert [key for key, _ in followed.written] == [*expected, last]


async def test_killing_etcd_is_one_break_and_one_return_and_nothing_is_lost(own_etcd: EtcdServer) -> None:
    async with writing(own_etcd.endpoint) as etcd, following(own_etcd.endpoint) as followed:
        await followed.until_kind(Snapshot)
        await etcd.put(b"/w/before", b"1")
        await followed.until(lambda me: b"/w/before" in me.state)
        await own_etcd.kill()
        await followed.until_kind(Lost)
        await own_etcd.restart()
        await etcd.put(b"/w/after", b"2")
        await followed.until(lambda me: b"/w/after" in me.state)

    assert followed.written == [(b"/w/before", b"1"), (b"/w/after", b"2")]
    assert (followed.count(Lost), followed.count(Resumed), followed.count(Resync)) == (1, 1, 0)


async def test_dropped_connections_lose_and_repeat_nothing(etcd: Etcd, etcd_server: EtcdServer) -> None:
    writes = [(b"/w/%d" % (number % 7), b"%d" % number) for number in range(300)]
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)
        await etcd.put(*writes[0])
        await followed.until(lambda me: len(me.written) == 1)  # it is watching now
        for number, (key, value) in enumerate(writes[1:], start=1):
            if number % 60 == 30:
                await proxy.drop()
            await etcd.put(key, value)
            if number % 60 == 59:
                await followed.until(lambda me, n=number: len(me.written) > n)  # type: ignore[misc]
        await followed.until(lambda me: me.written[-1:] == writes[-1:])

    assert followed.written == writes
    assert followed.count(Lost) == followed.count(Resumed) == 5


@pytest.mark.slow
@pytest.mark.parametrize("cut_after", [60, 50_000, 350_000])
async def test_a_cut_inside_a_long_catch_up_loses_nothing(etcd: Etcd, etcd_server: EtcdServer, cut_after: int) -> None:
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)  # not watching yet: what follows is a backlog
        for first in range(0, 4000, 100):
            await asyncio.gather(*(etcd.put(b"/w/%04d" % n, b"x" * 100) for n in range(first, first + 100)))
        proxy.cut_next_after = cut_after
        await followed.until(lambda me: len(me.written) >= 4000)

    assert len(followed.written) == len(dict(followed.written)) == 4000
    assert followed.count(Lost) == followed.count(Resumed) == 1


async def test_compaction_during_an_outage_is_a_resync_with_the_difference(etcd: Etcd, etcd_server: EtcdServer) -> None:
    for key in (b"/w/stays", b"/w/goes", b"/w/changes"):
        await etcd.put(key, b"old")
    async with TcpProxy(etcd_server.port) as proxy, following(proxy.endpoint) as followed:
        await followed.until_kind(Snapshot)
        await etcd.put(b"/w/stays", b"new")
        await followed.until(lambda me: me.state[b"/w/stays"] == b"new")
        await proxy.refuse()
        await followed.until_kind(Lost)
        for number in range(50):
            await etcd.put(b"/w/changes", b"%d" % number)
        await etcd.delete(b"/w/goes")
        await etcd.put(b"/w/comes", b"v")
        await compact(etcd)
        await proxy.accept()
        await followed.until_kind(Resync)
        resync = followed.seen[-1]
        await etcd.put(b"/w/later", b"v")
        await followed.until(lambda me: b"/w/later" in me.state)

    assert isinstance(resync, Resync)
    assert "compacted" in resync.reason
    changed = {change.key: change.entry and change.entry.value for change in resync.changes}
    assert changed == {b"/w/goes": None, b"/w/changes": b"49", b"/w/comes": b"v"}
    assert followed.count(Lost) == 1


async def test_a_batch_above_four_mebibytes_arrives(etcd: Etcd) -> None:
    async with aclosing(etcd.watch(PREFIX)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        await asyncio.gather(*(etcd.put(b"/w/%d" % number, b"x" * 100_000) for number in range(60)))
        await followed.until(lambda me: len(me.written) == 60)

    assert {len(value) for _, value in followed.written} == {100_000}


async def test_a_watch_begun_while_etcd_is_down_starts_when_it_is_up(own_etcd: EtcdServer) -> None:
    await own_etcd.kill()
    async with following(own_etcd.endpoint) as followed:
        await followed.until_kind(Lost)
        lost = followed.seen[0]
        await own_etcd.restart()
        await followed.until_kind(Resumed)

    assert isinstance(lost, Lost)
    assert lost.endpoint == own_etcd.endpoint
    assert lost.reason.endswith("did not answer within 2s (connection refused)")
    assert [type(event) for event in followed.seen] == [Lost, Snapshot, Resumed]


async def test_another_store_at_the_same_address_is_read_anew(own_etcd: EtcdServer) -> None:
    async with writing(own_etcd.endpoint) as etcd:
        for number in range(20):
            await etcd.put(b"/w/old", b"%d" % number)
    async with following(own_etcd.endpoint) as followed:
        await followed.until_kind(Snapshot)
        anext_event = asyncio.create_task(followed.until_kind(Lost))
        await asyncio.sleep(0)
        await own_etcd.kill()
        await anext_event
        async with await EtcdServer.start(port=own_etcd.port) as other, writing(other.endpoint) as etcd:
            await etcd.put(b"/w/new", b"v")
            await followed.until(lambda me: b"/w/new" in me.state)
            assert followed.state == {b"/w/new": b"v"}
            assert followed.count(Resync) == 1


async def test_the_watch_moves_to_an_endpoint_that_lives(own_etcd: EtcdServer, etcd: Etcd) -> None:
    config = EtcdConfig((own_etcd.endpoint, etcd.endpoints[0]))
    async with Etcd(config) as client, aclosing(client.watch(PREFIX)) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        gone = asyncio.create_task(followed.until_kind(Lost))
        await own_etcd.kill()
        await gone
        await followed.until(lambda me: me.count(Resumed) == 1)

    resumed = followed.seen[-1]
    assert isinstance(resumed, Resumed)
    assert resumed.endpoint == etcd.endpoints[0]


async def test_a_silent_connection_is_noticed_by_keepalive(etcd: Etcd, etcd_server: EtcdServer) -> None:
    async with TcpProxy(etcd_server.port) as proxy:
        config = EtcdConfig((proxy.endpoint,), keepalive_s=0.3, keepalive_timeout_s=0.3)
        async with Etcd(config) as client, aclosing(client.watch(PREFIX)) as events:
            followed = Followed(events)
            await followed.until_kind(Snapshot)
            await etcd.put(b"/w/1", b"v")
            await followed.until(lambda me: b"/w/1" in me.state)
            proxy.silence()
            await followed.until_kind(Lost)
            await proxy.drop()
            await etcd.put(b"/w/2", b"v")
            await followed.until(lambda me: b"/w/2" in me.state)


async def test_closing_the_client_ends_its_watches(etcd_server: EtcdServer) -> None:
    async def drain(client: Etcd, started: asyncio.Event) -> int:
        count = 0
        async with aclosing(client.watch(PREFIX)) as events:
            async for _ in events:
                count += 1
                started.set()
        return count

    async with Etcd(EtcdConfig((etcd_server.endpoint,))) as client:
        started = [asyncio.Event() for _ in range(15)]
        watches = [asyncio.create_task(drain(client, event)) for event in started]
        for event in started:
            await event.wait()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*watches) == [1] * 15


async def test_cancelling_the_reader_cancels_it_at_once(etcd: Etcd) -> None:
    started = asyncio.Event()

    async def drain() -> None:
        async with aclosing(etcd.watch(PREFIX)) as events:
            async for _ in events:
                started.set()

    watch = asyncio.create_task(drain())
    await started.wait()
    watch.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await watch
