"""Frames in every legal shape: whatever a server may write, the call's outcome is the same."""

from __future__ import annotations

import asyncio

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import data, message, msg, okh, reply, trailers
from tests.wire.harness import anomalies, call, calls, failed, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

ALTSVC, ORIGIN = 0x0A, 0x0C


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 10])
async def test_how_tcp_cuts_a_reply_makes_no_difference(size: int) -> None:
    async def behave(peer: Connection) -> None:
        for ending in (trailers, lambda sid: trailers(sid, 5, ("grpc-message", "nope"))):
            request = await peer.request()
            sid = request.stream
            await peer.send_bytewise(okh(sid), msg(sid), h2.ping(b"in-between"[:8]), ending(sid), size=size)

    async with meeting(behave) as (_, client):
        succeeded(await call(client))
        assert failed(await call(client), Code.NOT_FOUND, Origin.SERVER) == "nope"


async def test_padding_and_priority_are_stripped_from_headers() -> None:
    def answer(sid: int) -> bytes:
        head = h2.header_frame(sid, h2.RESPONSE_BLOCK, pad=200, priority=True)
        tail = h2.header_frame(sid, h2.block(("grpc-status", "0")), end=True, pad=0, priority=True)
        return head + data(sid, message(b"reply"), pad=7) + tail

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))


async def test_a_frame_may_be_nothing_but_padding() -> None:
    def answer(sid: int) -> bytes:
        filler = data(sid, pad=255) + data(sid, pad=0)
        return okh(sid) + filler + msg(sid) + filler + trailers(sid)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))


async def test_header_blocks_may_be_cut_anywhere_even_into_empty_pieces() -> None:
    fields = h2.block(("x-note", "a" * 50))
    whole = h2.RESPONSE_BLOCK + fields

    def answer(sid: int) -> bytes:
        tail = h2.block(("grpc-status", "0"))
        head = h2.scattered(sid, [whole[:1], b"", whole[1:40], whole[40:]])
        return head + msg(sid) + h2.scattered(sid, [tail[:5], tail[5:]], end=True)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))


async def test_unknown_frames_flags_and_reserved_bits_are_ignored() -> None:
    def noise(sid: int) -> bytes:
        return (
            h2.frame(0xFA, 0xFF, sid, b"grease")
            + h2.frame(0xFB, 0, 0)
            + h2.frame(ALTSVC, 0, 0, b"\x00\x00h2=:1")
            + h2.frame(ORIGIN, 0, 0, b"\x00\x00")
            + h2.frame(h2.PRIORITY, 0xFF, sid, bytes(5))
            + h2.frame(h2.PRIORITY, 0, 77, bytes(5))
        )

    def answer(sid: int) -> bytes:
        reserved = sid | 0x8000_0000
        head = h2.frame(h2.HEADERS, h2.END_HEADERS | 0xD2, reserved, h2.RESPONSE_BLOCK)
        body = h2.frame(h2.DATA, 0xF6, reserved, message(b"reply"))
        return noise(sid) + head + noise(sid) + body + noise(sid) + trailers(reserved) + noise(sid)

    async with meeting(answering(answer, reply)) as (server, client):
        succeeded(await call(client))
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_every_ping_is_echoed_byte_for_byte() -> None:
    payloads = [b"before-h", b"before-d", b"before-t", b"after-it"]

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        sid = request.stream
        first, second, third, last = (h2.ping(payload) for payload in payloads)
        peer.send(first, okh(sid), second, msg(sid), third, trailers(sid), last)
        await peer.seen(h2.PING, ack=True, count=4)
        assert [frame.payload for frame in peer.all_seen(h2.PING, ack=True)] == payloads

    async with meeting(behave) as (_, client):
        succeeded(await call(client))


async def test_a_ping_ack_nobody_asked_for_is_ignored() -> None:
    async with meeting(answering(lambda sid: h2.ping(ack=True) + reply(sid))) as (_, client):
        succeeded(await call(client))


async def test_replies_may_interleave_and_come_in_any_order() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(20)]
        streams = [request.stream for request in reversed(requests)]
        bodies = {request.stream: request.message for request in requests}
        peer.send(
            *(okh(sid) for sid in streams),
            *(data(sid, message(bodies[sid])[:3]) for sid in streams),
            *(data(sid, message(bodies[sid])[3:]) for sid in streams),
            *(trailers(sid) for sid in streams),
        )

    async with meeting(behave) as (_, client):
        bodies = [f"call {number}".encode() for number in range(20)]
        for body, result in zip(bodies, await asyncio.gather(*(call(client, body) for body in bodies)), strict=True):
            succeeded(result, body)


async def test_informational_headers_come_before_the_real_ones() -> None:
    def answer(sid: int) -> bytes:
        return h2.headers(sid, (":status", "103"), ("link", "</x>")) + h2.headers(sid, (":status", "100")) + reply(sid)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))


@pytest.mark.parametrize(
    "extra",
    [("connection", "keep-alive"), ("transfer-encoding", "chunked"), ("content-length", "3"), (":path", "/odd")],
    ids=lambda field: field[0],
)
async def test_odd_response_fields_are_anomalies_and_not_failures(extra: h2.Field) -> None:
    def answer(sid: int) -> bytes:
        return h2.header_frame(sid, h2.RESPONSE_BLOCK + h2.block(extra)) + msg(sid) + trailers(sid)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))
        assert anomalies(client) == 1


async def test_a_pseudo_field_in_trailers_is_an_anomaly_and_not_a_failure() -> None:
    async with meeting(answering(lambda sid: okh(sid) + msg(sid) + trailers(sid, 0, (":status", "200")))) as (
        _,
        client,
    ):
        succeeded(await call(client))
        assert anomalies(client) == 1


async def test_many_replies_in_one_write_are_all_counted() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(500)]
        peer.send(*(reply(request.stream) for request in requests))

    async with meeting(behave) as (_, client):
        for result in await calls(client, 500):
            succeeded(result)
