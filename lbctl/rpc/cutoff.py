"""Which calls a write was too much for."""

from __future__ import annotations

from lbctl.wire.frames import DATA, END_STREAM, HEAD, HEADER_SIZE, HEADERS, PREFACE


def first_cut_off(data: bytes, taken: int) -> int:
    """The first stream that is opened in these whole frames and not ended within the first ``taken`` octets, or 0."""
    at = len(PREFACE) if data.startswith(PREFACE) else 0
    opened: list[int] = []
    ended: set[int] = set()
    while at < len(data):
        word, flags, stream = HEAD.unpack_from(data, at)
        at += HEADER_SIZE + (word >> 8)
        if word & 0xFF == HEADERS:
            opened.append(stream)
        elif word & 0xFF == DATA and flags & END_STREAM and at <= taken:
            ended.add(stream)
    return next((stream for stream in opened if stream not in ended), 0)
