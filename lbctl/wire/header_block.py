"""One HPACK header block taken apart (RFC 7541 §3.2, §6): fields out, the dynamic table brought up to date."""

from __future__ import annotations

from typing import Final

from lbctl.wire import huffman
from lbctl.wire.header_table import DynamicTable, Field, field
from lbctl.wire.limits import HEADER_TABLE_SIZE

HARD_LIMIT: Final = 1 << 20  # decoded octets of one block
_LONGEST_INTEGER: Final = 4  # octets behind the prefix: 2^28, far above any length or index there is
_KNOWN_STRINGS: Final = 512
_LONGEST_KNOWN: Final = 64


class CompressionError(Exception):
    """The block cannot be decoded, so the connection's compression context is lost."""


class HeaderBomb(Exception):
    """The block decodes to more than the hard limit; decoding stopped half-way, so the context is lost too."""


class BlockReader:
    """Reads the blocks of one connection, in order. ``size`` is that of the last block (RFC 9113 §6.5.2).

    Fields that are plain are left out of what it returns, unless ``everything`` is wanted.
    """

    __slots__ = ("_everything", "_known", "size", "table")

    def __init__(self, *, everything: bool = False) -> None:
        self._everything = everything
        self.table = DynamicTable()
        self.size = 0
        self._known: dict[bytes, bytes] = {}  # Huffman strings that came before

    def read(self, block: bytes) -> list[Field]:
        """The fields of a block; raises CompressionError, HeaderBomb or BadIndex."""
        position, end = self._updates(block), len(block)
        table = self.table
        everything = self._everything
        fields: list[Field] = []
        size = 0
        while position < end:
            first = block[position]
            if first >= 0x80:
                index = first & 0x7F
                position += 1
                if index == 0x7F:
                    index, position = _integer(block, position, 0x7F)
                entry = table[index]
            else:
                entry, position = self._literal(block, position, first)
            size += entry.size
            if size > HARD_LIMIT:
                raise HeaderBomb(f"a header block of more than {HARD_LIMIT} bytes")
            if everything or not entry.plain:
                fields.append(entry)
        self.size = size
        return fields

    def _updates(self, block: bytes) -> int:
        """Take the table size updates, legal only at the start of a block; returns where the fields begin."""
        position = 0
        while position < len(block) and block[position] & 0xE0 == 0x20:
            size = block[position] & 0x1F
            position += 1
            if size == 0x1F:
                size, position = _integer(block, position, 0x1F)
            if size > HEADER_TABLE_SIZE:
                raise CompressionError(f"table size update to {size}, {HEADER_TABLE_SIZE} is allowed")
            self.table.resize(size)
        return position

    def _literal(self, block: bytes, position: int, first: int) -> tuple[Field, int]:
        """A literal field, of a name that has an index or of its own; kept where the peer says so."""
        kept = first >= 0x40
        if not kept and first >= 0x20:
            raise CompressionError("table size update behind a field")
        mask = 0x3F if kept else 0x0F
        index = first & mask
        position += 1
        if index == mask:
            index, position = _integer(block, position, mask)
        if index:
            name = self.table[index].name
        else:
            name, position = self._string(block, position)
        value, position = self._string(block, position)
        entry = field(name, value)
        if kept:
            self.table.add(entry)
        return entry, position

    def _string(self, block: bytes, position: int) -> tuple[bytes, int]:
        if position >= len(block):
            raise CompressionError("header block ends inside a field")
        first = block[position]
        length = first & 0x7F
        position += 1
        if length == 0x7F:
            length, position = _integer(block, position, 0x7F)
        end = position + length
        if end > len(block):
            raise CompressionError("header block ends inside a field")
        raw = block[position:end]
        return (self._plain_text(raw) if first >= 0x80 else raw), end

    def _plain_text(self, raw: bytes) -> bytes:
        known = self._known.get(raw)
        if known is not None:
            return known
        try:
            text = huffman.decode(raw)
        except huffman.BadHuffman as error:
            raise CompressionError(str(error)) from error
        if len(raw) <= _LONGEST_KNOWN:
            if len(self._known) >= _KNOWN_STRINGS:
                self._known.clear()
            self._known[raw] = text
        return text


def _integer(block: bytes, position: int, value: int) -> tuple[int, int]:
    """The rest of an integer whose prefix was full (RFC 7541 §5.1)."""
    shift = 0
    for octet in block[position : position + _LONGEST_INTEGER]:
        value += (octet & 0x7F) << shift
        position += 1
        shift += 7
        if octet < 0x80:
            return value, position
    raise CompressionError("header block ends inside a number" if position >= len(block) else "number out of range")
