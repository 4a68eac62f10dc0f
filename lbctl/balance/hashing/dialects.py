"""Rings with virtual nodes as others build them: how many points a node has, where they are, and how keys are hashed.

name         points of a node                                  hash of a key   equal points
crc32        100 x crc32(number + address)                     crc32           the last node's
groupcache   50 x crc32(number + address)                      crc32           the last node's
ketama       float32(part) x 40 n MD5 of address-number,       MD5, 1 word     the first node's
             4 little-endian words each
twemproxy    the same, rounded as its C does               FNV-1a, 32 bits the first node's
gozero       100 x murmur3(address + number)                   murmur3         the first node's
dubbo        40 MD5 of address + number, 4 words each          MD5, 1 word     the last node's
nginx        160 x weight: each crc32 of host, 0, port and     crc32           the first node's
             the point before
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Final

from lbctl.balance.hashing.functions import crc32, md5_first, md5_words, murmur3
from lbctl.balance.hashing.ring import Ring

_SHORT: Final = 32  # bytes of a key for which a number of a few words is quicker than one that is cut at every step
MOST_POINTS: Final = 1 << 19  # of a ring: beyond, every node gets its part of so many


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to build a ring. ``counts`` says how many points each node has, by weights and virtual nodes."""

    name: str
    replicas: int
    points: Callable[[str, int], Sequence[int]]
    key: Callable[[bytes], int]
    counts: Callable[[Sequence[float], int], list[int]]
    by_weight: bool = False  # whether weights count in the original
    bits: int = 32
    last: bool = False


def same(weights: Sequence[float], replicas: int) -> list[int]:
    """As many points for everybody."""
    return [replicas] * len(weights)


def proportional(weights: Sequence[float], replicas: int) -> list[int]:
    """Points by weight, so that another node's weight changes nothing."""
    return [max(1, round(replicas * weight)) for weight in weights]


def _percent(weights: Sequence[float], replicas: int) -> list[int]:
    """Points by weights that are per cent of what one node can be."""
    return [max(1, math.floor(replicas * min(weight, 100.0) / 100)) for weight in weights]


def _ketama_counts(weights: Sequence[float], replicas: int) -> list[int]:
    """Points by the part of all weights, in the single precision of the original."""
    total, digests = sum(weights), max(1.0, replicas / 4) * len(weights)
    counts = [4 * math.floor(_single(_single(weight / total) * digests)) for weight in weights]
    return counts if any(counts) else [4] * len(weights)


def _twemproxy_counts(weights: Sequence[float], replicas: int) -> list[int]:
    """Points as ketama has them, but every step is in single precision, and a little is added to the last."""
    total, nodes = _single(sum(weights)), len(weights)
    counts = []
    for weight in weights:
        points = _single(_single(_single(_single(weight) / total) * max(4, replicas)) / 4)
        counts.append(4 * math.floor(_single(_single(points * nodes) + 1e-10)))
    return counts if any(counts) else [4] * nodes


def _twemproxy_key(key: bytes) -> int:
    """FNV-1a of 64 bits of which only the lower 32 are kept at every step; bytes are signed, as chars are."""
    found = 0x84222325
    if len(key) <= _SHORT and key.isascii():  # what is above 32 bits changes nothing below
        for byte in key:
            found = (found ^ byte) * 0x1B3
        return found & 0xFFFFFFFF
    for byte in key:
        found = (found ^ (byte if byte < 0x80 else byte | 0xFFFFFF00)) * 0x1B3 & 0xFFFFFFFF
    return found


def _single(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


def _crc32_points(address: str, count: int) -> list[int]:
    begun = _crc32_of_numbers((count - 1).bit_length())
    return list(map(crc32, repeat(address.encode(), count), begun))


@lru_cache(maxsize=8)
def _crc32_of_numbers(bits: int) -> list[int]:
    """The crc32 of every number of so many bits; that of a number and an address goes on from there."""
    return [crc32(b"%d" % number) for number in range(1 << bits)]


def _nginx_points(address: str, count: int) -> list[int]:
    host, port = _host_and_port(address)
    base = crc32(host + b"\0" + port)
    points, point = [], 0
    for _ in range(count):
        point = crc32(point.to_bytes(4, "little"), base)
        points.append(point)
    return points


def _host_and_port(address: str) -> tuple[bytes, bytes]:
    if address.startswith("unix:"):
        return address.removeprefix("unix:").encode(), b""
    host, _, port = address.rpartition(":")
    return host.encode(), port.encode()


def _ketama_points(address: str, count: int) -> list[int]:
    return [word for number in range(count // 4) for word in md5_words(f"{address}-{number}".encode())]


def _dubbo_points(address: str, count: int) -> list[int]:
    return [word for number in range(-(-count // 4)) for word in md5_words(f"{address}{number}".encode())][:count]


def _gozero_points(address: str, count: int) -> list[int]:
    node = address.encode()
    return [murmur3(b"%b%d" % (node, number)) for number in range(count)]


DIALECTS: Final[dict[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect("crc32", 100, _crc32_points, crc32, same, last=True),
        Dialect("groupcache", 50, _crc32_points, crc32, same, last=True),
        Dialect("ketama", 160, _ketama_points, md5_first, _ketama_counts, by_weight=True),
        Dialect("twemproxy", 160, _ketama_points, _twemproxy_key, _twemproxy_counts, by_weight=True),
        Dialect("gozero", 100, _gozero_points, murmur3, same, bits=64),
        Dialect("dubbo", 160, _dubbo_points, md5_first, same, last=True),
        Dialect("nginx", 160, _nginx_points, crc32, proportional, by_weight=True),
    )
}


# A ring follows from its arguments. Backends that come and go, or are out of the rotation for a while, make the same
# few sets again and again.
@lru_cache(maxsize=8)
def ring_of(
    name: str, addresses: Sequence[str], weights: Sequence[float], replicas: int = 0, *, weighted: bool = False
) -> Ring:
    """The ring over these nodes; 0 replicas are those of the dialect, ``weighted`` has weights count in any case."""
    dialect = DIALECTS[name]
    counts = dialect.counts
    if weighted and not dialect.by_weight:
        counts = _percent if name == "gozero" else proportional
    wanted = cut(counts(weights, replicas or dialect.replicas))
    nodes = [dialect.points(address, count) for address, count in zip(addresses, wanted, strict=True)]
    return Ring(nodes, dialect.bits, last=dialect.last)


def cut(counts: list[int], most: int = MOST_POINTS) -> list[int]:
    """The points of every node where all together would be too many: in proportion, but at least one."""
    total = sum(counts)
    return counts if total <= most else [max(1, count * most // total) for count in counts]
