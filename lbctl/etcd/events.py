"""What reading and watching a prefix yields."""

from __future__ import annotations

from typing import NamedTuple

from lbctl.etcd.ranges import KeyRange
from lbctl.model import Entry


class Listing(NamedTuple):
    """Keys at one revision; ``more`` when a limit cut it short. ``cluster`` and ``term`` tell one store from another.

    The values of ``oversized`` keys do not fit into a message: they are not here. Nor are those in ``refused`` ranges,
    which the user may not read.
    """

    revision: int
    entries: tuple[Entry, ...]
    more: bool = False
    cluster: int = 0
    term: int = 0
    oversized: tuple[Entry, ...] = ()
    refused: tuple[KeyRange, ...] = ()


class Change(NamedTuple):
    """One key's newest state; ``entry`` is None when it was deleted (etcd does not tell by whom, or by what expiry)."""

    key: bytes
    entry: Entry | None
    revision: int


class Snapshot(NamedTuple):
    """The first thing a watch yields, once: everything under the prefix."""

    revision: int
    entries: tuple[Entry, ...]


class Changes(NamedTuple):
    """What happened since the last event, in order; several changes of one key are all there."""

    revision: int
    changes: tuple[Change, ...]


class Resync(NamedTuple):
    """History was lost, so the prefix was listed again; ``changes`` lead from the known state to the new one."""

    revision: int
    reason: str
    changes: tuple[Change, ...]


class Lost(NamedTuple):
    """The connection broke, or could not be made; the watch goes on trying and what is known may be old."""

    endpoint: str
    reason: str


class Resumed(NamedTuple):
    """The watch is connected again, at ``endpoint``; what was missed follows as Changes."""

    endpoint: str
    revision: int


WatchEvent = Snapshot | Changes | Resync | Lost | Resumed
