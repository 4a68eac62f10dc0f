"""A peer that breaks HTTP/2 itself: GOAWAY with the right code, connection closed, every open call UNAVAILABLE.

Each hostile frame is followed, in the same write, by a perfect reply: a client that skips the check reports OK.
"""

from __future__ import annotations

import struct

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import ReplyBytes, frame, header_frame, okh, reply
from tests.wire.harness import call, calls, failed, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

IDLE, EVEN = 99, 2


def setting(key: int, value: int) -> ReplyBytes:
    return lambda _: h2.settings({key: value})


def always(raw: bytes) -> ReplyBytes:
    return lambda _: raw


SETTINGS: dict[str, tuple[ReplyBytes, int]] = {
    "settings_of_5_bytes": (always(frame(h2.SETTINGS, 0, 0, bytes(5))), h2.FRAME_SIZE_ERROR),
    "settings_on_a_stream": (lambda sid: frame(h2.SETTINGS, 0, sid), h2.PROTOCOL_ERROR),
    "settings_ack_with_payload": (always(frame(h2.SETTINGS, h2.ACK, 0, bytes(6))), h2.FRAME_SIZE_ERROR),
    "initial_window_2_31": (setting(h2.INITIAL_WINDOW_SIZE, 2**31), h2.FLOW_CONTROL_ERROR),
    "max_frame_size_1000": (setting(h2.MAX_FRAME_SIZE, 1000), h2.PROTOCOL_ERROR),
    "max_frame_size_2_24": (setting(h2.MAX_FRAME_SIZE, 2**24), h2.PROTOCOL_ERROR),
    "enable_push_2": (setting(h2.ENABLE_PUSH, 2), h2.PROTOCOL_ERROR),
}

FRAMES: dict[str, tuple[ReplyBytes, int]] = {
    "data_of_16385_bytes": (lambda sid: okh(sid) + h2.data(sid, bytes(16_385)), h2.FRAME_SIZE_ERROR),
    "headers_of_16385_bytes": (lambda sid: header_frame(sid, bytes(16_385)), h2.FRAME_SIZE_ERROR),
    "unknown_frame_of_16385_bytes": (always(frame(0xFA, 0, 0, bytes(16_385))), h2.FRAME_SIZE_ERROR),
    "data_on_0": (always(h2.data(0, b"x")), h2.PROTOCOL_ERROR),
    "data_on_idle": (always(h2.data(IDLE, b"x")), h2.PROTOCOL_ERROR),
    "data_on_even": (always(h2.data(EVEN, b"x")), h2.PROTOCOL_ERROR),
    "data_padded_beyond_its_end": (
        lambda sid: okh(sid) + frame(h2.DATA, h2.PADDED, sid, b"\x05abc"),
        h2.PROTOCOL_ERROR,
    ),
    "data_padded_by_its_length": (lambda sid: okh(sid) + frame(h2.DATA, h2.PADDED, sid, b"\x04abc"), h2.PROTOCOL_ERROR),
    "headers_on_0": (always(okh(0)), h2.PROTOCOL_ERROR),
    "headers_on_even": (always(okh(EVEN)), h2.PROTOCOL_ERROR),
    "headers_on_idle": (always(okh(IDLE)), h2.PROTOCOL_ERROR),
    "headers_padded_beyond_their_end": (lambda sid: frame(h2.HEADERS, 0xC, sid, b"\x05\x88"), h2.PROTOCOL_ERROR),
    "headers_shorter_than_their_priority": (lambda sid: frame(h2.HEADERS, 0x24, sid, bytes(4)), h2.FRAME_SIZE_ERROR),
    "data_padded_without_a_length": (lambda sid: okh(sid) + frame(h2.DATA, h2.PADDED, sid), h2.PROTOCOL_ERROR),
    "priority_on_0": (always(frame(h2.PRIORITY, 0, 0, bytes(5))), h2.PROTOCOL_ERROR),
    "rst_of_3_bytes": (lambda sid: frame(h2.RST_STREAM, 0, sid, bytes(3)), h2.FRAME_SIZE_ERROR),
    "rst_on_0": (always(h2.rst(0, h2.CANCEL)), h2.PROTOCOL_ERROR),
    "rst_on_idle": (always(h2.rst(IDLE, h2.CANCEL)), h2.PROTOCOL_ERROR),
    "push_promise": (lambda sid: frame(h2.PUSH_PROMISE, h2.END_HEADERS, sid, b"\0\0\0\2\x88"), h2.PROTOCOL_ERROR),
    "ping_of_7_bytes": (always(frame(h2.PING, 0, 0, bytes(7))), h2.FRAME_SIZE_ERROR),
    "ping_on_a_stream": (lambda sid: frame(h2.PING, 0, sid, bytes(8)), h2.PROTOCOL_ERROR),
    "goaway_of_7_bytes": (always(frame(h2.GOAWAY, 0, 0, bytes(7))), h2.FRAME_SIZE_ERROR),
    "goaway_on_a_stream": (lambda sid: frame(h2.GOAWAY, 0, sid, struct.pack(">LL", sid, 0)), h2.PROTOCOL_ERROR),
    "window_update_of_3_bytes": (lambda sid: frame(h2.WINDOW_UPDATE, 0, sid, bytes(3)), h2.FRAME_SIZE_ERROR),
    "window_update_of_0": (always(h2.window_update(0, 0)), h2.PROTOCOL_ERROR),
    "window_update_on_idle": (always(h2.window_update(IDLE, 1)), h2.PROTOCOL_ERROR),
    "window_overflow": (always(h2.window_update(0, h2.LARGEST_WINDOW)), h2.FLOW_CONTROL_ERROR),
}

BLOCKS: dict[str, tuple[ReplyBytes, int]] = {
    "ping_inside_a_block": (lambda sid: frame(h2.HEADERS, 0, sid, b"\x88") + h2.ping(), h2.PROTOCOL_ERROR),
    "unknown_frame_inside_a_block": (lambda sid: frame(h2.HEADERS, 0, sid, b"\x88") + frame(0xFA), h2.PROTOCOL_ERROR),
    "headers_inside_a_block": (lambda sid: frame(h2.HEADERS, 0, sid, b"\x88") + okh(sid), h2.PROTOCOL_ERROR),
    "continuation_of_another_stream": (
        lambda sid: frame(h2.HEADERS, 0, sid, b"\x88") + frame(h2.CONTINUATION, h2.END_HEADERS, sid + 2),
        h2.PROTOCOL_ERROR,
    ),
    "stray_continuation": (
        lambda sid: okh(sid) + frame(h2.CONTINUATION, h2.END_HEADERS, sid, b"\x88"),
        h2.PROTOCOL_ERROR,
    ),
    "continuation_flood": (lambda sid: h2.scattered(sid, [b"\x88"] + [b""] * 500), h2.ENHANCE_YOUR_CALM),
    "block_of_300_kilobytes": (
        lambda sid: h2.scattered(sid, [h2.RESPONSE_BLOCK] + [h2.literal("x", b"v" * 16_000)] * 19),
        h2.ENHANCE_YOUR_CALM,
    ),
    "head_of_a_megabyte_from_few_bytes": (
        lambda sid: header_frame(sid, h2.RESPONSE_BLOCK + h2.literal("x", b"v" * 4000, indexed=True) + b"\xbe" * 300),
        h2.ENHANCE_YOUR_CALM,
    ),
}

HPACK: dict[str, tuple[ReplyBytes, int]] = {
    name: ((lambda raw: lambda sid: header_frame(sid, raw))(bytes.fromhex(block)), h2.COMPRESSION_ERROR)
    for name, block in {
        "index_0": "80",
        "index_beyond_the_tables": "ffff00",
        "dynamic_index_of_an_empty_table": "be",
        "truncated_literal": "000561",
        "truncated_value": "0001610562",
        "truncated_integer": "ff80",
        "endless_integer": "ff" + "80" * 20 + "01",
        "table_size_above_ours": "3fe21f",
        "table_size_after_a_field": "8820",
        "huffman_padding_of_8_bits": "00016182" + "1fff",
    }.items()
}

EVERY = SETTINGS | FRAMES | BLOCKS | HPACK


@pytest.mark.parametrize(("bad", "code"), EVERY.values(), ids=EVERY)
async def test_a_broken_connection_is_closed_with_the_right_code(bad: ReplyBytes, code: int) -> None:
    async def behave(peer: Connection) -> None:
        first, second = await peer.request(), await peer.request()
        peer.send(bad(first.stream), reply(first.stream), reply(second.stream))
        farewell = await peer.seen(h2.GOAWAY)
        assert farewell.number == code, farewell
        await peer.gone()
        assert len(peer.all_seen(h2.GOAWAY)) == 1

    async with meeting(behave) as (_, client):
        for result in await calls(client, 2):
            failed(result, Code.UNAVAILABLE, Origin.TRANSPORT, "peer protocol error")


@pytest.mark.parametrize(("bad", "code"), HPACK.values(), ids=HPACK)
async def test_a_late_block_that_does_not_decode_breaks_the_connection_too(bad: ReplyBytes, code: int) -> None:
    async def behave(peer: Connection) -> None:
        first, second = await peer.request(), await peer.request()
        peer.send(reply(first.stream), bad(first.stream), reply(second.stream))
        assert (await peer.seen(h2.GOAWAY)).number == code

    async with meeting(behave) as (_, client):
        first, second = await calls(client, 2)
        succeeded(first)
        failed(second, Code.UNAVAILABLE, Origin.TRANSPORT, "peer protocol error")


LENIENT = {
    "unknown_setting": always(h2.settings({0xFA01: 7, 0x8: 1})),
    "enable_push_1": setting(h2.ENABLE_PUSH, 1),
    "empty_settings": always(h2.settings()),
    "unasked_settings_ack": always(h2.settings_ack()),
    "window_up_to_the_limit": always(h2.window_update(0, h2.LARGEST_WINDOW - h2.DEFAULT_WINDOW)),
    "max_frame_size_largest": setting(h2.MAX_FRAME_SIZE, 2**24 - 1),
    "initial_window_largest": setting(h2.INITIAL_WINDOW_SIZE, 2**31 - 1),
    "window_update_on_a_finished_stream": lambda sid: reply(sid) + h2.window_update(sid, 1),
    "priority_on_a_finished_stream": lambda sid: reply(sid) + frame(h2.PRIORITY, 0, sid, bytes(5)),
}


@pytest.mark.parametrize("odd", LENIENT.values(), ids=LENIENT)
async def test_what_only_looks_broken_changes_nothing(odd: ReplyBytes) -> None:
    def answer(sid: int) -> bytes:
        said = odd(sid)
        return said if said.startswith(okh(sid)) else said + reply(sid)

    async with meeting(answering(answer, reply), credit=False) as (server, client):
        succeeded(await call(client))
        succeeded(await call(client))
    assert len(server.connections) == 1
