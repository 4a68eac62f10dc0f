"""Which keys of etcd to read when looking for services: known roots whole, the rest by their names first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from lbctl.discovery.codecs import CODECS
from lbctl.discovery.codecs.skipped import TREES
from lbctl.etcd.client import Etcd
from lbctl.etcd.events import Listing
from lbctl.etcd.failures import AccessDenied, Compacted, Unauthenticated
from lbctl.etcd.ranges import KeyRange, gaps, outermost, overlap, parts, prefix_range
from lbctl.model import Entry

ROOTS: Final = outermost(root.encode() for codec in CODECS for root in codec.roots)  # read whole
SKIPPED: Final = {tree.encode(): reason for tree, reason in TREES.items()}
MAX_VALUES: Final = 20_000
MAX_NAMES: Final = 200_000
# A port, or the id of a lease.
_TELLING: Final = re.compile(rb"(:|%3A)\d{1,5}(?!\d)|^\d{15,19}$")
_VALUES_AT_ONCE: Final = 500
_CALLS_AT_ONCE: Final = 4
_RESTARTS: Final = 3
_DENIED_TOLD: Final = 3
_TOO_MANY: Final = "there are too many keys outside known roots to look into each"

Tell = Callable[[int], None]
Read = Callable[[], Awaitable[None]]


class Unread(NamedTuple):
    """Keys whose values were not read, and why; ``where`` is the tree they are in."""

    where: str
    keys: int
    why: str


class Scanned(NamedTuple):
    """Keys worth decoding, at one revision; the values of ``oversized`` ones do not fit into a message."""

    revision: int
    entries: tuple[Entry, ...]
    oversized: tuple[Entry, ...] = ()
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    cluster: int = 0
    term: int = 0
    refused: tuple[KeyRange, ...] = ()

    def as_listing(self) -> Listing:
        """What was read, as a watch begins with it."""
        return Listing(
            self.revision,
            self.entries,
            cluster=self.cluster,
            term=self.term,
            oversized=self.oversized,
            refused=self.refused,
        )


async def scan(etcd: Etcd, prefix: str | None, max_values: int = MAX_VALUES, tell: Tell | None = None) -> Scanned:
    """Read everything under ``prefix``; without one, everything that may be a registration.

    Outside known roots the names of keys are looked at first. Keys that have a lease or are called as registrations
    are, are read, and ``max_values`` of the others. The rest is counted, and so are trees that are known to hold no
    registrations, whoever asks for them. ``tell`` is told how many keys were seen so far.
    """
    for _ in range(_RESTARTS):
        try:
            return await _Scan(etcd, max_values, tell).run(prefix)
        except Compacted:  # the revision all reads are pinned to went away meanwhile
            continue
    return await _Scan(etcd, max_values, tell).run(prefix)


class _Scan:
    """One scan of etcd, pinned to the revision of its first read."""

    def __init__(self, etcd: Etcd, max_values: int, tell: Tell | None) -> None:
        self._etcd = etcd
        self._max_values = max_values
        self._tell = tell
        self._first = Listing(0, ())
        self._seen = 0
        self._read: list[Listing] = []
        self._named = _Names()
        self._unread: list[Unread] = []
        self._denied: list[tuple[KeyRange, AccessDenied]] = []

    async def run(self, prefix: str | None) -> Scanned:
        asked = prefix_range((prefix or "").encode())
        roots = ROOTS if prefix is None else (prefix.encode(),)
        whole = parts((prefix_range(root) for root in roots), gaps(SKIPPED))
        rest = gaps((*ROOTS, *SKIPPED)) if prefix is None else ()
        trees = [(part, tree) for tree in SKIPPED if (part := overlap(prefix_range(tree), asked))]
        await self._all(
            [partial(self._read_whole, part) for part in whole] + [partial(self._read_names, part) for part in rest]
        )
        await self._read_candidates()
        await self._all([partial(self._count, part, tree) for part, tree in trees])
        if not self._revision and self._denied:
            raise self._denied[0][1]
        entries = sorted(entry for listing in self._read for entry in listing.entries)
        oversized = sorted(entry for listing in self._read for entry in listing.oversized)
        return Scanned(
            self._revision,
            tuple(entries),
            tuple(oversized),
            tuple(self._unread),
            tuple(self._notes()),
            self._first.cluster,
            self._first.term,
            tuple(keys for keys, _ in self._denied),
        )

    @property
    def _revision(self) -> int:
        return self._first.revision

    async def _all(self, reads: Iterable[Read]) -> None:
        """Make the reads: one by one until a revision is known, then several at once."""
        waiting = iter(reads)
        while not self._revision and (read := next(waiting, None)):
            await read()
        slots = asyncio.Semaphore(_CALLS_AT_ONCE)

        async def slotted(read: Read) -> None:
            async with slots:
                await read()

        try:
            async with asyncio.TaskGroup() as group:
                for read in waiting:
                    group.create_task(slotted(read))
        except ExceptionGroup as failed:  # all have the same cause: one is enough
            raise failed.exceptions[0] from None

    async def _read_whole(self, keys: KeyRange) -> None:
        try:
            async for page in self._etcd.pages(keys, revision=self._revision):
                self._take(page)
                self._read.append(page)
        except AccessDenied as denied:
            self._leave_out(keys, denied)

    async def _read_names(self, keys: KeyRange) -> None:
        try:
            async for page in self._etcd.pages(keys, keys_only=True, revision=self._revision):
                self._take(page)
                self._named.add(page.entries)
                if self._seen >= MAX_NAMES and page.more:
                    await self._count_rest(KeyRange(page.entries[-1].key + b"\0", keys.end))
                    return
        except AccessDenied as denied:
            self._leave_out(keys, denied)

    async def _read_candidates(self) -> None:
        """Read the values of keys that may be registrations, judged by their names."""
        telling, others = self._named.candidates()
        wanted = sorted(telling + others[: self._max_values])
        parts = [wanted[first : first + _VALUES_AT_ONCE] for first in range(0, len(wanted), _VALUES_AT_ONCE)]
        await self._all([partial(self._read_values, part) for part in parts])
        self._pass_over(len(others) - self._max_values, _TOO_MANY)
        self._pass_over(self._named.apart(), "in no folder: registrations stand in one")

    async def _read_values(self, keys: list[bytes]) -> None:
        try:
            self._read.append(await self._etcd.values(keys, self._revision))
        except AccessDenied as denied:
            self._leave_out(KeyRange(keys[0], keys[-1]), denied)

    async def _count_rest(self, keys: KeyRange) -> None:
        self._pass_over(await self._etcd.count(keys), _TOO_MANY)

    async def _count(self, keys: KeyRange, tree: bytes) -> None:
        try:
            if not self._revision:
                self._take(await self._etcd.list(keys, keys_only=True, limit=1))
            self._pass_over(await self._etcd.count(keys), SKIPPED[tree], tree.decode())
        except AccessDenied as denied:
            self._leave_out(keys, denied)

    def _leave_out(self, keys: KeyRange, denied: AccessDenied) -> None:
        if isinstance(denied, Unauthenticated):  # every range would be refused, after a slow check of the password
            raise denied
        self._denied.append((keys, denied))

    def _take(self, page: Listing) -> None:
        if not self._revision:
            self._first = page._replace(entries=())
        self._seen += len(page.entries)
        if self._tell is not None:
            self._tell(self._seen)

    def _pass_over(self, count: int, why: str, where: str = "") -> None:
        if count > 0:
            self._unread.append(Unread(where, count, why))

    def _notes(self) -> list[str]:
        notes = []
        if self._denied:
            starts = [repr(keys.start.decode("utf-8", "backslashreplace")) for keys, _ in self._denied]
            more = f" and {len(starts) - _DENIED_TOLD} more" if len(starts) > _DENIED_TOLD else ""
            notes.append(f"no permission to read keys from {', '.join(starts[:_DENIED_TOLD])}{more} on")
        unread = sum(part.keys for part in self._unread if part.why == _TOO_MANY)
        if unread:
            notes.append(f"{unread:,} of too many keys outside known roots were not looked into; narrow with --prefix")
        return notes


class _Names:
    """The names of keys outside known roots, sorted by what they tell."""

    def __init__(self) -> None:
        self._telling: list[bytes] = []
        self._others: list[bytes] = []
        self._alone: set[bytes] = set()

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            folder, _, leaf = entry.key.rpartition(b"/")
            if not folder.strip(b"/"):
                self._alone.add(entry.key)
            elif entry.lease or _TELLING.search(leaf):
                self._telling.append(entry.key)
            else:
                self._others.append(entry.key)

    def candidates(self) -> tuple[list[bytes], list[bytes]]:
        """Return the keys that are likely to be registrations, with those that stand for their folders; and others."""
        tops = {key[: key.index(b"/", 1)] for keys in (self._telling, self._others) for key in keys}
        markers = self._alone & tops
        self._alone -= markers
        return sorted([*self._telling, *markers]), sorted(self._others)

    def apart(self) -> int:
        """How many keys stand in no folder, and have none."""
        return len(self._alone)
