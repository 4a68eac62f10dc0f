"""Reads of many keys in answers of a bounded size: what does not fit into one message is asked for in smaller parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from lbctl.etcd.events import Listing
from lbctl.etcd.failures import TooLarge
from lbctl.etcd.ranges import KeyRange
from lbctl.etcd.session import Session
from lbctl.etcd.stubs import Message, pb
from lbctl.model import Entry

_PAGE: Final = 1_000
_NAMES_PAGE: Final = 5_000  # etcd walks all of the range that is left for every page of it
_GETS_PER_TXN: Final = 100  # etcd's default limit is 128 operations


async def pages(
    session: Session, keys: KeyRange, *, keys_only: bool, limit: int | None, revision: int
) -> AsyncIterator[Listing]:
    """Yield a range page by page, all at the revision of the first (0: the newest).

    A page whose answer is too large is halved; a single key whose value is, is ``oversized``, and without its value.
    """
    most = _NAMES_PAGE if keys_only else _PAGE
    start, more, size, seen = keys.start, True, most, 0
    while more and (limit is None or seen < limit):
        count = size if limit is None else min(size, limit - seen)
        part = KeyRange(start, keys.end)
        try:
            page = await _page(session, part, count, revision, keys_only=keys_only)
            size = min(size * 2, most)
        except TooLarge:
            if count > 1:
                size = count // 2
                continue
            if keys_only:
                raise
            name = await _page(session, part, 1, revision, keys_only=True)
            page = name._replace(entries=(), oversized=name.entries)
        revision = page.revision
        names = page.entries or page.oversized
        more = page.more and bool(names)
        seen += len(names)
        start = names[-1].key + b"\0" if names else start
        yield page


async def values(session: Session, keys: Sequence[bytes], revision: int) -> Listing:
    """Return those of many keys that exist, in the order asked, at one revision (0: the newest)."""
    found: list[Entry] = []
    oversized: list[Entry] = []
    for first in range(0, len(keys), _GETS_PER_TXN):
        part = await _values(session, keys[first : first + _GETS_PER_TXN], revision)
        found += part.entries
        oversized += part.oversized
    return Listing(revision, tuple(found), oversized=tuple(oversized))


async def _values(session: Session, keys: Sequence[bytes], revision: int) -> Listing:
    try:
        return Listing(revision, await _gets(session, keys, revision, keys_only=False))
    except TooLarge:
        if len(keys) == 1:
            return Listing(revision, (), oversized=await _gets(session, keys, revision, keys_only=True))
    middle = len(keys) // 2
    first, second = [await _values(session, half, revision) for half in (keys[:middle], keys[middle:])]
    return Listing(revision, first.entries + second.entries, oversized=first.oversized + second.oversized)


async def _gets(session: Session, keys: Sequence[bytes], revision: int, *, keys_only: bool) -> tuple[Entry, ...]:
    gets = (pb.RangeRequest(key=key, revision=revision, keys_only=keys_only) for key in keys)
    request = pb.TxnRequest(success=[pb.RequestOp(request_range=get) for get in gets])
    reply = await session.call(lambda channel: channel.kv.Txn, request, repeatable=True)
    return tuple(entry_of(kv) for part in reply.responses for kv in part.response_range.kvs)


async def _page(session: Session, keys: KeyRange, limit: int, revision: int, *, keys_only: bool) -> Listing:
    request = pb.RangeRequest(key=keys.start, range_end=keys.end, limit=limit, revision=revision, keys_only=keys_only)
    reply = await session.call(lambda channel: channel.kv.Range, request, repeatable=True)
    header = reply.header
    entries = tuple(map(entry_of, reply.kvs))
    return Listing(revision or int(header.revision), entries, reply.more, int(header.cluster_id), int(header.raft_term))


def entry_of(kv: Message) -> Entry:
    """Return a key as lbctl knows it."""
    return Entry(kv.key, kv.value, kv.lease, kv.create_revision, kv.mod_revision)
