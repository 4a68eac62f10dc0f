"""Counts of durations in HdrHistogram's compressed encoding (V2), which its readers in every language take.

Counts stand in an array: with three significant digits the values 0 to 2047 have one place each, 2048 to 4095 one for
two values, 4096 to 8191 one for four, and so on, 1024 places for each doubling. The array is written up to the last
count that is not 0, as signed numbers of 7 bits a byte, where a negative number is that many zeros.

    value      0    2047   2048   2049   2050   4096
    shift      0       0      1      1      1      2
    place      0    2047   2048   2048   2049   3072
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

DIGITS: Final = 3
_PLACES: Final = 1024  # for each doubling: the next power of two above 10 ** DIGITS
_COOKIE: Final = 0x1C849303 | 0x10
_COMPRESSED: Final = 0x1C849304 | 0x10


def encoded(counts: Iterable[tuple[int, int]], highest: int) -> str:
    """Encode values that are not negative, each with its count above 0; none is above ``highest``."""
    payload = b"".join(map(_bytes, _numbers(counts)))
    header = struct.pack(">iiiiqqd", _COOKIE, len(payload), 0, DIGITS, 1, highest, 1.0)
    packed = zlib.compress(header + payload)
    return base64.b64encode(struct.pack(">ii", _COMPRESSED, len(packed)) + packed).decode()


def _place(value: int) -> int:
    shift = max(value.bit_length() - _PLACES.bit_length(), 0)
    return shift * _PLACES + (value >> shift)


def _numbers(counts: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The array up to its last count, with runs of zeros as one negative number."""
    places: dict[int, int] = {}
    for value, count in counts:
        place = _place(value)
        places[place] = places.get(place, 0) + count
    end = 0
    for place in sorted(places):
        if place > end:
            yield end - place if place - end > 1 else 0
        yield places[place]
        end = place + 1


def _bytes(signed: int) -> bytes:
    """Seven bits a byte, the lowest first, the sign in the lowest of all; below 2 ** 55."""
    rest, found = (signed << 1) if signed >= 0 else (-signed << 1) - 1, bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
