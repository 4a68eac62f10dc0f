"""Connecting: every way it can fail has its own reason, nothing hangs, and no backend is dialled in a loop."""

from __future__ import annotations

import asyncio
import socket

import pytest

from lbctl.model import Code, Endpoint, Origin
from tests.scripted import Behaviour, Connection, ScriptedServer, answering
from tests.wire import frames as h2
from tests.wire.frames import reply
from tests.wire.harness import call, calls, dial, failed, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

HTTP1 = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TLS_ALERT = bytes.fromhex("15030300020246")


def saying(raw: bytes) -> Behaviour:
    """A peer whose first and only words are these bytes."""

    async def behave(peer: Connection) -> None:
        await peer.until("the preface", lambda: peer.preface)
        peer.send_raw(raw)
        await peer.gone()

    return behave


async def test_a_refused_port_is_named_as_such_at_once() -> None:
    with socket.socket() as bound:  # bound and not listening: connecting is refused, and the port stays ours
        bound.bind(("127.0.0.1", 0))
        async with asyncio.timeout(1), dial(Endpoint("127.0.0.1", bound.getsockname()[1])) as client:
            for _ in range(3):
                failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "refused")


async def test_a_name_with_several_addresses_is_refused_in_plain_words() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        async with asyncio.timeout(1), dial(Endpoint("localhost", bound.getsockname()[1])) as client:
            reason = failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "refused")
    assert "errno" not in reason.lower()


@pytest.mark.parametrize(
    "endpoint",
    [Endpoint("a" * 64 + ".invalid", 1), Endpoint("127.0.0.1", 70_000), Endpoint("", 1), Endpoint("no such host", 1)],
    ids=["label_too_long", "port_too_large", "empty", "space"],
)
async def test_an_impossible_address_is_unavailable_and_does_not_hang(endpoint: Endpoint) -> None:
    async with asyncio.timeout(2), dial(endpoint) as client:
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT)


async def test_a_server_without_settings_fails_at_the_connect_timeout() -> None:
    async def behave(peer: Connection) -> None:
        await peer.gone()
        assert not peer.all_seen(h2.HEADERS)

    async with meeting(behave, handshake=False, connect_timeout_s=0.1) as (_, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "SETTINGS")


async def test_a_deadline_shorter_than_the_connect_timeout_is_kept() -> None:
    async with meeting(Connection.gone, handshake=False, connect_timeout_s=2.0) as (_, client), asyncio.timeout(1):
        failed(await call(client, timeout_s=0.1), Code.DEADLINE_EXCEEDED, Origin.CLIENT)


FOREIGN = {
    "http1": (HTTP1, "HTTP/1"),
    "http1_bytewise": (HTTP1[:9], "HTTP/1"),
    "tls": (TLS_ALERT, "TLS"),
    "tls_with_more": (TLS_ALERT + bytes(100), "TLS"),
    "ssh": (b"SSH-2.0-OpenSSH_9.2\r\n", ""),
    "redis": (b"-ERR unknown command 'PRI'\r\n", ""),
    "goaway_first": (h2.goaway(0), "SETTINGS"),
    "settings_ack_first": (h2.settings_ack(), "SETTINGS"),
    "ping_first": (h2.ping() + h2.settings(), "SETTINGS"),
}


@pytest.mark.parametrize(("raw", "word"), FOREIGN.values(), ids=FOREIGN)
async def test_a_peer_that_is_no_http2_server_is_recognised_at_once(raw: bytes, word: str) -> None:
    async with meeting(saying(raw), handshake=False) as (server, client), asyncio.timeout(0.9):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, word)
    assert not server.connections[0].requests


async def test_each_way_to_fail_has_its_own_reason() -> None:
    reasons = []
    for raw in (HTTP1, TLS_ALERT, h2.ping(), b""):
        async with meeting(saying(raw), handshake=False, connect_timeout_s=0.1) as (_, client):
            reasons.append(failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT))
    assert len(set(reasons)) == 4


async def test_a_server_that_closes_before_settings_is_unavailable() -> None:
    async def behave(peer: Connection) -> None:
        peer.close()
        await peer.gone()

    async with meeting(behave, handshake=False) as (_, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "closed")


async def test_a_backend_that_never_gets_ready_is_not_dialled_in_a_loop() -> None:
    async def behave(peer: Connection) -> None:
        peer.close()

    async with meeting(behave, handshake=False) as (server, client):
        for _ in range(50):
            failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT)
    assert len(server.connections) == 1


@pytest.mark.parametrize("last_words", [b"", h2.frame(h2.PUSH_PROMISE), h2.goaway(0)], ids=["fin", "broken", "goaway"])
async def test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop(last_words: bytes) -> None:
    fourth = asyncio.Event()

    async def behave(peer: Connection) -> None:
        if peer.index == 3:
            fourth.set()
        peer.send_raw(last_words)
        peer.close()

    async with meeting(behave, strict=False) as (_, client):
        await call(client, timeout_s=0.1)
        await call(client, timeout_s=0.1)
        with pytest.raises(TimeoutError):  # the backoff's first step is about a second
            await asyncio.wait_for(fourth.wait(), 0.4)


async def test_a_server_that_comes_back_is_found_again() -> None:
    """The first attempt meets HTTP/1; after the backoff (about a second) the port speaks HTTP/2."""

    async def behave(peer: Connection) -> None:
        if peer.index == 0:
            peer.send_raw(HTTP1)
            peer.close()
            return
        peer.send(h2.settings(), h2.settings_ack())
        await peer.acknowledged(1)
        back.set()
        await answering(reply)(peer)

    back = asyncio.Event()
    async with meeting(behave, handshake=False) as (server, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT)
        await asyncio.wait_for(back.wait(), 3)
        succeeded(await call(client))
    assert len(server.connections) == 2


async def test_nothing_is_sent_before_the_servers_settings() -> None:
    async def behave(peer: Connection) -> None:
        await peer.seen(h2.WINDOW_UPDATE)
        assert not peer.all_seen(h2.HEADERS)
        peer.send(h2.settings({h2.MAX_CONCURRENT_STREAMS: 0}), h2.settings_ack())
        await peer.barrier()
        assert not peer.all_seen(h2.HEADERS)
        peer.send(h2.settings({h2.MAX_CONCURRENT_STREAMS: 100}))
        await answering(reply)(peer)

    async with meeting(behave, handshake=False) as (_, client):
        for result in await calls(client, 5):
            succeeded(result)


async def test_settings_may_arrive_in_pieces() -> None:
    async def behave(peer: Connection) -> None:
        await peer.send_bytewise(h2.settings({h2.MAX_CONCURRENT_STREAMS: 10, 0xFA: 1}))
        peer.send(h2.settings_ack())
        await answering(reply)(peer)

    async with meeting(behave, handshake=False) as (_, client):
        succeeded(await call(client))


@pytest.mark.parametrize("authority", ["echo", "shop.example:8443", "[::1]:50051", "localhost"])
async def test_the_authority_is_the_one_asked_for(authority: str) -> None:
    server = ScriptedServer(answering(reply))
    async with server, dial(server.endpoint, authority=authority) as client:
        succeeded(await call(client))
        succeeded(await call(client))
    said = [request.header(b":authority") for request in server.connections[0].requests.values()]
    assert said == [authority.encode()] * 2


async def test_leaving_says_goodbye_and_ends_open_calls() -> None:
    async def behave(peer: Connection) -> None:
        await peer.request()
        asked.set()
        assert (await peer.seen(h2.GOAWAY)).number == h2.NO_ERROR
        await peer.gone()

    asked = asyncio.Event()
    async with meeting(behave) as (_, client):
        pending = asyncio.create_task(call(client))
        await asyncio.wait_for(asked.wait(), 2)
    result = await asyncio.wait_for(pending, 1)
    assert result.reply.code in (Code.CANCELLED, Code.UNAVAILABLE)
