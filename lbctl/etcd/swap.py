"""Values replaced where they are still what was read: all of them or none, each under the lease that its key has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lbctl.etcd.client import Etcd
from lbctl.etcd.stubs import Message, pb
from lbctl.model import Entry

MOST_SWAPS = 100  # etcd's default limit of one transaction is 128


class Swap(NamedTuple):
    """A new value for a key that exists and is still at the revision it was read at."""

    key: bytes
    value: bytes
    mod_revision: int


class Swapped(NamedTuple):
    """What became of a swap; where it is not ``done``, ``current`` is what each key holds now (None: it is gone)."""

    done: bool
    revision: int
    current: tuple[Entry | None, ...] = ()


async def swap(etcd: Etcd, swaps: Sequence[Swap]) -> Swapped:
    """Write all values in one transaction, or none where any key has changed; raises RegistryError.

    The leases stay as they are, with the time they have left: etcd itself keeps them. At most ``MOST_SWAPS`` at once.
    A transaction whose answer was lost is sent again: that all keys hold the new values then means that it was done.
    """
    request = pb.TxnRequest(
        compare=[_unchanged(each) for each in swaps],
        success=[pb.RequestOp(request_put=_put(each)) for each in swaps],
        failure=[pb.RequestOp(request_range=pb.RangeRequest(key=each.key)) for each in swaps],
    )
    reply = await etcd.session.call(lambda channel: channel.kv.Txn, request, repeatable=True)
    if reply.succeeded:
        return Swapped(True, int(reply.header.revision))
    current = tuple(_found(part.response_range) for part in reply.responses)
    if all(entry is not None and entry.value == each.value for entry, each in zip(current, swaps, strict=True)):
        return Swapped(True, max(entry.mod_revision for entry in current if entry is not None))
    return Swapped(False, int(reply.header.revision), current)


def _unchanged(wanted: Swap) -> Message:
    return pb.Compare(result=pb.Compare.EQUAL, target=pb.Compare.MOD, key=wanted.key, mod_revision=wanted.mod_revision)


def _put(wanted: Swap) -> Message:
    return pb.PutRequest(key=wanted.key, value=wanted.value, ignore_lease=True)


def _found(reply: Message) -> Entry | None:
    if not reply.kvs:
        return None
    kv = reply.kvs[0]
    return Entry(kv.key, kv.value, kv.lease, kv.create_revision, kv.mod_revision)
