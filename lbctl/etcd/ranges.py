"""Key ranges as etcd means them: from a key up to, not including, another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

OPEN_END = b"\0"  # etcd's spelling of "to the last key"


class KeyRange(NamedTuple):
    """``start <= key < end``; an end of ``OPEN_END`` means no end."""

    start: bytes
    end: bytes


def prefix_end(prefix: bytes) -> bytes:
    r"""Return the first key after all keys with this prefix: cut trailing ``\xff``, then add one.

    A prefix of nothing but ``\xff`` (or of nothing) has no such key: ``OPEN_END``.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else OPEN_END


def prefix_range(prefix: bytes) -> KeyRange:
    """Return the range of all keys with this prefix; the empty prefix means every key."""
    return KeyRange(prefix or b"\0", prefix_end(prefix))


def overlap(one: KeyRange, other: KeyRange) -> KeyRange | None:
    """Return the keys that are in both ranges; None where there can be none."""
    ends = [end for end in (one.end, other.end) if end != OPEN_END]
    start, end = max(one.start, other.start), min(ends, default=OPEN_END)
    return KeyRange(start, end) if end == OPEN_END or start < end else None


def parts(ranges: Iterable[KeyRange], allowed: Sequence[KeyRange]) -> tuple[KeyRange, ...]:
    """Return what of the ranges is within the allowed ones, in the order of the ranges."""
    return tuple(part for each in ranges for keys in allowed if (part := overlap(each, keys)))


def gaps(prefixes: Iterable[bytes]) -> tuple[KeyRange, ...]:
    """Return what is left of the keyspace without these prefixes, in order."""
    return outside(map(prefix_range, prefixes))


def outside(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """Return what is left of the keyspace without these ranges, in order."""
    found: list[KeyRange] = []
    start = b"\0"
    for each in sorted(ranges):
        if each.start > start:
            found.append(KeyRange(start, each.start))
        if each.end == OPEN_END:
            return tuple(found)
        start = max(start, each.end)
    return (*found, KeyRange(start, OPEN_END))


def outermost(prefixes: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the prefixes that are not within another one, in order."""
    found: list[bytes] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return tuple(found)
