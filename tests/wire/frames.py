"""HTTP/2 frames as bytes, written by hand: independent of the engine and allowed to be wrong on purpose."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
KINDS = (
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
)

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR = range(
    7
)
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY, HTTP_1_1_REQUIRED = (
    range(7, 14)
)
ERRORS = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7)
)

DEFAULT_WINDOW = 65_535
LARGEST_WINDOW = 2**31 - 1
LARGEST_FRAME = 16_384

Text = str | bytes
Field = tuple[Text, Text]
ReplyBytes = Callable[[int], bytes]  # stream id -> everything the server says on it

# Context-free header blocks: :status 200 and content-type application/grpc, both from the static table's names.
RESPONSE_BLOCK = bytes.fromhex("88 0f10 10 6170706c69636174696f6e2f67727063")


class Frame(NamedTuple):
    """One frame as it was on the wire."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def number(self) -> int:
        """The last four bytes of the payload: an RST code, a window increment, a GOAWAY code at its place."""
        at = 4 if self.kind == GOAWAY else 0
        return int.from_bytes(self.payload[at : at + 4], "big")

    def __str__(self) -> str:
        name = KINDS[self.kind] if self.kind < len(KINDS) else f"type {self.kind:#x}"
        shown = self.payload[:12].hex() + ("…" if len(self.payload) > 12 else "")
        return f"{name}(stream={self.stream}, flags={self.flags:#x}, {len(self.payload)} bytes: {shown})"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Any frame; nothing is checked. A stream with the top bit set writes the reserved bit."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def split(buffer: bytes | bytearray) -> tuple[list[Frame], int]:
    """The complete frames at the front of ``buffer``, and how many bytes they took."""
    frames: list[Frame] = []
    at = 0
    while len(buffer) - at >= 9:
        length = int.from_bytes(buffer[at : at + 3], "big")
        if len(buffer) - at - 9 < length:
            break
        stream = int.from_bytes(buffer[at + 5 : at + 9], "big") & 0x7FFFFFFF
        frames.append(Frame(buffer[at + 3], buffer[at + 4], stream, bytes(buffer[at + 9 : at + 9 + length])))
        at += 9 + length
    return frames, at


def as_bytes(text: Text) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _hpack_string(text: Text) -> bytes:
    raw = as_bytes(text)
    if len(raw) < 127:
        return bytes((len(raw),)) + raw
    rest, length = len(raw) - 127, b"\x7f"
    while rest >= 128:
        length += bytes((rest % 128 + 128,))
        rest //= 128
    return length + bytes((rest,)) + raw


def literal(name: Text, value: Text, *, indexed: bool = False) -> bytes:
    """One field with its name spelled out; ``indexed`` also puts it into the dynamic table."""
    return (b"\x40" if indexed else b"\x00") + _hpack_string(name) + _hpack_string(value)


def block(*fields: Field) -> bytes:
    """A header block that reads no table and changes none."""
    return b"".join(literal(name, value) for name, value in fields)


def _padded(payload: bytes, pad: int | None) -> tuple[bytes, int]:
    return (payload, 0) if pad is None else (bytes((pad,)) + payload + bytes(pad), PADDED)


def header_frame(
    stream: int, fragment: bytes, *, end: bool = False, pad: int | None = None, priority: bool = False
) -> bytes:
    """One HEADERS frame with END_HEADERS around an encoded block."""
    flags = END_HEADERS | (END_STREAM if end else 0)
    if priority:
        fragment, flags = b"\x00\x00\x00\x00\x10" + fragment, flags | WITH_PRIORITY
    fragment, padded = _padded(fragment, pad)
    return frame(HEADERS, flags | padded, stream, fragment)


def headers(stream: int, *fields: Field, end: bool = False) -> bytes:
    return header_frame(stream, block(*fields), end=end)


def scattered(stream: int, fragments: Iterable[bytes], *, end: bool = False) -> bytes:
    """A block in one HEADERS and as many CONTINUATION frames as there are further fragments."""
    first, *rest = fragments
    out = frame(HEADERS, (END_STREAM if end else 0) | (0 if rest else END_HEADERS), stream, first)
    for left, fragment in zip(range(len(rest) - 1, -1, -1), rest, strict=True):
        out += frame(CONTINUATION, 0 if left else END_HEADERS, stream, fragment)
    return out


def data(stream: int, payload: bytes = b"", *, end: bool = False, pad: int | None = None) -> bytes:
    payload, padded = _padded(payload, pad)
    return frame(DATA, (END_STREAM if end else 0) | padded, stream, payload)


def settings(values: Mapping[int, int] | None = None) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HL", key, value) for key, value in (values or {}).items()))


def settings_ack() -> bytes:
    return frame(SETTINGS, ACK)


def ping(payload: bytes = b"lbctl-01", *, ack: bool = False) -> bytes:
    return frame(PING, ACK if ack else 0, 0, payload)


def rst(stream: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def goaway(last: int, code: int = NO_ERROR, debug: bytes = b"") -> bytes:
    return frame(GOAWAY, 0, 0, struct.pack(">LL", last, code) + debug)


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


# ---- gRPC on top -----------------------------------------------------------------------------------------------------


def message(body: bytes, *, flag: int = 0) -> bytes:
    """A length-prefixed gRPC message."""
    return bytes((flag,)) + len(body).to_bytes(4, "big") + body


def okh(stream: int) -> bytes:
    """Response headers: 200, application/grpc."""
    return header_frame(stream, RESPONSE_BLOCK)


def msg(stream: int, body: bytes = b"reply") -> bytes:
    """One message in DATA frames of the default size."""
    whole = message(body)
    return b"".join(data(stream, whole[at : at + LARGEST_FRAME]) for at in range(0, len(whole), LARGEST_FRAME))


def trailers(stream: int, status: int | Text = 0, *more: Field) -> bytes:
    """Trailers with a grpc-status, ending the stream."""
    text = str(status) if isinstance(status, int) else status
    return headers(stream, ("grpc-status", text), *more, end=True)


def trailers_only(stream: int, status: int | Text, *more: Field) -> bytes:
    text = str(status) if isinstance(status, int) else status
    fields = block(("grpc-status", text), *more)
    return header_frame(stream, RESPONSE_BLOCK + fields, end=True)


def reply(stream: int, body: bytes = b"reply") -> bytes:
    """A whole successful answer."""
    return okh(stream) + msg(stream, body) + trailers(stream)
