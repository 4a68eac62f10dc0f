"""A reply that breaks the rules of its stream fails that call alone: RST_STREAM, and the connection goes on."""

from __future__ import annotations

import asyncio

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import ReplyBytes, data, header_frame, headers, msg, okh, reply, trailers
from tests.wire.harness import call, counted, failed, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

OK_HEAD = h2.RESPONSE_BLOCK

# What the server says on an open stream, without ending it -> the code of our RST_STREAM.
OPEN: dict[str, tuple[ReplyBytes, int]] = {
    "data_before_headers": (msg, h2.PROTOCOL_ERROR),
    "data_after_informational": (lambda sid: headers(sid, (":status", "100")) + msg(sid), h2.PROTOCOL_ERROR),
    "second_headers": (lambda sid: okh(sid) + okh(sid), h2.PROTOCOL_ERROR),
    "second_headers_after_data": (lambda sid: okh(sid) + msg(sid) + okh(sid), h2.PROTOCOL_ERROR),
    "no_status": (lambda sid: headers(sid, ("content-type", "application/grpc")), h2.PROTOCOL_ERROR),
    "two_statuses": (lambda sid: headers(sid, (":status", "200"), (":status", "200")), h2.PROTOCOL_ERROR),
    "status_of_two_digits": (lambda sid: headers(sid, (":status", "20")), h2.PROTOCOL_ERROR),
    "status_not_a_number": (lambda sid: headers(sid, (":status", "2o0")), h2.PROTOCOL_ERROR),
    "upper_case_name": (lambda sid: header_frame(sid, OK_HEAD + h2.literal("X-Up", "1")), h2.PROTOCOL_ERROR),
    "nul_in_value": (lambda sid: header_frame(sid, OK_HEAD + h2.literal("x-nul", b"a\0b")), h2.PROTOCOL_ERROR),
    "line_feed_in_value": (lambda sid: header_frame(sid, OK_HEAD + h2.literal("x", b"a\nb")), h2.PROTOCOL_ERROR),
    "carriage_return_in_value": (lambda sid: header_frame(sid, OK_HEAD + h2.literal("x", b"a\rb")), h2.PROTOCOL_ERROR),
    "priority_of_4_bytes": (lambda sid: h2.frame(h2.PRIORITY, 0, sid, bytes(4)), h2.FRAME_SIZE_ERROR),
    "window_update_of_0": (lambda sid: h2.window_update(sid, 0), h2.PROTOCOL_ERROR),
}


@pytest.mark.parametrize(("bad", "code"), OPEN.values(), ids=OPEN)
async def test_a_broken_stream_is_reset_and_fails_alone(bad: ReplyBytes, code: int) -> None:
    async def behave(peer: Connection) -> None:
        broken, healthy = await peer.request(), await peer.request()
        peer.send(bad(broken.stream), okh(healthy.stream))
        reset = await peer.seen(h2.RST_STREAM, stream=broken.stream)
        assert reset.number == code
        peer.send(msg(healthy.stream), trailers(healthy.stream))
        later = await peer.request()
        await peer.barrier()
        assert len(peer.all_seen(h2.RST_STREAM)) == 1
        peer.send(reply(later.stream))

    async with meeting(behave) as (server, client):
        broken, healthy = await asyncio.gather(call(client), call(client))
        assert (broken.reply.code, broken.attempts) == (Code.INTERNAL, 1), broken.reply
        assert broken.reply.origin in (Origin.CLIENT, Origin.TRANSPORT)
        succeeded(healthy)
        succeeded(await call(client))
        assert counted(client, "rst_sent") == 1
    assert len(server.connections) == 1


async def test_data_before_headers_is_blamed_on_the_message_not_the_transport() -> None:
    async with meeting(answering(lambda sid: msg(sid) + trailers(sid), reply)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT)
        succeeded(await call(client))


# What the server says when the same write also ends the stream: no success, and nothing to reset.
ENDED: dict[str, ReplyBytes] = {
    "informational_with_end_stream": lambda sid: headers(sid, (":status", "103"), end=True),
    "no_status": lambda sid: headers(sid, ("grpc-status", "0"), end=True),
    "bad_status": lambda sid: headers(sid, (":status", "2000"), ("grpc-status", "0"), end=True),
    "upper_case_name": lambda sid: okh(sid) + msg(sid) + trailers(sid, 0, ("X-Up", "1")),
    "nul_in_trailer": lambda sid: okh(sid) + msg(sid) + trailers(sid, 0, ("x-nul", "a\0b")),
}


@pytest.mark.parametrize("bad", ENDED.values(), ids=ENDED)
async def test_a_broken_end_is_no_success_and_the_connection_goes_on(bad: ReplyBytes) -> None:
    async with meeting(answering(bad, reply)) as (server, client):
        result = await call(client)
        assert (result.reply.code, result.attempts) == (Code.INTERNAL, 1), result.reply
        succeeded(await call(client))
    assert len(server.connections) == 1
    assert not server.connections[0].all_seen(h2.RST_STREAM)


async def test_a_head_above_the_soft_limit_fails_its_call_alone() -> None:
    bulk = h2.block(*((f"x-{number}", "v" * 1000) for number in range(70)))
    whole = OK_HEAD + bulk

    def answer(sid: int) -> bytes:
        pieces = [whole[at : at + 16_000] for at in range(0, len(whole), 16_000)]
        return h2.scattered(sid, pieces) + msg(sid) + trailers(sid)

    async with meeting(answering(answer, reply)) as (server, client):
        assert (await call(client)).reply.code is Code.INTERNAL
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_data_on_a_finished_stream_is_counted_as_late() -> None:
    def answer(sid: int) -> bytes:
        return reply(sid) + data(sid, b"after the end")

    async with meeting(answering(answer, reply)) as (server, client):
        succeeded(await call(client))
        succeeded(await call(client))
        assert client.counters["late_frames"] == 1
    assert not server.connections[0].all_seen(h2.RST_STREAM)


async def test_headers_on_a_finished_stream_are_decoded_and_ignored() -> None:
    inserted = h2.literal("grpc-status", "0", indexed=True)

    def first(sid: int) -> bytes:
        return reply(sid) + header_frame(sid, inserted, end=True)

    def second(sid: int) -> bytes:
        return okh(sid) + msg(sid) + header_frame(sid, b"\xbe", end=True)  # index 62: the late insert

    async with meeting(answering(first, second)) as (_, client):
        succeeded(await call(client))
        succeeded(await call(client))
        assert client.counters["late_frames"] == 1
