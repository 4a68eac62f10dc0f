"""How a response body becomes exactly one message, or a reason why not."""

from __future__ import annotations

import gzip

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import ReplyBytes, data, message, msg, okh, reply, trailers
from tests.wire.harness import call, counted, failed, keeps_messages, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

LARGE = bytes(range(256)) * 1200  # 300 KiB


async def test_two_messages_in_a_unary_answer_are_internal_and_do_not_hang() -> None:
    def apart(sid: int) -> bytes:
        return okh(sid) + msg(sid) + msg(sid) + trailers(sid)

    def in_one_frame(sid: int) -> bytes:
        return okh(sid) + data(sid, message(b"one") + message(b"two")) + trailers(sid)

    async with meeting(answering(apart, in_one_frame, reply)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, "2 messages")
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, "2 messages")
        succeeded(await call(client))


@pytest.mark.parametrize("body", [b"\x00\x00\x00\x00\x06ab", b"\x00\x00", b"\x00\x00\x00\x00\x01"])
async def test_a_truncated_message_is_internal_under_status_0(body: bytes) -> None:
    async with meeting(answering(lambda sid: okh(sid) + data(sid, body) + trailers(sid), reply)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, "truncated")
        succeeded(await call(client))


async def test_a_message_followed_by_a_piece_of_another_is_internal() -> None:
    def answer(sid: int) -> bytes:
        return okh(sid) + data(sid, message(b"reply") + b"\x00\x00") + trailers(sid)

    async with meeting(answering(answer)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT)


async def test_a_truncated_message_does_not_hide_the_servers_own_error() -> None:
    def answer(sid: int) -> bytes:
        cut = data(sid, b"\x00\x00\x00\x00\x06ab")
        return okh(sid) + cut + trailers(sid, 13, ("grpc-message", "out of disk"))

    async with meeting(answering(answer)) as (_, client):
        assert failed(await call(client), Code.INTERNAL, Origin.SERVER) == "out of disk"


async def test_a_whole_message_does_not_hide_the_servers_error() -> None:
    async with meeting(answering(lambda sid: okh(sid) + msg(sid) + trailers(sid, 8))) as (_, client):
        failed(await call(client), Code.RESOURCE_EXHAUSTED, Origin.SERVER)


async def test_a_message_may_come_one_byte_per_frame_with_empty_frames_between() -> None:
    body = b"a message of some length"

    def answer(sid: int) -> bytes:
        pieces = b"".join(data(sid, bytes((byte,))) + data(sid) for byte in message(body))
        return okh(sid) + data(sid) + pieces + trailers(sid)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client), body)


async def test_a_large_message_arrives_whole() -> None:
    async with meeting(answering(lambda sid: reply(sid, LARGE))) as (_, client):
        succeeded(await call(client), LARGE)


def with_encoding(encoding: str | None, flag: int) -> ReplyBytes:
    """An answer whose message carries this compressed-flag under this grpc-encoding."""
    more = h2.block(("grpc-encoding", encoding)) if encoding else b""

    def answer(sid: int) -> bytes:
        head = h2.header_frame(sid, h2.RESPONSE_BLOCK + more)
        return head + data(sid, message(b"reply", flag=flag)) + trailers(sid)

    return answer


@pytest.mark.parametrize(
    ("encoding", "flag", "words"),
    [
        (None, 1, ["compressed"]),
        ("identity", 1, ["compressed"]),
        ("br", 1, ["br"]),
        (None, 2, ["flag", "2"]),
        ("gzip", 255, ["flag"]),
    ],
)
async def test_a_message_that_cannot_be_read_is_internal_and_names_why(
    encoding: str | None, flag: int, words: list[str]
) -> None:
    async with meeting(answering(with_encoding(encoding, flag), reply)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, *words)
        succeeded(await call(client))


def zipped(body: bytes) -> ReplyBytes:
    """An answer whose message is these octets, said to be gzip."""
    more = h2.block(("grpc-encoding", "gzip"))

    def answer(sid: int) -> bytes:
        return h2.header_frame(sid, h2.RESPONSE_BLOCK + more) + data(sid, message(body, flag=1)) + trailers(sid)

    return answer


async def test_a_gzip_message_is_what_it_was_before_and_plain_ones_may_follow() -> None:
    async with meeting(answering(zipped(gzip.compress(b"reply")), reply)) as (_, client):
        succeeded(await call(client))
        succeeded(await call(client))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"not gzip at all", ["cannot be decompressed"]),
        (gzip.compress(b"reply")[:-4], ["cut short"]),
        (gzip.compress(b"reply") + b"more", ["behind its end"]),
    ],
    ids=["not_gzip", "cut_short", "octets_behind"],
)
async def test_gzip_that_is_none_is_internal_where_the_message_is_wanted(body: bytes, words: list[str]) -> None:
    async with meeting(answering(zipped(body), reply)) as (_, client):
        if keeps_messages():
            failed(await call(client), Code.INTERNAL, Origin.CLIENT, "gzip", *words)
        else:
            succeeded(await call(client))  # counted, not unpacked
        succeeded(await call(client))


async def test_a_gzip_bomb_is_unpacked_to_the_limit_and_no_further() -> None:
    bomb = gzip.compress(bytes(8 << 20))
    async with meeting(answering(zipped(bomb), reply)) as (_, client):
        if keeps_messages():
            failed(await call(client), Code.RESOURCE_EXHAUSTED, Origin.CLIENT, "decompressed")
        else:
            succeeded(await call(client))
        succeeded(await call(client))


@pytest.mark.parametrize("encoding", ["br", "gzip", "identity"])
async def test_an_encoding_nothing_was_encoded_with_is_fine(encoding: str) -> None:
    async with meeting(answering(with_encoding(encoding, 0))) as (_, client):
        succeeded(await call(client))


async def test_a_message_above_the_limit_is_cancelled_and_the_connection_stays_usable() -> None:
    announced = (5 * 1024 * 1024).to_bytes(4, "big")

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(okh(request.stream), data(request.stream, b"\x00" + announced + bytes(1000)))
        reset = await peer.seen(h2.RST_STREAM, stream=request.stream)
        assert reset.number == h2.CANCEL
        peer.send(data(request.stream, bytes(16_000)), trailers(request.stream))
        later = await peer.request()
        peer.send(reply(later.stream))

    async with meeting(behave) as (server, client):
        failed(await call(client), Code.RESOURCE_EXHAUSTED, Origin.CLIENT, "5242880")
        succeeded(await call(client))
        assert counted(client, "rst_sent") == 1
    assert len(server.connections) == 1


async def test_a_body_that_is_not_grpc_is_never_parsed_as_messages() -> None:
    def page(sid: int) -> bytes:
        head = h2.headers(sid, (":status", "502"), ("content-type", "text/html"))
        return head + b"".join(data(sid, b"\xff" * 16_000) for _ in range(20)) + data(sid, end=True)

    async with meeting(answering(page, reply)) as (server, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.HTTP, "502")
        succeeded(await call(client))
    assert not server.connections[0].all_seen(h2.RST_STREAM)
