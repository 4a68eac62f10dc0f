"""Response header blocks: decoded by hpack, answered from a cache only while that is provably right.

The same bytes mean other headers once the dynamic table has changed. So the table counts its changes, a decode that
changed it empties the cache and is not stored, and what the cache holds is therefore always true of the table as it is.
"""

from __future__ import annotations

from typing import Final

from hpack import Decoder
from hpack.exceptions import HPACKError, OversizedHeaderListError
from hpack.table import HeaderTable

from lbctl.wire.head import Head, parse

HARD_LIMIT: Final = 1 << 20  # decoded octets of one block
_CACHE_SIZE: Final = 256


class CompressionError(Exception):
    """The block cannot be decoded, so the connection's compression context is lost."""


class HeaderBomb(Exception):
    """The block decodes to more than the hard limit; decoding stopped half-way, so the context is lost too."""


class _CountingTable(HeaderTable):
    """A dynamic table that counts its inserts; an insert is also the only cause of an eviction but a size update."""

    def __init__(self) -> None:
        self.inserts = 0
        super().__init__()

    def add(self, name: bytes, value: bytes) -> None:
        self.inserts += 1
        super().add(name, value)


class HeaderReader:
    """The decompression context of one connection. ``cache`` maps complete blocks to heads; read it, never write."""

    __slots__ = ("_decoder", "_table", "cache", "decoded", "read_blocks")

    def __init__(self) -> None:
        self._decoder = Decoder(max_header_list_size=HARD_LIMIT)
        self._table = _CountingTable()
        self._decoder.header_table = self._table
        self.cache: dict[bytes, Head] = {}
        self.read_blocks = 0  # by ``read``; what is found in ``cache`` directly is not in it
        self.decoded = 0

    def read(self, block: bytes) -> Head:
        """The head of a complete block (continuation joined, padding and priority removed).

        Raises CompressionError or HeaderBomb, both fatal for the connection.
        """
        self.read_blocks += 1
        known = self.cache.get(block)
        if known is not None:
            return known
        before = self._table.inserts
        self.decoded += 1
        try:
            # raw: a value that is not UTF-8 must not raise after the table has changed.
            fields = self._decoder.decode(block, raw=True)
        except OversizedHeaderListError as error:
            raise HeaderBomb(str(error)) from error
        except (HPACKError, UnicodeDecodeError, ValueError, IndexError) as error:
            raise CompressionError(str(error)) from error
        head = parse([(bytes(name), bytes(value)) for name, value in fields])
        self._remember(block, head, changed=self._table.inserts != before or _resizes(block))
        return head

    def _remember(self, block: bytes, head: Head, *, changed: bool) -> None:
        if changed:
            self.cache.clear()
            return
        if len(self.cache) >= _CACHE_SIZE:
            self.cache.clear()
        self.cache[bytes(block)] = head


def _resizes(block: bytes) -> bool:
    """Whether the block begins with a dynamic table size update, the only place where one is legal."""
    return block[:1] != b"" and block[0] & 0xE0 == 0x20
