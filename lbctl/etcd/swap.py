"""Values replaced where they are still what was read: all of them or none, each under the lease that its key has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lbctl.etcd.client import Etcd
from lbctl.etcd.stubs import Message, pb
from lbctl.model import Entry

MOST_SWAPS = 100  # etcd's default limit of one transaction is 128


class Swap(NamedTuple):
    """A new value for a key that is still at the revision it was read at: 0 for one that did not exist.

    A value of None deletes the key. ``lease`` None keeps the lease that the key has.
    """

    key: bytes
    value: bytes | None
    mod_revision: int
    lease: int | None = None


class Swapped(NamedTuple):
    """What became of a swap; where it is not ``done``, ``current`` is what each key holds now (None: it is gone)."""

    done: bool
    revision: int
    current: tuple[Entry | None, ...] = ()


class Beside(NamedTuple):
    """What is written, or deleted, together with a swap, whatever the key holds: a note about it.

    ``was`` is what it held, for whoever takes the swap back; both values are under the same lease.
    """

    key: bytes
    value: bytes | None
    lease: int = 0
    was: bytes | None = None


async def swap(etcd: Etcd, swaps: Sequence[Swap], beside: Sequence[Beside] = ()) -> Swapped:
    """Write all values in one transaction, or none where any key has changed; raises RegistryError.

    Leases stay as they are, with the time they have left: etcd itself keeps them. At most ``MOST_SWAPS`` keys at once.
    A transaction whose answer was lost is sent again: that all keys hold the new values then means that it was done.
    """
    writes: list[Swap | Beside] = [*swaps, *beside]
    request = pb.TxnRequest(
        compare=[_unchanged(each) for each in swaps],
        success=[_write(each.key, each.value, each.lease) for each in writes],
        failure=[pb.RequestOp(request_range=pb.RangeRequest(key=each.key)) for each in swaps],
    )
    reply = await etcd.session.call(lambda channel: channel.kv.Txn, request, repeatable=True)
    revision = int(reply.header.revision)
    if reply.succeeded:
        return Swapped(True, revision)
    current = tuple(_found(part.response_range) for part in reply.responses)
    if all(_is_done(each, entry) for each, entry in zip(swaps, current, strict=True)):
        return Swapped(True, max((entry.mod_revision for entry in current if entry is not None), default=revision))
    return Swapped(False, revision, current)


def _unchanged(wanted: Swap) -> Message:
    return pb.Compare(result=pb.Compare.EQUAL, target=pb.Compare.MOD, key=wanted.key, mod_revision=wanted.mod_revision)


def _write(key: bytes, value: bytes | None, lease: int | None) -> Message:
    if value is None:
        return pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key))
    if lease is None:
        return pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, ignore_lease=True))
    return pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, lease=lease))


def _is_done(wanted: Swap, entry: Entry | None) -> bool:
    if entry is None or wanted.value is None:
        return entry is None and wanted.value is None
    return entry.value == wanted.value and wanted.lease in (None, entry.lease)


def _found(reply: Message) -> Entry | None:
    if not reply.kvs:
        return None
    kv = reply.kvs[0]
    return Entry(kv.key, kv.value, kv.lease, kv.create_revision, kv.mod_revision)
