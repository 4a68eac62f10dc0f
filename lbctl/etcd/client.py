"""The etcd that the rest of lbctl talks to: keys, leases and watches in lbctl's own words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import NamedTuple, Self

from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Listing, WatchEvent
from lbctl.etcd.failures import Compacted, LeaseGone
from lbctl.etcd.paging import entry_of, pages, values
from lbctl.etcd.ranges import KeyRange, gaps, parts, prefix_range
from lbctl.etcd.session import Session
from lbctl.etcd.stubs import Message, pb
from lbctl.etcd.watch import Read, Watcher
from lbctl.model import Entry

_RESTARTS = 3


class Status(NamedTuple):
    """What one member says about itself."""

    endpoint: str
    version: str
    db_size: int
    has_leader: bool
    revision: int


class TimeToLive(NamedTuple):
    """Seconds a lease has left, and was granted."""

    ttl: int
    granted: int


class Etcd:
    """An etcd cluster, as an async context manager. Keys and values are bytes.

    Every method raises RegistryError (or a subclass of ``failures``) when etcd does not answer or refuses.
    """

    def __init__(self, config: EtcdConfig, rng: Random | None = None) -> None:
        """Take where etcd is; nothing is connected before the first call. ``rng`` only spreads retries."""
        self.session = Session(config, rng or Random())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.session.close()

    @property
    def endpoints(self) -> tuple[str, ...]:
        return self.session.config.endpoints

    async def range(self, prefix: bytes) -> Listing:
        """Return every key with this prefix, in key order, all at one revision."""
        return await self.list(prefix_range(prefix))

    async def list(
        self, keys: KeyRange, *, keys_only: bool = False, limit: int | None = None, revision: int = 0
    ) -> Listing:
        """Return a range at one revision (0: the newest), page by page; ``limit`` cuts it short."""
        for _ in range(_RESTARTS):
            try:
                return await self._whole(keys, keys_only=keys_only, limit=limit, revision=revision)
            except Compacted:  # between two pages: start over at a newer revision
                if revision:
                    raise
        return await self._whole(keys, keys_only=keys_only, limit=limit, revision=revision)

    def pages(self, keys: KeyRange, *, keys_only: bool = False, revision: int = 0) -> AsyncIterator[Listing]:
        """Yield a range page by page, all at the revision of the first (0: the newest)."""
        return pages(self.session, keys, keys_only=keys_only, limit=None, revision=revision)

    async def count(self, keys: KeyRange) -> int:
        """Return how many keys a range holds."""
        request = pb.RangeRequest(key=keys.start, range_end=keys.end, count_only=True)
        reply = await self.session.call(lambda channel: channel.kv.Range, request, repeatable=True)
        return int(reply.count)

    async def get(self, key: bytes) -> Entry | None:
        """Return one key, or None where it does not exist."""
        request = pb.RangeRequest(key=key)
        reply = await self.session.call(lambda channel: channel.kv.Range, request, repeatable=True)
        return entry_of(reply.kvs[0]) if reply.kvs else None

    async def get_many(self, keys: Sequence[bytes], revision: int = 0) -> tuple[Entry, ...]:
        """Return those of many keys that exist, in the order asked, at one revision (0: the newest)."""
        return (await self.values(keys, revision)).entries

    async def values(self, keys: Sequence[bytes], revision: int = 0) -> Listing:
        """Return those of many keys that exist, and which of them are too large to be read, at one revision."""
        return await values(self.session, keys, revision)

    async def put(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Write a key, under a lease unless 0, and return the revision; writing it twice does no harm."""
        request = pb.PutRequest(key=key, value=value, lease=lease)
        reply = await self.session.call(lambda channel: channel.kv.Put, request, repeatable=True)
        return int(reply.header.revision)

    async def delete(self, key: bytes) -> bool:
        """Delete a key and tell whether it existed."""
        request = pb.DeleteRangeRequest(key=key)
        reply = await self.session.call(lambda channel: channel.kv.DeleteRange, request, repeatable=False)
        return bool(reply.deleted)

    async def delete_prefix(self, prefix: bytes) -> int:
        """Delete every key with this prefix and return how many there were."""
        keys = prefix_range(prefix)
        request = pb.DeleteRangeRequest(key=keys.start, range_end=keys.end)
        reply = await self.session.call(lambda channel: channel.kv.DeleteRange, request, repeatable=False)
        return int(reply.deleted)

    async def put_if(self, key: bytes, value: bytes, mod_revision: int, lease: int = 0) -> bool:
        """Write a key only if it is still at ``mod_revision`` (0: only if it does not exist); tell whether it was."""
        write = pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, lease=lease))
        return await self._when_unchanged(key, mod_revision, write)

    async def delete_if(self, key: bytes, mod_revision: int) -> bool:
        """Delete a key only if it is still at ``mod_revision``; tell whether it was."""
        delete = pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key))
        return await self._when_unchanged(key, mod_revision, delete)

    async def grant(self, ttl_s: int) -> int:
        """Grant a lease and return its id; one whose answer was lost expires by itself."""
        reply = await self.session.call(
            lambda channel: channel.lease.LeaseGrant, pb.LeaseGrantRequest(TTL=ttl_s), repeatable=True
        )
        return int(reply.ID)

    async def revoke(self, lease: int) -> bool:
        """Revoke a lease, which deletes its keys; False when it was gone already."""
        try:
            await self.session.call(
                lambda channel: channel.lease.LeaseRevoke, pb.LeaseRevokeRequest(ID=lease), repeatable=True
            )
        except LeaseGone:
            return False
        return True

    async def time_to_live(self, lease: int) -> TimeToLive | None:
        """Return what a lease has left, or None when it has expired."""
        request = pb.LeaseTimeToLiveRequest(ID=lease)
        reply = await self.session.call(lambda channel: channel.lease.LeaseTimeToLive, request, repeatable=True)
        return TimeToLive(int(reply.TTL), int(reply.grantedTTL)) if reply.TTL >= 0 else None

    async def status(self) -> Status:
        """Ask the endpoint in use about itself."""
        endpoint = self.session.endpoint
        reply = await self.session.call(lambda channel: channel.maintenance.Status, pb.StatusRequest(), repeatable=True)
        return Status(endpoint, reply.version, int(reply.dbSize), bool(reply.leader), int(reply.header.revision))

    async def list_all(self, ranges: Sequence[KeyRange]) -> Listing:
        """Return several ranges, all at one revision."""
        first, *rest = ranges
        for _ in range(_RESTARTS):
            with suppress(Compacted):  # between two ranges: start over at a newer revision
                return await self._list_all(first, rest)
        return await self._list_all(first, rest)

    def watch(
        self, prefix: bytes, read: Read | None = None, *, without: Iterable[bytes] = ()
    ) -> AsyncGenerator[WatchEvent, None]:
        """List a prefix and follow it for ever, through any outage (see ``events``).

        etcd is not asked for keys with one of the prefixes ``without``, so that their values never come here; it is a
        ValueError where nothing is left. ``read`` lists the prefix where not all of its keys are wanted. Use
        ``contextlib.aclosing`` around it when the loop may be left early.
        """
        return Watcher(self, parts((prefix_range(prefix),), gaps(without)), read).run()

    async def _list_all(self, first: KeyRange, rest: Sequence[KeyRange]) -> Listing:
        found = await self.list(first)
        return _joined([found, *[await self.list(keys, revision=found.revision) for keys in rest]])

    async def _whole(self, keys: KeyRange, *, keys_only: bool, limit: int | None, revision: int) -> Listing:
        found = pages(self.session, keys, keys_only=keys_only, limit=limit, revision=revision)
        return _joined([page async for page in found])

    async def _when_unchanged(self, key: bytes, mod_revision: int, operation: Message) -> bool:
        unchanged = pb.Compare(result=pb.Compare.EQUAL, target=pb.Compare.MOD, key=key, mod_revision=mod_revision)
        request = pb.TxnRequest(compare=[unchanged], success=[operation])
        reply = await self.session.call(lambda channel: channel.kv.Txn, request, repeatable=False)
        return bool(reply.succeeded)


def _joined(found: Sequence[Listing]) -> Listing:
    """Return the listings of one revision as one."""
    entries = tuple(entry for part in found for entry in part.entries)
    return found[-1]._replace(entries=entries, oversized=tuple(entry for part in found for entry in part.oversized))
