from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.discovery.changes import Op
from lbctl.discovery.directory import Update, find, follow, normal_prefix, read
from lbctl.discovery.leases import resolve
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

pytestmark = pytest.mark.e2e

UPDATE = b'{"Op":0,"Addr":"127.0.0.1:9","Metadata":null}'


async def register(etcd: Etcd, port: int, weight: object = 1, lease: int = 0, service: str = "echo") -> None:
    key, value = f"/services/{service}/127.0.0.1:{port}", f"127.0.0.1:{port}|{weight}"
    await etcd.put(key.encode(), value.encode(), lease)


class Updates:
    """The updates of one service so far, read with a bound."""

    def __init__(self, source: AsyncIterator[Update]) -> None:
        self._source = source
        self.seen: list[Update] = []

    async def until(self, enough: Callable[[Update], bool]) -> Update:
        async with asyncio.timeout(20):
            while not (self.seen and enough(self.seen[-1])):
                self.seen.append(await anext(self._source))
        return self.seen[-1]

    def notices(self) -> list[str]:
        return [update.notice.kind for update in self.seen if update.notice]


@asynccontextmanager
async def following(etcd: Etcd, name: str = "echo") -> AsyncIterator[Updates]:
    service = find(await read(etcd), name)
    async with aclosing(follow(etcd, service)) as source:
        yield Updates(source)


def ports(update: Update) -> list[int]:
    return [instance.endpoint.port for instance in update.service.instances]


async def test_services_are_found_wherever_their_values_tell_and_the_rest_is_counted(etcd: Etcd) -> None:
    await register(etcd, 1, 5)
    await register(etcd, 2, service="echo-b")
    await etcd.put(b"helloworld/e1", UPDATE)
    await etcd.put(b"/deep/er/svc/e1", UPDATE)
    await etcd.put(b"/registry/pods/default/x", UPDATE)
    await etcd.put(b"/conf/app.yaml", b"port: 1")
    await etcd.put(b"leader", b"")
    await etcd.put(b"/services/echo/bad", b"127.0.0.1|1")

    registry = await read(etcd)

    assert [(service.name, service.layout, len(service.instances)) for service in registry.services] == [
        ("deep/er/svc", "etcd-naming", 1),
        ("echo", "seed", 1),
        ("echo-b", "seed", 1),
        ("helloworld", "etcd-naming", 1),
    ]
    assert [(flaw.key, flaw.code) for flaw in registry.invalid] == [("/services/echo/bad", "no_port")]
    assert (registry.foreign, registry.notes) == (3, ())
    assert registry.revision == (await etcd.status()).revision


async def test_a_prefix_narrows_the_reading_to_whole_segments(etcd: Etcd) -> None:
    await register(etcd, 1, service="demo")
    await register(etcd, 2, service="demo-b")

    registry = await read(etcd, "/services/demo")

    assert [service.name for service in registry.services] == ["demo"]


async def test_an_empty_etcd_is_an_empty_registry(etcd: Etcd) -> None:
    registry = await read(etcd)

    assert (registry.services, registry.invalid, registry.foreign) == ((), (), 0)


async def test_a_keyspace_above_the_limit_is_cut_counted_and_told(etcd: Etcd) -> None:
    await asyncio.gather(*(etcd.put(b"app/%02d" % number, b"x") for number in range(25)))
    await register(etcd, 1)

    registry = await read(etcd, max_values=10)

    assert [service.name for service in registry.services] == ["echo"]
    assert registry.foreign == 25
    assert len(registry.notes) == 1
    assert "--prefix" in registry.notes[0]


def test_a_prefix_always_ends_at_a_separator() -> None:
    assert normal_prefix("/s/demo") == "/s/demo/"
    assert normal_prefix("/s/demo/") == "/s/demo/"
    assert normal_prefix("") is None
    assert normal_prefix(None) is None
    with pytest.raises(UsageError):
        normal_prefix("/s/\x1b")


async def test_a_followed_service_tells_who_joined_left_and_changed(etcd: Etcd) -> None:
    await register(etcd, 1, 5)
    async with following(etcd) as updates:
        first = await updates.until(lambda update: ports(update) == [1])
        assert first.changes == ()
        await register(etcd, 2)
        joined = await updates.until(lambda update: ports(update) == [1, 2])
        await register(etcd, 1, 7)
        weighed = await updates.until(lambda update: update.service.instances[0].weight == 7)
        await etcd.delete(b"/services/echo/127.0.0.1:2")
        left = await updates.until(lambda update: ports(update) == [1])
        await register(etcd, 1, -3)
        broken = await updates.until(lambda update: bool(update.invalid))
        await register(etcd, 1, 7)
        healed = await updates.until(lambda update: not update.invalid)

    ops = [[change.op for change in update.changes] for update in (joined, weighed, left, broken, healed)]
    assert ops == [[Op.JOINED], [Op.WEIGHT], [Op.LEFT], [Op.LEFT, Op.INVALID], [Op.JOINED]]
    assert (ports(first), ports(joined), ports(healed)) == ([1], [1, 2], [1])  # what was given out stays as it was
    revisions = [update.revision for update in updates.seen]
    assert revisions == sorted(revisions)
    assert all(update.synced for update in updates.seen)


async def test_the_first_update_tells_what_changed_since_the_service_was_read(etcd: Etcd) -> None:
    await register(etcd, 1)
    service = find(await read(etcd), "echo")
    await register(etcd, 2)
    async with aclosing(follow(etcd, service)) as source:
        first = await anext(source)

    assert [(change.op, change.key) for change in first.changes] == [(Op.JOINED, "/services/echo/127.0.0.1:2")]


async def test_writing_the_same_value_again_changes_nothing_but_the_revision(etcd: Etcd) -> None:
    await register(etcd, 1)
    async with following(etcd) as updates:
        await updates.until(lambda update: ports(update) == [1])
        await register(etcd, 1)
        before = updates.seen[-1].revision
        again = await updates.until(lambda update: update.revision > before)

    assert again.changes == ()
    assert ports(again) == [1]


async def test_two_services_of_one_process_are_told_apart_by_their_keys_and_not_by_its_id(etcd: Etcd) -> None:
    def described(name: str, port: int) -> bytes:
        text = {"id": "one-process", "name": name, "version": "v1", "metadata": {}}
        return json.dumps({**text, "endpoints": [f"grpc://127.0.0.1:{port}"]}).encode()

    await etcd.put(b"/microservices/orders/one-process", described("orders", 1))
    await etcd.put(b"/microservices/users/one-process", described("users", 2))
    async with following(etcd, "users") as updates:
        await updates.until(lambda update: ports(update) == [2])
        await etcd.delete(b"/microservices/orders/one-process")
        await etcd.put(b"/microservices/users/one-process", described("users", 3))
        moved = await updates.until(lambda update: ports(update) == [3])

    assert [[change.op for change in update.changes] for update in updates.seen] == [[], [Op.MOVED]]
    assert moved.service.name == "users"


async def test_a_service_whose_last_instance_leaves_is_empty_and_can_fill_again(etcd: Etcd) -> None:
    await register(etcd, 1)
    async with following(etcd) as updates:
        await updates.until(lambda update: ports(update) == [1])
        await etcd.delete(b"/services/echo/127.0.0.1:1")
        await updates.until(lambda update: ports(update) == [])
        await register(etcd, 2)
        await updates.until(lambda update: ports(update) == [2])


async def test_a_service_read_under_a_prefix_is_followed_by_the_same_names(etcd: Etcd) -> None:
    await etcd.put(b"/prod/echo/b1", b"127.0.0.1:1|1")
    for prefix in ("/prod", "/prod/echo"):
        service = find(await read(etcd, prefix), "echo")
        async with aclosing(follow(etcd, service)) as source:
            update = await anext(source)
        assert (update.service, update.changes) == (service, ())


@pytest.mark.parametrize(
    ("layout", "named_by", "name"), [("plain", "", "conf"), (None, "key", "v1/user"), (None, "value", "alpha")]
)
async def test_a_service_read_in_a_way_of_one_s_own_is_followed_so(
    etcd: Etcd, layout: str | None, named_by: str, name: str
) -> None:
    await etcd.put(b"conf/db", b"db:5432")
    await etcd.put(b"/services/v1/user/x", b'{"name":"user","addr":"10.0.0.1:80"}')
    await etcd.put(b"team/a/x", b'{"Op":0,"Addr":"10.0.0.1:80","Metadata":{"name":"alpha"}}')
    service = find(await read(etcd, layout=layout, named_by=named_by), name)

    async with aclosing(follow(etcd, service, layout, named_by)) as source:
        update = await anext(source)

    assert (update.service, update.changes, update.invalid) == (service, (), ())
    assert len(service.instances) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"user.rpc/7587878123456782001", b"10.0.0.1:80"),
        (b"/prod/echo/10.0.0.1:80", b"10.0.0.1:80"),
        (b"/services/echo/x", b"10.0.0.1:80|5"),
    ],
)
async def test_the_same_keys_are_unusable_whether_a_service_is_read_or_followed(
    etcd: Etcd, key: bytes, value: bytes
) -> None:
    await etcd.put(key, value)
    for leaf, other in ((b"note", b"hello"), (b"note.json", b"{}"), (b"10.0.0.2:80", b"?"), (b"empty", b"")):
        await etcd.put(key[: key.rfind(b"/") + 1] + leaf, other)
    registry = await read(etcd)

    async with aclosing(follow(etcd, registry.services[0])) as source:
        update = await anext(source)

    assert (update.service, update.invalid) == (registry.services[0], registry.invalid)


async def test_keys_of_a_service_nested_inside_do_not_count_as_its_own(etcd: Etcd) -> None:
    await register(etcd, 1)
    async with following(etcd) as updates:
        await updates.until(lambda update: ports(update) == [1])
        await etcd.put(b"/services/echo/canary/127.0.0.1:7", b"127.0.0.1:7|1")
        await register(etcd, 2)
        await updates.until(lambda update: ports(update) == [1, 2])


async def test_a_restart_of_etcd_is_two_notices_and_no_loss(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        await register(etcd, 1)
        async with following(etcd) as updates:
            await updates.until(lambda update: ports(update) == [1])
            await register(etcd, 2)
            await updates.until(lambda update: ports(update) == [1, 2])
            await own_etcd.kill()
            lost = await updates.until(lambda update: not update.synced)
            await own_etcd.restart()
            await register(etcd, 3)
            await updates.until(lambda update: ports(update) == [1, 2, 3])

    assert ports(lost) == [1, 2]  # the last known state
    assert lost.notice is not None
    assert lost.notice.text.endswith("; what is shown may be old")
    assert updates.notices() == ["lost", "resumed"]
    assert updates.seen[-1].synced


async def test_an_expired_lease_takes_its_instance_away(etcd: Etcd) -> None:
    lease = await etcd.grant(1)
    await register(etcd, 1)
    await register(etcd, 2, lease=lease)
    async with following(etcd) as updates:
        await updates.until(lambda update: ports(update) == [1, 2])
        gone = await updates.until(lambda update: ports(update) == [1])

    assert [change.op for change in gone.changes] == [Op.LEFT]


async def test_each_lease_is_resolved_once_and_gone_ones_are_marked(etcd: Etcd) -> None:
    alive, gone = await etcd.grant(30), await etcd.grant(30)
    await etcd.revoke(gone)

    leases = await resolve(etcd, [alive, gone, alive, 0])

    assert set(leases) == {alive, gone}
    assert leases[alive].granted_s == 30
    assert 0 < leases[alive].ttl_s <= 30
    assert not leases[alive].expired
    assert leases[gone].expired
    assert leases[alive].hex_id == f"{alive:x}"
