"""The decoder's tables of HPACK (RFC 7541 §2.3, §4): the static one and the dynamic one of a connection.

A field is kept with what the reader wants to know of it: its size, and whether it can be skipped. Most fields of a
reply say nothing about a call's status (a date, a request id, a server's name), and knowing that once, when a field
enters the table, is what makes replies with fields of their own affordable.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hpack.table import HeaderTable

from lbctl.wire.limits import HEADER_TABLE_SIZE

_OVERHEAD: Final = 32
_ODD: Final = re.compile(rb"[A-Z\x00\r\n]")  # in a name
_FORBIDDEN: Final = re.compile(rb"[\x00\r\n]")  # in a value
PUSHBACK: Final = b"grpc-retry-pushback-ms"
LOAD_REPORT: Final = b"endpoint-load-metrics-bin"
_TELLING: Final = frozenset(
    {
        *(PUSHBACK, LOAD_REPORT),
        *(b"content-type", b"content-length", b"grpc-status", b"grpc-message", b"grpc-encoding"),
        *(b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"),
    }
)


class Field(NamedTuple):
    """A header field. ``plain``: it is legal and says nothing about how a call ended."""

    name: bytes
    value: bytes
    size: int
    plain: bool


def field(name: bytes, value: bytes) -> Field:
    """A field with what is to be known of it."""
    telling = name in _TELLING or name[:1] == b":" or name[-4:] == b"-bin"
    plain = not telling and _ODD.search(name) is None and _FORBIDDEN.search(value) is None
    return Field(name, value, len(name) + len(value) + _OVERHEAD, plain)


STATIC: Final = (field(b"", b""), *(field(name, value) for name, value in HeaderTable.STATIC_TABLE))


class BadIndex(Exception):
    """No field has this index."""


class DynamicTable:
    """The peer's own fields, the newest last; ``changes`` counts what may give a block another meaning."""

    __slots__ = ("_fields", "_maximum", "_size", "changes")

    def __init__(self) -> None:
        self.changes = 0
        self._fields: list[Field] = []
        self._maximum = HEADER_TABLE_SIZE
        self._size = 0

    def __getitem__(self, index: int) -> Field:
        """The field of this index, static or dynamic; raises BadIndex."""
        if 0 < index < len(STATIC):
            return STATIC[index]
        place = len(self._fields) - 1 - (index - len(STATIC))
        if index <= 0 or place < 0:
            raise BadIndex(f"no header field has the index {index}")
        return self._fields[place]

    def add(self, entry: Field) -> None:
        """Insert a field; older ones make room, and one that is larger than the table empties it."""
        self.changes += 1
        self._fields.append(entry)
        self._size += entry.size
        if self._size > self._maximum:
            self._evict()

    def resize(self, maximum: int) -> None:
        """Take a size update of the peer, which must not be above what we allow."""
        self.changes += 1
        self._maximum = maximum
        self._evict()

    def _evict(self) -> None:
        gone = 0
        while self._size > self._maximum:
            self._size -= self._fields[gone].size
            gone += 1
        del self._fields[:gone]
