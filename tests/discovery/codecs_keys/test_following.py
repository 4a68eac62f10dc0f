"""Services whose prefix is not the folder of their keys, read from etcd and followed there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest

from lbctl.discovery.changes import Op
from lbctl.discovery.directory import Update, find, follow, read
from lbctl.etcd.client import Etcd

pytestmark = pytest.mark.e2e

PROVIDER = b'{"address":"127.0.0.1:%d","weight":%d}'


def nodes(**weights: int) -> bytes:
    listed = ",".join(f'"127.0.0.1:{name[1:]}":{weight}' for name, weight in weights.items())
    return f'{{"scheme":"grpc","nodes":{{{listed}}}}}'.encode()


def ports(update: Update) -> list[int]:
    return [instance.endpoint.port for instance in update.service.instances]


async def until(source: AsyncGenerator[Update, None], enough: Callable[[Update], bool]) -> Update:
    async with asyncio.timeout(20):
        async for update in source:
            if enough(update):
                return update
    raise AssertionError("the updates ended")


async def test_an_upstream_is_followed_alone_though_others_keys_begin_as_its_own(etcd: Etcd) -> None:
    await etcd.put(b"/apisix/upstreams/7", nodes(p1=1))
    await etcd.put(b"/apisix/upstreams/77", nodes(p2=1))
    service = find(await read(etcd), "7")
    async with aclosing(follow(etcd, service)) as source:
        first = await anext(source)
        await etcd.put(b"/apisix/upstreams/77", nodes(p3=1))
        await etcd.put(b"/apisix/upstreams/78", b"{}")
        await etcd.put(b"/apisix/upstreams/7", nodes(p1=5, p4=1))
        grown = await until(source, lambda update: ports(update) == [1, 4])
        await etcd.put(b"/apisix/upstreams/7", b"{}")
        broken = await until(source, lambda update: bool(update.invalid))
        await etcd.delete(b"/apisix/upstreams/7")
        gone = await until(source, lambda update: not update.invalid)

    assert (first.service, first.changes) == (service, ())
    assert [change.op for change in grown.changes] == [Op.WEIGHT, Op.JOINED]
    assert [(flaw.key, flaw.code) for flaw in broken.invalid] == [("/apisix/upstreams/7", "no_nodes")]
    assert ports(broken) == ports(gone) == []


async def test_a_name_that_an_upstream_has_is_kept_when_it_is_followed(etcd: Etcd) -> None:
    await etcd.put(b"/apisix/upstreams/7", b'{"name":"orders",' + nodes(p1=1)[1:])
    service = find(await read(etcd), "orders")
    async with aclosing(follow(etcd, service)) as source:
        first = await anext(source)
    assert (first.service, first.changes) == (service, ())


@pytest.mark.parametrize(
    ("key", "value", "other", "name"),
    [
        ("/ego/user/providers/grpc://127.0.0.1:1", PROVIDER % (1, 5), "/ego/user/governors/http://127.0.0.1:9", "user"),
        (
            "/jupiter/user/providers/grpc://127.0.0.1:1",
            PROVIDER % (1, 5),
            "/jupiter/user-b/providers/grpc://a:9",
            "user",
        ),
        ("grpc:user:v1:live/127.0.0.1:1", b'{"Op":0}', "grpc:user:v1:live-b/127.0.0.1:9", "user"),
        ("/skydns/local/orders/n1", b'{"host":"127.0.0.1","port":1}', "/skydns/local/orders/eu/n1", "orders.local"),
        ("/dubbo/a.B/providers/tri%3A%2F%2F127.0.0.1%3A1", b"", "/dubbo/a.B/consumers/consumer%3A%2F%2Fa", "a.B"),
        ("/service/d/n/user/v1/127.0.0.1:1", b"{}", "/service/d/n/user/v10/127.0.0.1:9", "user"),
        ("openim:///user/127.0.0.1:1", b"127.0.0.1:1", "openim:///user:127.0.0.1:1/127.0.0.1:1", "user"),
        ("/rpcx/Arith/tcp@127.0.0.1:1", b"weight=5", "/rpcx/Arith2/tcp@127.0.0.1:9", "Arith"),
        ("/rpcx/Arith/127.0.0.1:1", b"weight=5", "/rpcx", "Arith"),
    ],
)
async def test_a_service_is_followed_as_it_was_read_and_a_broken_key_is_told(
    etcd: Etcd, key: str, value: bytes, other: str, name: str
) -> None:
    await etcd.put(other.encode(), b"rpcx_path" if other == "/rpcx" else value)
    await etcd.put(key.encode(), value)
    service = next(each for each in (await read(etcd)).services if each.name == name and each.instances[0].key == key)
    assert ports(Update(service, (), 0)) == [1]
    broken = key + "x"
    async with aclosing(follow(etcd, service)) as source:
        first = await anext(source)
        await etcd.put(other.encode(), value)
        await etcd.put(broken.encode(), b"{")
        told = await until(source, lambda update: bool(update.invalid))
        await etcd.delete(key.encode())
        await until(source, lambda update: ports(update) == [])

    assert (first.service, first.changes) == (service, ())
    assert ports(told) == [1]
    assert [flaw.key for flaw in told.invalid] == [broken]
