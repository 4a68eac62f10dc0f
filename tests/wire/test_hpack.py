"""The same header bytes mean other things as the dynamic table moves: replies that a naive cache gets wrong."""

from __future__ import annotations

import pytest
from hpack import Encoder

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import ReplyBytes, header_frame, literal, msg, okh
from tests.wire.harness import call, calls, failed, meeting, succeeded, verdict

pytestmark = pytest.mark.usefixtures("door")

NEWEST = b"\xbe"  # index 62: whatever was inserted last


def ending(tail: bytes) -> ReplyBytes:
    """A reply whose trailers are these bytes."""
    return lambda sid: okh(sid) + msg(sid) + header_frame(sid, tail, end=True)


async def test_the_same_trailer_bytes_are_ok_first_and_an_error_later() -> None:
    ok, not_found = (literal("grpc-status", code, indexed=True) for code in ("0", "5"))
    script = [ok, NEWEST, NEWEST, not_found, NEWEST, NEWEST, ok, NEWEST]
    expected = [0, 0, 0, 5, 5, 5, 0, 0]
    async with meeting(answering(*map(ending, script))) as (_, client):
        assert [(await call(client)).reply.code for _ in script] == expected


async def test_an_insert_by_a_response_head_counts_too() -> None:
    """The trailers never change; the table is moved by the initial headers of another call."""
    insert_error = h2.RESPONSE_BLOCK + literal("grpc-status", "9", indexed=True)

    def moved(sid: int) -> bytes:
        return header_frame(sid, insert_error) + msg(sid) + header_frame(sid, NEWEST, end=True)

    replies = [ending(literal("grpc-status", "0", indexed=True)), ending(NEWEST), ending(NEWEST), moved, ending(NEWEST)]
    async with meeting(answering(*replies)) as (_, client):
        assert [(await call(client)).reply.code for _ in replies] == [0, 0, 0, 9, 9]


async def test_an_insert_by_a_late_reply_counts_too() -> None:
    async def behave(peer: Connection) -> None:
        for tail in (literal("grpc-status", "0", indexed=True), NEWEST, NEWEST):
            peer.send(ending(tail)((await peer.request()).stream))
        late = await peer.request()
        await peer.seen(h2.RST_STREAM, stream=late.stream)
        peer.send(header_frame(late.stream, literal("grpc-status", "7", indexed=True), end=True))
        peer.send(ending(NEWEST)((await peer.request()).stream))

    async with meeting(behave) as (_, client):
        for _ in range(3):
            succeeded(await call(client))
        failed(await call(client, timeout_s=0.05), Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        assert verdict(await call(client)) == (Code.PERMISSION_DENIED, Origin.SERVER, 1)


async def test_an_entry_evicted_by_size_is_gone_for_good() -> None:
    """After the table was emptied, the reference that used to be cached no longer decodes."""
    emptied = b"\x20" + literal("grpc-status", "0")
    replies = [ending(literal("grpc-status", "0", indexed=True)), ending(NEWEST), ending(emptied), ending(NEWEST)]
    async with meeting(answering(*replies)) as (server, client):
        for _ in range(3):
            succeeded(await call(client))
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "peer protocol error")
    assert server.connections[0].all_seen(h2.GOAWAY)[0].number == h2.COMPRESSION_ERROR


async def test_an_entry_larger_than_the_table_empties_it() -> None:
    huge = literal("x-huge", "v" * 5000, indexed=True) + literal("grpc-status", "0")
    replies = [ending(literal("grpc-status", "0", indexed=True)), ending(NEWEST), ending(huge), ending(NEWEST)]
    async with meeting(answering(*replies)) as (_, client):
        for _ in range(3):
            succeeded(await call(client))
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT)


async def test_varying_indexed_fields_never_confuse_a_long_run() -> None:
    encoder = Encoder()
    numbers = iter(range(1000))

    def answer(sid: int) -> bytes:
        number = next(numbers)
        status = 0 if number % 3 else 14
        head = [(":status", "200"), ("content-type", "application/grpc"), ("x-request-id", f"r{number % 11}")]
        tail = [("grpc-status", str(status)), ("x-envoy-upstream-service-time", str(number % 5))]
        return header_frame(sid, encoder.encode(head)) + msg(sid) + header_frame(sid, encoder.encode(tail), end=True)

    async with meeting(answering(answer)) as (_, client):
        codes = [(await call(client)).reply.code for _ in range(60)]
        codes += [result.reply.code for _ in range(4) for result in await calls(client, 60)]
    assert codes[:60] == [Code.OK if number % 3 else Code.UNAVAILABLE for number in range(60)]
    assert (codes.count(Code.OK), codes.count(Code.UNAVAILABLE)) == (200, 100)


async def test_values_that_are_not_utf8_fail_nothing() -> None:
    odd = literal("x-binary", b"\xff\xfe\x80", indexed=True) + literal("grpc-status", "0")
    async with meeting(answering(ending(odd), ending(literal("grpc-status", "0")), ending(odd))) as (_, client):
        for _ in range(3):
            succeeded(await call(client))


async def test_never_indexed_and_huffman_coded_fields_are_read() -> None:
    tail = [("grpc-status", "16"), ("grpc-message", "no%20token")]
    blocks = [Encoder().encode(tail, huffman=huffman) for huffman in (True, False)]
    never = b"\x10" + literal("grpc-status", "16")[1:] + b"\x10" + literal("grpc-message", "no token")[1:]
    async with meeting(answering(*(ending(bytes(block)) for block in (*blocks[:1], never)))) as (_, client):
        for _ in range(2):
            assert failed(await call(client), Code.UNAUTHENTICATED, Origin.SERVER) == "no token"
