"""The registry as services: read once, or one service followed for ever."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from lbctl.discovery.catalog import Catalog, Other
from lbctl.discovery.changes import Change, Op, diff
from lbctl.discovery.codecs.skipped import TREES
from lbctl.discovery.names import find
from lbctl.discovery.scan import MAX_VALUES, SKIPPED, Scanned, Tell, Unread, scan
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.events import Change as KeyChange
from lbctl.etcd.events import Changes, Listing, Lost, Resumed, Resync, Snapshot, WatchEvent
from lbctl.model import Entry, Invalid, Registry, Service

UNKNOWN: Final = "-"  # the layout of a key whose value was not read
LARGE_BYTES: Final = 64 * 1024  # of a value


class Notice(NamedTuple):
    """News about the connection to etcd. ``kind`` is lost, resumed or resync; ``text`` is for people."""

    kind: str
    text: str
    endpoint: str = ""  # which one was lost, or serves now


@dataclass(frozen=True, slots=True)
class Update:
    """One service in full, after something happened; while not ``synced`` it is the last known state.

    ``kept`` are the keys of instances that left which are still there, and the layout that has each now, "" for none.
    """

    service: Service
    invalid: tuple[Invalid, ...]
    revision: int
    changes: tuple[Change, ...] = ()
    notice: Notice | None = None
    synced: bool = True
    kept: Mapping[str, str] = field(default_factory=dict)


class Survey(NamedTuple):
    """A registry with the keys that are in none of its services: what they may be, and why they are not."""

    registry: Registry
    possible: tuple[Service, ...] = ()
    others: tuple[Other, ...] = ()
    unread: tuple[Unread, ...] = ()


async def read(
    etcd: Etcd,
    prefix: str | None = None,
    max_values: int = MAX_VALUES,
    *,
    layout: str | None = None,
    named_by: str = "",
    tell: Tell | None = None,
) -> Registry:
    """Read every service of etcd at one revision, or those under ``prefix`` alone (see ``scan``).

    ``layout`` and ``named_by`` decide as they do for a Catalog (``preferred``).
    """
    catalog, scanned = await read_keys(etcd, prefix, max_values, layout=layout, named_by=named_by, tell=tell)
    return _registry(catalog, scanned)


async def survey(
    etcd: Etcd, prefix: str | None = None, *, layout: str | None = None, named_by: str = "", tell: Tell | None = None
) -> Survey:
    """Read as ``read`` does, and tell also of the keys that are no registrations."""
    catalog, scanned = await read_keys(etcd, prefix, layout=layout, named_by=named_by, tell=tell)
    possible = catalog.possible()
    taken = {each.key for service in possible for each in service.instances}
    others = tuple(other for other in catalog.others() if other.key.decode("utf-8", "replace") not in taken)
    return Survey(_registry(catalog, scanned), possible, others, scanned.unread)


async def read_keys(
    etcd: Etcd,
    prefix: str | None = None,
    max_values: int = MAX_VALUES,
    *,
    layout: str | None = None,
    named_by: str = "",
    tell: Tell | None = None,
) -> tuple[Catalog, Scanned]:
    """Read the keys that may be registrations, and sort them."""
    root = normal_prefix(prefix)
    scanned = await scan(etcd, root, max_values, tell)
    catalog = Catalog(root or "", rooted=root is not None, preferred=layout or "", named_by=named_by)
    for entry in scanned.entries:
        catalog.put(entry)
    return catalog, scanned


def _registry(catalog: Catalog, scanned: Scanned) -> Registry:
    services, invalid, foreign = catalog.read()
    foreign += sum(part.keys for part in scanned.unread)
    flaws = sorted((*invalid, *map(_too_large, scanned.oversized)), key=lambda flaw: flaw.key)
    found = Registry(scanned.revision, services, tuple(flaws), foreign, scanned.notes)
    return with_large(found, _large_values(scanned))


def _large_values(scanned: Scanned) -> dict[str, int]:
    large = ((entry.key, len(entry.value)) for entry in scanned.entries if len(entry.value) > LARGE_BYTES)
    return {key.decode("utf-8", "backslashreplace"): size for key, size in large}


def with_large(registry: Registry, large: Mapping[str, int]) -> Registry:
    """The registry with those of the keys with large values that are in it, usable or not."""
    if not large:
        return registry
    keys = {each.key for service in registry.services for each in service.instances}
    keys.update(flaw.key for flaw in registry.invalid)
    return replace(registry, large={key: size for key, size in large.items() if key in keys})


def _too_large(entry: Entry) -> Invalid:
    key = entry.key.decode("utf-8", "backslashreplace")
    return Invalid(key, UNKNOWN, "too_large", "the value is too large to be read")


def follow_keys(etcd: Etcd, prefix: str | None) -> AsyncGenerator[WatchEvent, None]:
    """Watch every key under a prefix but for trees without registrations, beginning with those that ``read`` reads.

    Raises UsageError where the prefix is in such a tree.
    """
    root = normal_prefix(prefix)
    tree = next((tree for tree in TREES if root is not None and root.startswith(tree)), None)
    if tree is not None:
        raise UsageError(f"{tree} is never read: {TREES[tree]}", "watch another --prefix, or none")

    async def listed() -> Listing:
        return (await scan(etcd, root)).as_listing()

    return etcd.watch((root or "").encode(), listed, without=SKIPPED)


async def follow(
    etcd: Etcd, service: Service, preferred: str | None = None, named_by: str = ""
) -> AsyncGenerator[Update, None]:
    """Yield the service as it is now, then after every change and at every break and return of the connection.

    The first update tells what changed since ``service`` was read, with the same preferred layout and way of naming. It
    never ends by itself: use ``contextlib.aclosing`` where the loop may be left early.
    """
    root = _root_of(service)
    follower = _Follower(
        service, Catalog(root, rooted=True, layout=service.layout, preferred=preferred or "", named_by=named_by)
    )
    async with aclosing(etcd.watch(service.prefix.encode(), without=SKIPPED)) as events:
        async for event in events:
            yield follower.take(event)


def normal_prefix(prefix: str | None) -> str | None:
    """Make a prefix end at a separator, so that ``/s/demo`` never means ``/s/demo-b``; None or blank is no prefix."""
    if prefix is None or not prefix.strip():
        return None
    if not prefix.isprintable():
        raise UsageError("--prefix holds control characters", "give the key's text, for example /services/")
    return prefix if prefix.endswith("/") else prefix + "/"


class _Follower:
    """Turns a watch's events into updates: state only, nothing awaits."""

    def __init__(self, service: Service, catalog: Catalog) -> None:
        self._service = service
        self._invalid: tuple[Invalid, ...] = ()
        self._catalog = catalog
        self._revision = 0
        self._synced = False

    def take(self, event: WatchEvent) -> Update:
        match event:
            case Snapshot(revision, entries):
                for entry in entries:
                    self._catalog.put(entry)
                self._synced = True
                return self._first(revision)
            case Changes(revision, changes):
                self._apply(changes)
                return self._update(revision)
            case Resync(revision, reason, changes):
                self._apply(changes)
                self._synced = True
                return self._update(revision, Notice("resync", f"read again at revision {revision}: {reason}"))
            case Lost(endpoint, reason):
                self._synced = False
                return self._state(Notice("lost", f"etcd {endpoint}: {reason}; what is shown may be old", endpoint))
            case Resumed(endpoint, revision):
                self._synced = True
                self._revision = max(self._revision, revision)
                text = f"etcd {endpoint} is back, synced at revision {revision}"
                return self._state(Notice("resumed", text, endpoint))

    def _apply(self, changes: tuple[KeyChange, ...]) -> None:
        for change in changes:
            if change.entry is None:
                self._catalog.remove(change.key)
            else:
                self._catalog.put(change.entry)

    def _first(self, revision: int) -> Update:
        """Tell what is different since the caller's reading; keys that were unusable then are no news."""
        update = self._update(revision)
        return replace(update, changes=tuple(change for change in update.changes if change.op is not Op.INVALID))

    def _update(self, revision: int, notice: Notice | None = None) -> Update:
        before, invalid_before = self._service, self._invalid
        self._service, self._invalid = self._catalog.service(before.layout, before.prefix, before.name)
        self._revision = revision
        changes = diff(before.instances, self._service.instances, invalid_before, self._invalid)
        kept = self._catalog.layouts_of(change.key for change in changes if change.op is Op.LEFT)
        return replace(self._state(notice, changes), kept=kept)

    def _state(self, notice: Notice | None, changes: tuple[Change, ...] = ()) -> Update:
        return Update(self._service, self._invalid, self._revision, changes, notice, self._synced)


def _root_of(service: Service) -> str:
    """Return what was taken off the prefix to name the service, so that its keys are named the same way again."""
    return service.prefix.removesuffix("/").removesuffix(service.name)


__all__ = [
    "LARGE_BYTES",
    "Notice",
    "Survey",
    "Update",
    "find",
    "follow",
    "follow_keys",
    "normal_prefix",
    "read",
    "survey",
    "with_large",
]
