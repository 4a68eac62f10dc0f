"""SETTINGS: what we announce, and how the peer's limits are kept from its first frame to its last change."""

from __future__ import annotations

import struct

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, Request, answering
from tests.wire import frames as h2
from tests.wire.frames import reply
from tests.wire.harness import PATH, call, calls, failed, meeting, succeeded
from tests.wire.request_head import Head

pytestmark = pytest.mark.usefixtures("door")


async def test_the_client_introduces_itself_as_specified() -> None:
    async with meeting(answering(reply)) as (server, client):
        succeeded(await call(client))
    peer = server.connections[0]
    announced, window = peer.frames[:2]
    values = list(struct.iter_unpack(">HL", announced.payload))
    assert (announced.kind, values) == (h2.SETTINGS, [(h2.ENABLE_PUSH, 0), (h2.INITIAL_WINDOW_SIZE, 8 * 1024 * 1024)])
    assert (window.kind, window.stream) == (h2.WINDOW_UPDATE, 0)
    assert window.number == 64 * 1024 * 1024 - h2.DEFAULT_WINDOW


def without_deadline(request: Request) -> Head:
    """The request's head but for what is left of its deadline: a call that had to wait states less."""
    return tuple(field for field in request.head if field[0] != b"grpc-timeout")


async def test_the_request_head_is_a_grpc_request() -> None:
    async with meeting(answering(reply)) as (server, client):
        for _ in range(3):
            succeeded(await call(client))
    heads = {without_deadline(request) for request in server.connections[0].requests.values()}
    assert len(heads) == 1
    head = dict(next(iter(heads)))
    assert head[b":path"] == PATH.encode()
    assert head[b":authority"] == b"echo"
    assert head[b"user-agent"].startswith(b"lbctl/")
    assert head[b"content-type"] == b"application/grpc"


async def test_one_stream_at_a_time_serves_every_call() -> None:
    async with meeting(answering(reply), settings={h2.MAX_CONCURRENT_STREAMS: 1}) as (server, client):
        for result in await calls(client, 10):
            succeeded(result)
    assert server.connections[0].ledger.most_open == 1
    assert len(server.connections) == 1


async def test_no_streams_allowed_means_waiting_and_then_going_on() -> None:
    async def behave(peer: Connection) -> None:
        await peer.acknowledged(1)
        await peer.barrier()
        assert not peer.all_seen(h2.HEADERS)
        peer.send(h2.settings({h2.MAX_CONCURRENT_STREAMS: 1}))
        await answering(reply)(peer)

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 0}) as (_, client):
        for result in await calls(client, 3):
            succeeded(result)


async def test_a_lowered_stream_limit_holds_from_its_acknowledgement_on() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(8)]
        peer.send(h2.settings({h2.MAX_CONCURRENT_STREAMS: 2}))
        await peer.acknowledged(2)
        peer.send(*(reply(request.stream) for request in requests))
        await answering(reply)(peer)

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 8}) as (server, client):
        for result in await calls(client, 24):
            succeeded(result)
    assert server.connections[0].ledger.most_open == 8


async def test_the_last_of_repeated_settings_wins() -> None:
    async def behave(peer: Connection) -> None:
        pairs = [(h2.MAX_CONCURRENT_STREAMS, 0), (h2.MAX_CONCURRENT_STREAMS, 5)]
        peer.send(h2.frame(h2.SETTINGS, 0, 0, b"".join(struct.pack(">HL", *pair) for pair in pairs)))
        await answering(reply)(peer)

    async with meeting(behave) as (_, client):
        for result in await calls(client, 10):
            succeeded(result)


async def test_every_settings_frame_is_acknowledged_once() -> None:
    async def behave(peer: Connection) -> None:
        peer.send(*(h2.settings({h2.INITIAL_WINDOW_SIZE: 70_000 + n}) for n in range(5)))
        await peer.acknowledged(6)
        request = await peer.request()
        await peer.barrier()
        assert len(peer.all_seen(h2.SETTINGS, ack=True)) == 6
        peer.send(reply(request.stream))

    async with meeting(behave) as (_, client):
        succeeded(await call(client))


async def test_a_long_head_is_continued_and_read_as_one() -> None:
    path = "/pkg.Svc/" + "m" * 40_000
    async with meeting(answering(reply)) as (server, client):
        succeeded(await call(client, path=path))
        succeeded(await call(client))
    peer = server.connections[0]
    assert len(peer.all_seen(h2.CONTINUATION)) >= 2 or len(peer.requests[1].block) < 3 * h2.LARGEST_FRAME
    assert peer.requests[1].header(b":path") == path.encode()
    assert peer.requests[3].header(b":path") == PATH.encode()


async def test_a_head_above_the_peers_limit_is_not_sent_and_says_both_sizes() -> None:
    async def behave(peer: Connection) -> None:
        await peer.acknowledged(1)
        await answering(reply)(peer)

    async with meeting(behave, settings={h2.MAX_HEADER_LIST_SIZE: 1000}) as (server, client):
        failed(await call(client, path="/pkg.Svc/" + "m" * 1000), Code.INTERNAL, Origin.CLIENT, "1000")
        succeeded(await call(client))
    assert len(server.connections[0].requests) == 1


async def test_a_head_of_exactly_the_limit_is_sent() -> None:
    async with meeting(answering(reply)) as (server, client):
        succeeded(await call(client))
    head = server.connections[0].requests[1].head
    size = sum(len(name) + len(value) + 32 for name, value in head)
    async with meeting(answering(reply), settings={h2.MAX_HEADER_LIST_SIZE: size}) as (_, client):
        succeeded(await call(client))
    async with meeting(answering(reply), settings={h2.MAX_HEADER_LIST_SIZE: size - 1}) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT)


async def test_a_head_limit_lowered_between_calls_holds_for_the_next_one() -> None:
    async def behave(peer: Connection) -> None:
        for _ in range(3):
            peer.send(reply((await peer.request()).stream))
        last = await peer.request()
        peer.send(h2.settings({h2.MAX_HEADER_LIST_SIZE: 100}), reply(last.stream))
        await peer.gone()
        assert len(peer.requests) == 4

    async with meeting(behave) as (_, client):
        for _ in range(4):
            succeeded(await call(client))
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, "100")


# ---- SETTINGS_HEADER_TABLE_SIZE: the checker insists on the size update that RFC 7541 §4.2 demands ------------------


@pytest.mark.parametrize("size", [0, 1, 100, 4095, 4096, 65_536])
async def test_any_table_size_from_the_start(size: int) -> None:
    async with meeting(answering(reply), settings={h2.HEADER_TABLE_SIZE: size}) as (_, client):
        for _ in range(4):
            succeeded(await call(client))


@pytest.mark.parametrize("sizes", [[0], [100], [0, 4096], [2000, 100, 4096], [4096, 0], [8192]], ids=str)
async def test_a_table_size_changed_between_calls(sizes: list[int]) -> None:
    async def behave(peer: Connection) -> None:
        for _ in range(4):
            peer.send(reply((await peer.request()).stream))
        last = await peer.request()
        peer.send(*(h2.settings({h2.HEADER_TABLE_SIZE: size}) for size in sizes))
        await peer.acknowledged(1 + len(sizes))
        peer.send(reply(last.stream))
        await answering(reply)(peer)

    async with meeting(behave) as (server, client):
        for _ in range(10):
            succeeded(await call(client))
        for result in await calls(client, 10):
            succeeded(result)
    assert len({without_deadline(request) for request in server.connections[0].requests.values()}) == 1


async def test_a_table_size_changed_under_concurrent_calls() -> None:
    async def behave(peer: Connection) -> None:
        for size in (4096, 50, 4096, 0, 200):
            batch = [await peer.request() for _ in range(10)]
            peer.send(
                *(reply(request.stream) for request in batch[:5]),
                h2.settings({h2.HEADER_TABLE_SIZE: size}),
                *(reply(request.stream) for request in batch[5:]),
            )

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 10}) as (_, client):
        for result in await calls(client, 50):
            succeeded(result)


async def test_different_methods_on_one_connection_keep_their_paths() -> None:
    paths = [f"/pkg.Svc/Method{number % 7}" for number in range(60)] + ["/pkg.Svc/" + "x" * 2000, PATH, PATH]
    async with meeting(answering(reply)) as (server, client):
        for path in paths:
            succeeded(await call(client, path=path))
    assert [dict(request.head)[b":path"].decode() for request in server.connections[0].requests.values()] == paths
