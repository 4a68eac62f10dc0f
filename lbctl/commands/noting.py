"""What keys held before they were drained, noted under /lbctl/drained/, and which of the notes still describe them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from lbctl.commands.rewriting import Registered
from lbctl.discovery.rotation import NOTES
from lbctl.etcd.client import Etcd
from lbctl.etcd.failures import AccessDenied
from lbctl.etcd.ranges import KeyRange, prefix_range
from lbctl.etcd.swap import MOST_SWAPS, Beside, Swap, swap
from lbctl.model import Entry

_NONE: Final[Mapping[str, Entry]] = {}


class Notes(NamedTuple):
    """Notes by the key that they are about.

    ``standing`` are those of keys that are as ``lbctl drain`` wrote them, with the note, in one transaction; of the
    ``stale`` ones the key was written since, or is gone.
    """

    standing: Mapping[str, Entry] = _NONE
    stale: Mapping[str, Entry] = _NONE


def note_of(key: bytes) -> bytes:
    """Where it is noted what a key held before it was drained."""
    return NOTES + key


async def notes(etcd: Etcd, found: Registered) -> Notes:
    """Read what is noted of a service's keys, at the revision they were read at; raises AccessDenied."""
    prefix = note_of(found.service.prefix.encode())
    keys = prefix_range(prefix) if prefix.endswith(b"/") else KeyRange(prefix, prefix + b"\0")
    noted = {entry.key.removeprefix(NOTES): entry for entry in (await etcd.list(keys, revision=found.revision)).entries}
    about = {entry.key: entry for entry in await etcd.get_many(list(noted), found.revision)} if noted else {}
    standing: dict[str, Entry] = {}
    stale: dict[str, Entry] = {}
    for key, note in noted.items():
        now = about.get(key)
        kept = standing if now is not None and now.mod_revision == note.mod_revision else stale
        kept[key.decode("utf-8", "surrogateescape")] = note
    return Notes(standing, stale)


async def readable_notes(etcd: Etcd, found: Registered) -> Notes:
    """What is noted, as far as the user may read it: nothing where that is forbidden."""
    try:
        return await notes(etcd, found)
    except AccessDenied:
        return Notes()


def dropped(note: Entry) -> Beside:
    """A note deleted with the write that makes it untrue."""
    return Beside(note.key, None, note.lease, note.value)


async def tidy(etcd: Etcd, stale: Mapping[str, Entry], written: Collection[bytes] = ()) -> int:
    """Delete stale notes but those that were ``written`` since they were read, and return how many.

    A part of them that somebody else writes meanwhile is left for the next time.
    """
    gone = [Swap(note.key, None, note.mod_revision) for note in stale.values() if note.key not in written]
    deleted = 0
    for first in range(0, len(gone), MOST_SWAPS):
        part = gone[first : first + MOST_SWAPS]
        try:
            deleted += len(part) if (await swap(etcd, part)).done else 0
        except AccessDenied:  # who may read notes need not be allowed to write them
            return deleted
    return deleted
