"""Which keys of etcd to read when looking for services: known roots whole, the rest by their names first."""

from __future__ import annotations

from typing import NamedTuple

from lbctl.discovery.codecs import CODECS
from lbctl.discovery.codecs.skipped import TREES
from lbctl.etcd.client import Etcd
from lbctl.etcd.failures import AccessDenied, Compacted
from lbctl.etcd.ranges import KeyRange, gaps, outermost, prefix_range
from lbctl.model import Entry

ROOTS = outermost(root.encode() for codec in CODECS for root in codec.roots)  # read whole
SKIPPED = tuple(tree.encode() for tree in TREES)
MAX_KEYS = 20_000
_RESTARTS = 3


class Scanned(NamedTuple):
    """Keys worth decoding, at one revision; ``passed_over`` were seen or counted and are not instances."""

    revision: int
    entries: tuple[Entry, ...]
    passed_over: int = 0
    notes: tuple[str, ...] = ()


async def scan(etcd: Etcd, prefix: str | None, max_keys: int = MAX_KEYS) -> Scanned:
    """Read everything under ``prefix``; without one, everything that may be a registration.

    Outside known roots no more than ``max_keys`` keys are looked at; the rest is counted, and noted.
    """
    if prefix is not None:
        listing = await etcd.range(prefix.encode())
        return Scanned(listing.revision, listing.entries)
    for _ in range(_RESTARTS):
        try:
            return await _Scan(etcd, max_keys).run()
        except Compacted:  # the revision all reads are pinned to went away meanwhile
            continue
    return await _Scan(etcd, max_keys).run()


class _Scan:
    """One scan of the whole keyspace, pinned to the revision of its first read."""

    def __init__(self, etcd: Etcd, max_keys: int) -> None:
        self._etcd = etcd
        self._max_keys = max_keys
        self._revision = 0
        self._entries: list[Entry] = []
        self._passed_over = 0
        self._notes: list[str] = []
        self._denied: list[AccessDenied] = []

    async def run(self) -> Scanned:
        for root in ROOTS:
            await self._read_root(root)
        budget = self._max_keys
        for keys in gaps((*ROOTS, *SKIPPED)):
            budget -= await self._read_rest(keys, budget)
        for prefix in SKIPPED:
            await self._count(prefix_range(prefix))
        if not self._revision and self._denied:
            raise self._denied[0]
        entries = tuple(sorted(self._entries))
        return Scanned(self._revision, entries, self._passed_over, tuple(self._notes))

    async def _read_root(self, root: bytes) -> None:
        try:
            listing = await self._etcd.list(prefix_range(root), revision=self._revision)
        except AccessDenied as denied:
            self._note_denied(denied, root)
            return
        self._revision = self._revision or listing.revision
        self._entries.extend(listing.entries)

    async def _read_rest(self, keys: KeyRange, budget: int) -> int:
        """Read the values of keys that may be registrations; return how many keys were looked at."""
        if budget <= 0:
            await self._count(keys)
            return 0
        try:
            listing = await self._etcd.list(keys, keys_only=True, limit=budget, revision=self._revision)
            self._revision = self._revision or listing.revision
            wanted = [entry.key for entry in listing.entries if _may_be_instance(entry.key)]
            self._entries.extend(await self._etcd.get_many(wanted, self._revision))
        except AccessDenied as denied:
            self._note_denied(denied, keys.start)
            return 0
        self._passed_over += len(listing.entries) - len(wanted)
        if listing.more:
            await self._count(KeyRange(listing.entries[-1].key + b"\0", keys.end))
            self._notes.append(
                f"only the first {self._max_keys:,} keys outside known roots were looked at; narrow with --prefix"
            )
        return len(listing.entries)

    async def _count(self, keys: KeyRange) -> None:
        try:
            self._passed_over += await self._etcd.count(keys)
        except AccessDenied as denied:
            self._note_denied(denied, keys.start)

    def _note_denied(self, denied: AccessDenied, start: bytes) -> None:
        self._denied.append(denied)
        self._notes.append(f"no permission to read keys from {start.decode('utf-8', 'backslashreplace')!r} on")


def _may_be_instance(key: bytes) -> bool:
    """Tell whether a key has a folder and a leaf, as every layout outside the roots has."""
    return b"/" in key.strip(b"/")
