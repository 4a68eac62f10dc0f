"""HTTP/2 frames as bytes: types, flags, error codes and builders (RFC 9113 §4, §6, §7)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_SIZE: Final = 9
MAX_FRAME_SIZE: Final = 16_384  # what we accept; we never raise it
MAX_WINDOW: Final = (1 << 31) - 1
DEFAULT_WINDOW: Final = 65_535

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY_FLAG: Final = 0x20

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE_SETTING: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

# Length and type in one 32-bit word (length << 8 | type), then flags, then the stream id with its reserved bit.
HEAD: Final = struct.Struct(">IBI")


class ErrorCode(IntEnum):
    """The HTTP/2 error codes of RST_STREAM and GOAWAY (RFC 9113 §7)."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


def error_name(code: int) -> str:
    """The name of an error code, or its number in hex where the registry has none."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"0x{code:x}"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame; the payload must fit the peer's MAX_FRAME_SIZE."""
    return HEAD.pack((len(payload) << 8) | kind, flags, stream) + payload


def settings(values: Iterable[tuple[int, int]]) -> bytes:
    """A SETTINGS frame with these (identifier, value) pairs, in order."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", name, value) for name, value in values))


def settings_ack() -> bytes:
    """The acknowledgement of the peer's SETTINGS."""
    return frame(SETTINGS, ACK, 0)


def ping_ack(payload: bytes) -> bytes:
    """The echo of a peer's PING."""
    return frame(PING, ACK, 0, payload)


def window_update(stream: int, increment: int) -> bytes:
    """Credit for the peer; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


def rst_stream(stream: int, code: int) -> bytes:
    """The immediate end of one stream."""
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def goaway(code: int, debug: str = "") -> bytes:
    """Our GOAWAY: the last stream id is 0 since a client accepts no streams."""
    return frame(GOAWAY, 0, 0, struct.pack(">II", 0, code) + debug.encode()[:128])


def header_frames(stream: int, block: bytes, limit: int) -> bytes:
    """HEADERS without END_STREAM and the CONTINUATION frames a block above ``limit`` octets needs."""
    pieces = [block[start : start + limit] for start in range(0, len(block), limit)] or [b""]
    last = len(pieces) - 1
    return b"".join(
        frame(CONTINUATION if index else HEADERS, END_HEADERS if index == last else 0, stream, piece)
        for index, piece in enumerate(pieces)
    )
