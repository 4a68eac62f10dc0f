"""Reads HTTP/2 as it passes by: which calls a client starts, and what both sides say about the connection.

Nothing is changed and nothing answered; DATA is skipped without being kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from hpack import Decoder
from hpack.exceptions import HPACKError

from lbctl.wire.frames import error_name

PREFACE_SIZE: Final = 24
_HEAD: Final = 9
_LOOKS: Final = 64  # header blocks of one connection
_ENOUGH: Final = 1 << 24  # what the peers allow each other is theirs to say

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
_ACK, _END_HEADERS, _PADDED, _PRIORITY = 1, 4, 8, 0x20

OnFrame = Callable[[int, int, int, bytes], None]  # kind, flags, stream, payload


class Frames:
    """Splits one direction into frames; payloads of the kinds nobody asked for are skipped."""

    def __init__(self, wanted: frozenset[int], on_frame: OnFrame, *, preface: int = 0) -> None:
        self._wanted = wanted
        self._on_frame = on_frame
        self._skip = preface
        self._kept = b""

    def feed(self, data: bytes) -> None:
        """Take what was read; complete frames are told at once."""
        data = self._kept + data if self._kept else data
        at, size = 0, len(data)
        while True:
            step = min(self._skip, size - at)
            at += step
            self._skip -= step
            if self._skip or size - at < _HEAD:
                break
            length = int.from_bytes(data[at : at + 3], "big")
            kind, flags = data[at + 3], data[at + 4]
            if kind not in self._wanted:
                self._skip = _HEAD + length
                continue
            if size - at < _HEAD + length:
                break
            stream = int.from_bytes(data[at + 5 : at + _HEAD], "big") & 0x7FFF_FFFF
            at += _HEAD
            self._on_frame(kind, flags, stream, data[at : at + length])
            at += length
        self._kept = data[at:]


class ClientSide:
    """What a client says: ``on_call`` gets the value of one header of every call it starts."""

    def __init__(self, header: bytes, on_call: Callable[[bytes], None], counters: Counter[str]) -> None:
        wanted = frozenset({HEADERS, CONTINUATION, SETTINGS, RST_STREAM})
        self._frames = Frames(wanted, self._frame, preface=PREFACE_SIZE)
        self.feed = self._frames.feed
        self.acknowledged = False  # the server's SETTINGS are in force
        self._header = header
        self._on_call = on_call
        self._counters = counters
        self._block = b""
        self._decoder = _decoder()

    def _frame(self, kind: int, flags: int, _: int, payload: bytes) -> None:
        if kind == SETTINGS:
            self.acknowledged = self.acknowledged or bool(flags & _ACK)
            return
        if kind == RST_STREAM:
            self._counters[f"rst_sent: {_code(payload)}"] += 1
            return
        self._block += _fragment(flags, payload) if kind == HEADERS else payload
        if flags & _END_HEADERS:
            block, self._block = self._block, b""
            self._head(block)

    def _head(self, block: bytes) -> None:
        try:
            fields = self._decoder.decode(block, raw=True)
        except HPACKError:
            self._counters["anomaly: a request header block could not be read"] += 1
            return
        for name, value in fields:
            if name == self._header:
                self._on_call(value)


class ServerSide:
    """What a server says: whether it is one, its resets, GOAWAYs and PINGs, and whether its first replies have a field.

    ``found``: a reply had the field that is sought.
    """

    def __init__(self, counters: Counter[str], seek: bytes = b"") -> None:
        wanted = frozenset({SETTINGS, RST_STREAM, GOAWAY, PING})
        if seek:
            wanted |= {HEADERS, CONTINUATION}
        self.found = False
        self._seek = seek
        self._looks = _LOOKS
        self._block = b""
        self._decoder = _decoder()
        self._frames = Frames(wanted, self._frame)
        self._counters = counters
        self._start = b""
        self.greeted = False  # its SETTINGS came
        self.flaw = ""  # why it cannot be a gRPC server

    def feed(self, data: bytes) -> None:
        """Take what was read; once there is a flaw nothing more is looked at."""
        if len(self._start) < _HEAD:
            self._start += data[:_HEAD]
            self.flaw = _flaw(self._start)
        if not self.flaw:
            self._frames.feed(data)

    def _frame(self, kind: int, flags: int, _: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & _ACK:
            self.greeted = True
            self._counters["settings"] += 1
        elif kind == RST_STREAM:
            self._counters[f"rst_received: {_code(payload)}"] += 1
        elif kind == GOAWAY:
            debug = payload[8:].decode("utf-8", "replace")
            self._counters[f"goaway: {_code(payload[4:8])}" + (f' "{debug}"' if debug else "")] += 1
        elif kind == PING and not flags & _ACK:
            self._counters["pings"] += 1
        elif kind in (HEADERS, CONTINUATION) and self._looks:
            self._block += _fragment(flags, payload) if kind == HEADERS else payload
            if flags & _END_HEADERS:
                block, self._block = self._block, b""
                self._look(block)

    def _look(self, block: bytes) -> None:
        """Look for the field; after enough blocks, or one that does not decode, no more."""
        try:
            self.found = any(name == self._seek for name, _ in self._decoder.decode(block, raw=True))
        except HPACKError:
            self._looks = 0
            return
        self._looks = 0 if self.found else self._looks - 1


def _decoder() -> Decoder:
    decoder = Decoder(max_header_list_size=_ENOUGH)
    decoder.max_allowed_table_size = _ENOUGH
    return decoder


def _fragment(flags: int, payload: bytes) -> bytes:
    """The header block of a HEADERS frame, without padding and priority."""
    end = len(payload)
    at = 0
    if flags & _PADDED:
        at, end = 1, end - payload[0]
    return payload[at + 5 if flags & _PRIORITY else at : end]


def _code(payload: bytes) -> str:
    return error_name(int.from_bytes(payload[:4], "big"))


def _flaw(start: bytes) -> str:
    if start.startswith(b"HTTP/"):
        return "the peer speaks HTTP/1.x"
    return "the peer does not speak HTTP/2" if len(start) >= 4 and start[3] != SETTINGS else ""
