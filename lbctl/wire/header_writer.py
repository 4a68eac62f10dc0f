"""Request header blocks: indexed once per connection, then the same bytes for every call.

Mode A: the first block of a header set inserts its stable fields into the peer's dynamic table; later blocks are
indexed fields only. Values that vary per call are literals without indexing, which never move the table, so a
template stays valid until the next insert or resize (its generation).
Mode B: literals only, context-free; used for ever once the peer offers a table below 4096 octets (its next block
starts with a size update to 0, which is legal under any offer) and for header sets past the budget.
"""

from __future__ import annotations

from typing import Final

from hpack import Encoder

from lbctl.wire.request import Headers, Request

TABLE_SIZE: Final = 4096
_BUDGET: Final = 3072  # octets of the dynamic table that header sets may use together
_ENTRY_OVERHEAD: Final = 32  # RFC 7541 §4.1
_PLAIN: Final = 0x00  # literal without indexing
_NEVER: Final = 0x10  # literal never indexed
_EMPTY_TABLE: Final = b"\x20"  # dynamic table size update to 0


class HeaderWriter:
    """The compression context of one connection's requests.

    A block that was made must be written, in order: the peer's table has moved on.
    """

    def __init__(self) -> None:
        self.generation = 0  # changes whenever blocks made before may no longer be repeated
        self._encoder = Encoder()
        self._templates: dict[Headers, bytes] = {}
        self._inserted: set[Headers] = set()
        self._used = 0
        self._literal_only = False
        self._update_due = False

    def offer(self, table_size: int) -> None:
        """The peer's SETTINGS_HEADER_TABLE_SIZE changed; larger offers than ours need nothing."""
        if table_size < TABLE_SIZE and not self._literal_only:
            self._literal_only = True
            self._update_due = True
            self.generation += 1
            self._templates.clear()

    def is_stable(self, request: Request) -> bool:
        """Whether ``block`` would return the same bytes again and leave the table as it is."""
        if self._update_due:
            return False
        headers = request.headers()
        return headers in self._templates or self._literal_only or not self._fits(headers)

    def block(self, request: Request, timeout_ns: int) -> bytes:
        """The next header block for this request, stating this deadline (0 for none)."""
        prefix, self._update_due = (_EMPTY_TABLE if self._update_due else b""), False
        varying = b"".join(literal(name, value) for name, value in request.varying(timeout_ns))
        secret = b"".join(literal(name, value, _NEVER) for name, value in request.secrets())
        return prefix + self._stable(request.headers()) + varying + secret

    def _stable(self, headers: Headers) -> bytes:
        known = self._templates.get(headers)
        if known is not None:
            return known
        if self._literal_only or not self._fits(headers):
            return b"".join(literal(name, value) for name, value in headers)
        first = bytes(self._encoder.encode(headers))
        if headers not in self._inserted:
            # The insert moved the indices that earlier templates are made of.
            self._inserted.add(headers)
            self._used += _table_size(headers)
            self.generation += 1
            self._templates.clear()
        # Every field is in a table now, so encoding again inserts nothing: an all-indexed block.
        self._templates[headers] = bytes(self._encoder.encode(headers))
        return first

    def _fits(self, headers: Headers) -> bool:
        return headers in self._inserted or self._used + _table_size(headers) <= _BUDGET


def _table_size(headers: Headers) -> int:
    return sum(len(name) + len(value) + _ENTRY_OVERHEAD for name, value in headers)


def own_fields(request: Request, own: Headers) -> bytes:
    """The metadata of one call alone, to be put behind the block of the request."""
    return b"".join([literal(name, value, _NEVER if request.is_secret(name) else _PLAIN) for name, value in own])


def literal(name: bytes, value: bytes, kind: int = _PLAIN) -> bytes:
    """One field as a literal with a literal name, no Huffman: never touches a dynamic table."""
    return bytes((kind,)) + _string(name) + _string(value)


def _string(raw: bytes) -> bytes:
    """An HPACK string: seven-bit prefix integer, then the octets."""
    length = len(raw)
    if length < 0x7F:
        return bytes((length,)) + raw
    encoded = bytearray((0x7F,))
    rest = length - 0x7F
    while rest >= 0x80:
        encoded.append(0x80 | (rest & 0x7F))
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded) + raw
