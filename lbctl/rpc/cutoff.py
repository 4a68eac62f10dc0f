"""Which calls a write was too much for."""

from __future__ import annotations

from typing import NamedTuple

from lbctl.wire.frames import DATA, END_STREAM, HEAD, HEADER_SIZE, HEADERS, PREFACE


class CutOff(NamedTuple):
    """Streams whose requests have not gone: those that begin in a write, and those that only end in it."""

    begun: frozenset[int]
    ended: frozenset[int]


def cut_off(data: bytes, taken: int) -> CutOff:
    """What is not within the first ``taken`` octets of these whole frames.

    A request has gone with its end. One that begins here and does not end here has gone with its first DATA.
    """
    at = len(PREFACE) if data.startswith(PREFACE) else 0
    begun: set[int] = set()
    gone_at: dict[int, int] = {}  # where a stream's request has gone
    while at < len(data):
        word, flags, stream = HEAD.unpack_from(data, at)
        at += HEADER_SIZE + (word >> 8)
        kind = word & 0xFF
        if kind == HEADERS:
            begun.add(stream)
            gone_at[stream] = len(data)
        elif kind == DATA and (flags & END_STREAM or gone_at.get(stream) == len(data)):
            gone_at[stream] = at
    late = frozenset(stream for stream, where in gone_at.items() if where > taken)
    return CutOff(late & begun, late - begun)
