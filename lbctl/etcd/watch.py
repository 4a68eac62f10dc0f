"""List and watch as one operation: nothing is missed, repeated or silently stale, whatever breaks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from lbctl.errors import RegistryError
from lbctl.etcd.backoff import Backoff
from lbctl.etcd.events import Change, Changes, Listing, Lost, Resumed, Resync, Snapshot, WatchEvent
from lbctl.etcd.failures import AccessDenied, Compacted, SessionClosed, Unreachable
from lbctl.etcd.ranges import KeyRange, outside, parts
from lbctl.etcd.stream import Broken, HistoryGone, WatchStream
from lbctl.etcd.stubs import Message
from lbctl.model import Entry

if TYPE_CHECKING:
    from lbctl.etcd.client import Etcd

Read = Callable[[], Awaitable[Listing]]

_DELETE = 1  # mvccpb.Event.DELETE; PUT is the zero that proto3 leaves out
_PAUSE_LIMIT_S = 1.0  # between two attempts: an etcd that is back is found within a second
_REFUSED_S = 1.0  # at least, and up to half as much again: who is refused is in no hurry


class _Trouble(IntEnum):
    """What keeps a watch from its events; what has been told is told again only where it is worse."""

    NONE = 0
    LOST = 1
    REFUSED = 2


class Watcher:
    """Follows ranges of keys as one, but for what its reading of them was refused; ``run`` may be iterated once."""

    def __init__(self, etcd: Etcd, ranges: Sequence[KeyRange], read: Read | None = None) -> None:
        if not ranges:
            raise ValueError("no keys to watch")
        self._read = read or partial(etcd.list_all, ranges)
        self._session = etcd.session
        self._asked_for = ranges
        self._ranges = ranges
        self._backoff = Backoff(etcd.session.rng, limit_s=_PAUSE_LIMIT_S)
        self._known: _Known | None = None
        self._history_gone: str | None = None
        self._told = _Trouble.NONE
        self._refused = False
        self._attempt = 0
        self._may_log_in = True

    async def run(self) -> AsyncGenerator[WatchEvent, None]:
        """Yield a Snapshot, then what changes, for ever; ends when the session is closed.

        Outages are events, however they show. A refusal (access denied, a bad request) is raised where it comes before
        the Snapshot; later it is an outage, too: who was let in once may be let in again.
        """
        while not self._session.closed:
            try:
                async for event in self._until_broken():
                    yield event
            except (HistoryGone, Broken, RegistryError) as end:
                for notice in self._judge(end):
                    yield notice
            await self._pause()

    def _judge(self, end: Exception) -> tuple[Lost, ...]:
        """Decide what the end of a stream means: nothing to tell, an outage, or an error that goes on up."""
        match end:
            case SessionClosed():
                return ()
            case HistoryGone() | Compacted():
                self._history_gone = str(end)
                return ()
            case AccessDenied() if self._log_in_again():
                return ()
            case Broken() | Unreachable():
                return self._note_loss(_Trouble.LOST, str(end))
            case RegistryError() if self._known is not None:
                self._refused = True
                return self._note_loss(_Trouble.REFUSED, "; ".join(filter(None, (_without_place(end), end.hint))))
        raise end

    async def _pause(self) -> None:
        if self._session.closed:
            return
        refused, self._refused = self._refused, False
        pause = _REFUSED_S * self._session.rng.uniform(1.0, 1.5) if refused else self._backoff.next()
        await asyncio.sleep(pause)

    async def _until_broken(self) -> AsyncIterator[WatchEvent]:
        if self._known is None or self._history_gone is not None:
            listing = await self._read()
            self._attempt = self._session.position  # the endpoint that has just answered
            yield self._take(listing)
        known = self._known
        assert known is not None
        async with self._stream() as (stream, endpoint):
            await self._open(stream, known)
            self._backoff.reset()
            self._may_log_in = True
            if self._told:
                self._told = _Trouble.NONE
                yield Resumed(endpoint, known.next - 1)
            while True:
                changes = known.apply(*await stream.next())
                if changes:
                    yield Changes(known.next - 1, changes)

    async def _open(self, stream: WatchStream, known: _Known) -> None:
        """Open the stream where we are, and make sure that what follows is all that happened since."""
        header = await stream.open(known.wanted)
        known.check_identity(await stream.read() if known.is_ahead_of(header) else header)
        if self._told and header.revision >= min(known.wanted):
            await stream.read(min(known.wanted))  # etcd consents first and tells of a compaction later

    def _take(self, listing: Listing) -> Snapshot | Resync:
        known, reason = self._known, self._history_gone
        self._history_gone = None
        self._ranges = parts(self._asked_for, outside(listing.refused)) or self._asked_for
        self._known = _Known(listing, len(self._ranges))
        if known is None:
            return Snapshot(listing.revision, listing.entries)
        return Resync(listing.revision, reason or "", known.changes_to(listing))

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[tuple[WatchStream, str]]:
        await self._session.learn_certificate(self._session.stream_endpoint(self._attempt))
        channel = self._session.open_stream_channel(self._attempt)
        stream = WatchStream(self._session, channel, self._ranges)
        try:
            yield stream, channel.endpoint
        finally:
            await self._session.close_stream_channel(channel)

    def _log_in_again(self) -> bool:
        """Permit one new log-in per connection: some versions say "permission denied" to an old token."""
        allowed = self._may_log_in and self._session.config.user is not None
        self._may_log_in = False
        self._session.forget_credentials()
        return allowed

    def _note_loss(self, trouble: _Trouble, reason: str) -> tuple[Lost, ...]:
        """Go on to the next endpoint; an outage is told once, however many attempts it takes."""
        endpoint = self._session.stream_endpoint(self._attempt)
        self._attempt += 1
        if trouble <= self._told or self._session.closed:
            return ()
        self._told = trouble
        return (Lost(endpoint, reason),)


class _Known:
    """The state a watch has reached: entries, the next revision wanted of each range, and which store they are of.

    Each range has its own: etcd tells of one revision range by range, and nothing of the others meanwhile.
    """

    def __init__(self, listing: Listing, ranges: int) -> None:
        self.entries: dict[bytes, Entry] = {entry.key: entry for entry in listing.entries}
        self.wanted = [listing.revision + 1] * ranges
        self._cluster = listing.cluster
        self._term = listing.term

    @property
    def next(self) -> int:
        """The revision after the newest one that was heard of."""
        return max(self.wanted)

    def is_ahead_of(self, header: Message) -> bool:
        """Whether the member that sent this knows less than we do: it lags behind the others, or its store is new."""
        return bool(header.raft_term < self._term or header.revision < self.next - 1)

    def check_identity(self, header: Message) -> None:
        """Raise HistoryGone when another store answers: resuming there would wait for ever in the future."""
        if header.cluster_id != self._cluster or self.is_ahead_of(header):
            raise HistoryGone("etcd's store was replaced")
        self._term = header.raft_term

    def apply(self, number: int, reply: Message) -> tuple[Change, ...]:
        """Take one reply's events of a range; old ones, which some servers repeat, are dropped.

        The resume point follows the events. A header's revision counts only without events: while the
        server catches up, its headers are ahead of what it has sent.
        """
        wanted = self.wanted[number]
        if not reply.events:
            self.wanted[number] = max(wanted, reply.header.revision + 1)
            return ()
        events = [event for event in reply.events if event.kv.mod_revision >= wanted]
        changes = tuple(self._change(event) for event in events)
        if changes:
            self.wanted[number] = changes[-1].revision + 1
        return changes

    def changes_to(self, listing: Listing) -> tuple[Change, ...]:
        """Return the changes that lead from here to a newer listing: deletions, then what is new or different."""
        there = {entry.key for entry in listing.entries}
        gone = tuple(Change(key, None, listing.revision) for key in self.entries if key not in there)
        new = tuple(
            Change(entry.key, entry, entry.mod_revision)
            for entry in listing.entries
            if self.entries.get(entry.key) != entry
        )
        return gone + new

    def _change(self, event: Message) -> Change:
        kv = event.kv
        if event.type == _DELETE:
            self.entries.pop(kv.key, None)
            return Change(kv.key, None, kv.mod_revision)
        entry = Entry(kv.key, kv.value, kv.lease, kv.create_revision, kv.mod_revision)
        self.entries[kv.key] = entry
        return Change(kv.key, entry, kv.mod_revision)


def _without_place(error: RegistryError) -> str:
    """What an error says, without the endpoint that every event names already."""
    return re.sub(r"^etcd \S+: ", "", str(error))
