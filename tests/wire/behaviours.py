"""Nearly 400 things a server may do to a unary call, generated from tables: scripts for a comparison of clients.

Each answers every request, or the first one. Nothing here says what a client should make of it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import pairwise

from tests.scripted import answering
from tests.wire import frames as h2
from tests.wire.frames import Field, ReplyBytes, data, frame, message, msg, okh, reply
from tests.wire.saying import (
    REPLY,
    Scripted,
    aborting,
    body,
    bytewise,
    closing,
    head,
    head_block,
    head_pieces,
    in_chunks,
    large,
    leave_after,
    on_stream,
    only_tail,
    raw,
    reset,
    says,
    says_on_first_connection,
    says_once,
    silent,
    tail,
)

Table = Iterator[tuple[str, Scripted]]

GRPC: Field = ("content-type", "application/grpc")
HTTP_200: Field = (":status", "200")
EVERYTHING = 2**31 - 1
WHOLE = h2.RESPONSE_BLOCK + h2.block(("x-note", "a" * 40))
TAIL = h2.block(("grpc-status", "0"))

ODD_STATUSES = ("99", "999999999", "00", "05", "", "abc", "-1", "1.0", " 0", "0 ", "4294967296")


def statuses() -> Table:
    """Every grpc-status, before and after a message; numbers nobody knows; what is no number."""
    for status in (*map(str, range(18)), *ODD_STATUSES):
        yield f"status_{status!r}", says(okh, msg, tail(status))
        yield f"only_trailers_{status!r}", says(only_tail(status))
    for first, second in (("0", "14"), ("14", "0"), ("5", "5"), ("0", "0")):
        yield f"status_{first}_and_{second}", says(okh, msg, tail(first, ("grpc-status", second)))
    yield "status_0_in_head_and_5_in_trailers", says(head(HTTP_200, GRPC, ("grpc-status", "0")), msg, tail(5))
    yield "no_status_data_ends", says(okh, body(REPLY, end=True))
    yield "no_status_empty_data_ends", says(okh, msg, body(end=True))
    yield "no_status_in_trailers", says(okh, msg, head(("x-note", "n"), end=True))
    yield "no_status_head_ends", says(head_block(h2.RESPONSE_BLOCK, end=True))


def http_statuses() -> Table:
    for status in (200, 204, 302, 400, 401, 403, 404, 415, 418, 429, 431, 500, 502, 503, 504, 599):
        field: Field = (":status", str(status))
        yield f"http_{status}_bare", says(head(field, end=True))
        yield f"http_{status}_html", says(head(field, ("content-type", "text/html")), body(b"<p>no", end=True))
        yield f"http_{status}_with_status_7", says(head(field, GRPC, ("grpc-status", "7"), end=True))


def resets() -> Table:
    places: dict[str, list[ReplyBytes]] = {
        "at_once": [],
        "after_head": [okh],
        "after_message": [okh, msg],
        "after_half": [okh, body(REPLY[:7])],
        "after_all": [reply],
    }
    for code in (*range(14), 0x7F):
        for place, before in places.items():
            if place not in ("after_half", "after_all") or code in (0, 2, 7, 8):
                yield f"rst_{code}_{place}", says(*before, reset(code))


def content_types() -> Table:
    kinds = ["application/grpc+proto", "application/grpc;charset=utf-8", "application/grpc+json", "Application/GRPC"]
    kinds += ["application/grpc-web", "application/grpcx", "application/json", "text/html", "", "application/grpc ;a=b"]
    for kind in kinds:
        field: Field = ("content-type", kind)
        yield f"content_type_{kind!r}", says(head(HTTP_200, field), msg, tail())
        yield f"content_type_{kind!r}_failing", says(head(HTTP_200, field, ("grpc-status", "9"), end=True))
    yield "content_type_missing", says(head(HTTP_200), msg, tail())


def words() -> Table:
    texts = [
        b"plain",
        b"caf%C3%A9",
        b"%e2%82%ac",
        b"100%, %zz %4",
        b"%FF%FE",
        b"caf\xc3\xa9",
        b"%00%0a%1b[31m",
        b"w" * 5000,
    ]
    for number, text in enumerate(texts):
        yield f"grpc_message_{number}", says(only_tail(5, ("grpc-message", text)))
    for number, value in enumerate([b"", b"CAUSBG5vcGU", b"CAUSBG5vcGU=", b"!!", b"CAUS,BG5v"]):
        yield f"details_{number}", says(only_tail(5, ("grpc-status-details-bin", value)))


def messages() -> Table:
    bodies: dict[str, bytes] = {
        "none": b"",
        "empty": message(b""),
        "two": message(b"one") + message(b"two"),
        "cut_prefix": b"\x00\x00",
        "prefix_only": b"\x00\x00\x00\x00\x01",
        "cut": b"\x00\x00\x00\x00\x06ab",
        "one_and_a_piece": REPLY + b"\x00\x00",
        "flag_1": message(b"reply", flag=1),
        "flag_2": message(b"reply", flag=2),
        "flag_255": message(b"reply", flag=255),
        "of_5_mib": b"\x00" + (5 << 20).to_bytes(4, "big") + bytes(1000),
        "of_4_gib": b"\x00\xff\xff\xff\xff" + bytes(1000),
    }
    for name, payload in bodies.items():
        yield f"message_{name}", says(okh, body(payload), tail())
        yield f"message_{name}_failing", says(okh, body(payload), tail(13))


def encodings() -> Table:
    packed = gzip.compress(b"reply", mtime=0)
    encoded: dict[str, tuple[str, bytes, int]] = {
        "gzip": ("gzip", packed, 1),
        "gzip_corrupt": ("gzip", packed[:9] + b"\xff" * 9, 1),
        "gzip_cut": ("gzip", packed[:-6], 1),
        "gzip_not_used": ("gzip", b"reply", 0),
        "br": ("br", b"reply", 1),
        "br_not_used": ("br", b"reply", 0),
        "identity": ("identity", b"reply", 1),
        "identity_not_used": ("identity", b"reply", 0),
    }
    for name, (encoding, payload, flag) in encoded.items():
        first = head(HTTP_200, GRPC, ("grpc-encoding", encoding))
        yield f"encoding_{name}", says(first, body(message(payload, flag=flag)), tail())


def shapes() -> Table:
    """The same good reply in every legal form."""
    for pad in (0, 1, 100, 255):
        yield f"data_padded_{pad}", says(okh, body(REPLY, pad=pad), tail())
        yield f"head_padded_{pad}", says(head_block(h2.RESPONSE_BLOCK, pad=pad), msg, tail())
        both = head_block(h2.RESPONSE_BLOCK, pad=pad, priority=True)
        yield f"head_padded_{pad}_with_priority", says(both, msg, tail())
    yield "head_with_priority", says(head_block(h2.RESPONSE_BLOCK, priority=True), msg, tail())
    for cuts in ([1], [5, 5], [1, 2, 3, 20], [len(WHOLE)], [0, 30]):
        pieces = [WHOLE[start:end] for start, end in pairwise([0, *cuts, len(WHOLE)])]
        yield f"head_cut_at_{cuts}", says(head_pieces(pieces), msg, tail())
    yield "trailers_cut", says(okh, msg, head_pieces([TAIL[:4], TAIL[4:]], end=True))
    for size in (1, 2, 3, 5, 9, 10, 17):
        yield f"in_chunks_of_{size}", Scripted(in_chunks(size))
    for size in (0, 1, 16_379, 16_380, 70_000, 300_000):
        yield f"reply_of_{size}", says(large(size))
    yield "message_bytewise", says(okh, bytewise(REPLY), tail())


def settings() -> Table:
    """SETTINGS at the beginning, or between the first request and its reply."""
    changes: dict[str, dict[int, int]] = {
        "unknown": {0xFA01: 7},
        "push_1": {h2.ENABLE_PUSH: 1},
        "push_2": {h2.ENABLE_PUSH: 2},
        "table_0": {h2.HEADER_TABLE_SIZE: 0},
        "table_100": {h2.HEADER_TABLE_SIZE: 100},
        "table_huge": {h2.HEADER_TABLE_SIZE: 2**32 - 1},
        "window_0": {h2.INITIAL_WINDOW_SIZE: 0},
        "window_largest": {h2.INITIAL_WINDOW_SIZE: 2**31 - 1},
        "window_too_large": {h2.INITIAL_WINDOW_SIZE: 2**31},
        "frame_1000": {h2.MAX_FRAME_SIZE: 1000},
        "frame_largest": {h2.MAX_FRAME_SIZE: 2**24 - 1},
        "frame_too_large": {h2.MAX_FRAME_SIZE: 2**24},
        "header_list_50": {h2.MAX_HEADER_LIST_SIZE: 50},
        "streams_1": {h2.MAX_CONCURRENT_STREAMS: 1},
        "streams_0": {h2.MAX_CONCURRENT_STREAMS: 0},
    }
    for name, values in changes.items():
        yield f"settings_{name}_first", Scripted(answering(reply), values)
        yield f"settings_{name}_later", says(raw(h2.settings(values)), reply)


def odd_frames() -> Table:
    """Frames before a reply; some may be ignored, some must not be."""
    before: dict[str, ReplyBytes] = {
        "unknown": on_stream(0xFA, b"grease", 0xFF),
        "altsvc": raw(frame(0x0A, 0, 0, b"\x00\x00h2=:1")),
        "priority": on_stream(h2.PRIORITY, bytes(5)),
        "priority_of_4": on_stream(h2.PRIORITY, bytes(4)),
        "priority_on_0": raw(frame(h2.PRIORITY, 0, 0, bytes(5))),
        "ping": raw(h2.ping()),
        "ping_ack": raw(h2.ping(ack=True)),
        "ping_of_7": raw(frame(h2.PING, 0, 0, bytes(7))),
        "ping_on_stream": on_stream(h2.PING, bytes(8)),
        "settings_ack": raw(h2.settings_ack()),
        "settings_ack_payload": raw(frame(h2.SETTINGS, 1, 0, bytes(6))),
        "settings_of_5": raw(frame(h2.SETTINGS, 0, 0, bytes(5))),
        "settings_on_stream": on_stream(h2.SETTINGS),
        "credit_0": raw(h2.window_update(0, 0)),
        "credit_0_on_stream": on_stream(h2.WINDOW_UPDATE, bytes(4)),
        "credit_too_much": raw(h2.window_update(0, EVERYTHING)),
        "credit_of_3": raw(frame(h2.WINDOW_UPDATE, 0, 0, bytes(3))),
        "credit_on_idle": raw(h2.window_update(99, 1)),
        "push": on_stream(h2.PUSH_PROMISE, b"\0\0\0\2\x88", h2.END_HEADERS),
        "data_on_0": raw(data(0, b"x")),
        "data_on_idle": raw(data(99, b"x")),
        "data_before_head": body(REPLY),
        "data_of_16385": lambda sid: okh(sid) + data(sid, bytes(16_385)),
        "data_pad_too_long": lambda sid: okh(sid) + frame(h2.DATA, h2.PADDED, sid, b"\x05abc"),
        "head_on_0": raw(okh(0)),
        "head_on_even": raw(okh(2)),
        "rst_on_idle": raw(h2.rst(99, h2.CANCEL)),
        "rst_of_3": on_stream(h2.RST_STREAM, bytes(3)),
        "continuation_alone": on_stream(h2.CONTINUATION, b"\x88", h2.END_HEADERS),
        "head_interrupted": lambda sid: frame(h2.HEADERS, 0, sid, b"\x88") + h2.ping(),
        "hpack_index_0": head_block(b"\x80"),
        "hpack_index_far": head_block(b"\xff\xff\x00"),
        "hpack_cut": head_block(b"\x00\x05a"),
        "interim_103": head((":status", "103")),
        "interim_100": head((":status", "100")),
    }
    for name, said in before.items():
        yield f"first_{name}", says(said, reply)


def odd_fields() -> Table:
    fields: dict[str, Field] = {
        "upper_case": ("X-Note", "a"),
        "nul": ("x-note", "a\0b"),
        "cr": ("x-note", "a\rb"),
        "connection": ("connection", "close"),
        "transfer_encoding": ("transfer-encoding", "chunked"),
        "content_length_wrong": ("content-length", "3"),
        "content_length_right": ("content-length", "10"),
        "pseudo": (":path", "/"),
        "latin_1": ("x-note", b"caf\xe9"),
        "binary": ("x-trace-bin", "AAEC"),
        "binary_bad": ("x-trace-bin", "!!!"),
        "binary_list": ("x-trace-bin", "AAEC,AAEC"),
        "of_7_kb": ("x-note", "v" * 7_000),
        "of_15_kb": ("x-note", "v" * 15_000),
        "status_twice": (":status", "200"),
    }
    for name, field in fields.items():
        yield f"head_with_{name}", says(head(HTTP_200, GRPC, field), msg, tail())
        yield f"trailers_with_{name}", says(okh, msg, tail(0, field))
    for name, status in {"of_2_digits": "20", "of_letters": "abc", "empty": ""}.items():
        yield f"http_status_{name}", says(head((":status", status), GRPC), msg, tail())
    yield "http_status_missing", says(head(GRPC), msg, tail())
    yield "head_twice", says(okh, reply)
    yield "trailers_that_do_not_end", says(okh, msg, head(("grpc-status", "0")))


def endings() -> Table:
    """GOAWAY, refusals, closed connections, and nothing at all."""
    nothing = raw(h2.goaway(0))
    calm = leave_after(h2.ENHANCE_YOUR_CALM, b"too_many_pings")
    graceful = raw(h2.goaway(EVERYTHING))
    yield "goaway_0_then_ok", says_on_first_connection(nothing)
    yield "goaway_0_closed_then_ok", says_on_first_connection(nothing, close=True)
    yield "goaway_0_always", says(nothing)
    yield "goaway_graceful_and_reply", says_on_first_connection(graceful, leave_after(), reply)
    yield "goaway_covers_and_reply", says_on_first_connection(leave_after(), reply)
    yield "goaway_covers_and_close", says_on_first_connection(leave_after(), close=True)
    yield "goaway_calm_covers_and_close", says_on_first_connection(calm, close=True)
    yield "goaway_error_covers_and_reply", says_on_first_connection(leave_after(h2.INTERNAL_ERROR), reply)
    yield "goaway_of_7", says(raw(frame(h2.GOAWAY, 0, 0, bytes(7))), reply)
    yield "goaway_on_stream", says(on_stream(h2.GOAWAY, bytes(8)), reply)
    yield "refused_then_ok", says_once(reset(h2.REFUSED_STREAM))
    yield "silent", Scripted(silent)
    yield "fin", Scripted(closing)
    yield "tcp_reset", Scripted(aborting)
    yield "close_after_head", says_on_first_connection(okh, close=True)
    yield "close_after_message", says_on_first_connection(okh, msg, close=True)
    yield "close_after_trailers", says_on_first_connection(reply, close=True)


TABLES = (
    statuses,
    http_statuses,
    resets,
    content_types,
    words,
    messages,
    encodings,
    shapes,
    settings,
    odd_frames,
    odd_fields,
    endings,
)
BEHAVIOURS: dict[str, Scripted] = {name: script for table in TABLES for name, script in table()}
