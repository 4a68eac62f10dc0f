"""Response header blocks: taken apart only where their meaning is not known already.

The same bytes mean other headers once the dynamic table has changed. So the table counts its changes, a block that
changed it empties the cache and is not stored, and what the cache holds is therefore always true of the table as it is.
Behind that is a second cache, of heads by the fields that tell: a block with a date or a request id of its own has to
be taken apart each time, and what is left of it then is one of a few known heads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lbctl.wire.head import NOT_FAST, Head, parse
from lbctl.wire.header_block import BlockReader, CompressionError
from lbctl.wire.header_table import BadIndex, Field

SOFT_LIMIT: Final = 64 << 10  # decoded octets of one block; the call fails, the connection lives
_CACHE_SIZE: Final = 256
_LONGEST_CACHED: Final = 4096  # octets
_UNREAD: Final = parse([])


class HeaderReader:
    """The decompression context of one connection. ``cache`` maps complete blocks to heads; read it, never write.

    With ``everything`` heads are made from all fields, instead of those that tell something about a call's end; with
    ``whole`` they have them all as their metadata, too. With ``load_reports`` none that has one may take the fast path.
    """

    __slots__ = ("_blocks", "_heads", "_load_reports", "_whole", "cache", "decoded", "read_blocks")

    def __init__(self, *, everything: bool = False, whole: bool = False, load_reports: bool = False) -> None:
        self._whole = whole
        self._load_reports = load_reports
        self._blocks = BlockReader(everything=everything or whole)
        self._heads: dict[tuple[Field, ...], Head] = {}
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
        table = self._blocks.table
        before = table.changes
        self.decoded += 1
        try:
            telling = tuple(self._blocks.read(block))
        except BadIndex as error:
            raise CompressionError(str(error)) from error
        head = self._too_large() if self._blocks.size > SOFT_LIMIT else self._head(telling)
        self._remember(block, head, changed=table.changes != before)
        return head

    def _too_large(self) -> Head:
        """Not looked into: a few octets of indices can be a mebibyte of binary metadata."""
        return replace(_UNREAD, flaw=f"response headers of {self._blocks.size} bytes exceed {SOFT_LIMIT}")

    def _head(self, telling: tuple[Field, ...]) -> Head:
        head = self._heads.get(telling)
        if head is None:
            if len(self._heads) >= _CACHE_SIZE:
                self._heads.clear()
            head = parse([(each.name, each.value) for each in telling])
            if self._whole:
                head = replace(head, metadata=tuple((each.name, each.value) for each in telling))
            elif self._load_reports and head.metadata:
                head = replace(head, fast=NOT_FAST)
            self._heads[telling] = head
        return head

    def _remember(self, block: bytes, head: Head, *, changed: bool) -> None:
        if changed:
            self.cache.clear()
            return
        if len(self.cache) >= _CACHE_SIZE:
            self.cache.clear()
        if len(block) <= _LONGEST_CACHED:
            self.cache[bytes(block)] = head
