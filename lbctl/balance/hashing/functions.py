"""The hash functions of keys and of nodes: whole numbers, never negative."""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import Final
from zlib import crc32

from mmh3 import hash64
from xxhash import xxh64_intdigest as xxh64

try:  # for the few bytes of a key CPython's own is twice as fast as OpenSSL's, but it can be built without
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:
    from hashlib import md5 as slow_md5

    md5 = partial(slow_md5, usedforsecurity=False)

WORD: Final = 1 << 64
_WORDS: Final = Struct("<4I")
_first_word: Final = Struct("<I").unpack_from
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3

__all__ = ["WORD", "crc32", "fnv1a", "md5_first", "md5_words", "murmur3", "xxh64"]


def md5_words(data: bytes) -> tuple[int, int, int, int]:
    """The four little-endian words of an MD5 digest."""
    first, second, third, fourth = _WORDS.unpack(md5(data).digest())
    return first, second, third, fourth


def md5_first(data: bytes) -> int:
    """The first little-endian word of an MD5 digest."""
    first: int = _first_word(md5(data).digest())[0]
    return first


def murmur3(data: bytes) -> int:
    """The first half of MurmurHash3 x64 128, which Go's package calls Sum64."""
    return hash64(data, signed=False)[0]  # by name: by place mmh3 5.3 does not heed it


def fnv1a(data: bytes) -> int:
    """FNV-1a of 64 bits."""
    value = _FNV_OFFSET
    for octet in data:
        value = (value ^ octet) * _FNV_PRIME % WORD
    return value
