"""What a watch makes of a prefix, kept in the background, and what etcd itself says happened there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple

import grpc.aio

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot, WatchEvent
from lbctl.etcd.ranges import prefix_range
from lbctl.etcd.stubs import pb, rpc

PATIENCE_S = 20.0
RECOVERED_WITHIN_S = 2.0


class Step(NamedTuple):
    """One change of one key; None: it was deleted."""

    revision: int
    key: bytes
    value: bytes | None


class Mirror:
    """The keys of a prefix as a watch describes them, and every step it told, in order."""

    def __init__(self) -> None:
        self.seen: list[WatchEvent] = []
        self.state: dict[bytes, bytes] = {}
        self.steps: list[Step] = []
        self.began_at = 0  # the revision of the snapshot
        self._news = asyncio.Event()

    def kinds(self) -> list[str]:
        """The news about the connection: what is neither the snapshot nor changes."""
        return [type(event).__name__ for event in self.seen if isinstance(event, Lost | Resumed | Resync)]

    def reasons(self) -> list[str]:
        return [event.reason for event in self.seen if isinstance(event, Lost | Resync)]

    @property
    def served_by(self) -> str:
        """The endpoint of the last return."""
        return next(event.endpoint for event in reversed(self.seen) if isinstance(event, Resumed))

    def take(self, event: WatchEvent) -> None:
        self.seen.append(event)
        if isinstance(event, Snapshot):
            self.state = {entry.key: entry.value for entry in event.entries}
            self.began_at = event.revision
        elif isinstance(event, Changes | Resync):
            for change in event.changes:
                value = change.entry.value if change.entry else None
                self.steps.append(Step(change.revision, change.key, value))
                if value is None:
                    del self.state[change.key]  # what is not there cannot be deleted: that would be a repetition
                else:
                    self.state[change.key] = value
        self._news.set()

    async def until(self, holds: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        async with asyncio.timeout(within_s):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def hears(self, kind: type[WatchEvent], times: int = 1) -> None:
        """Wait until an event of this kind has come so many times."""
        await self.until(lambda: sum(isinstance(event, kind) for event in self.seen) >= times)

    async def agrees_with(self, etcd: Etcd, prefix: bytes) -> None:
        """Wait, not longer than recovery may take, until the view is what a reading of etcd gives.

        It is read again now and then: a member that thaws may still carry out what it was asked for long ago.
        """
        async with asyncio.timeout(RECOVERED_WITHIN_S):
            while not await self._comes_to({each.key: each.value for each in (await etcd.range(prefix)).entries}):
                pass

    async def _comes_to(self, state: dict[bytes, bytes]) -> bool:
        with suppress(TimeoutError):
            await self.until(lambda: self.state == state, RECOVERED_WITHIN_S / 10)
        return self.state == state


@asynccontextmanager
async def mirrored(config: EtcdConfig, prefix: bytes) -> AsyncIterator[Mirror]:
    """Mirror a prefix for a block; the watch is open when it begins, and must not have failed when it ends."""
    mirror = Mirror()

    async def follow(etcd: Etcd) -> None:
        async with aclosing(etcd.watch(prefix)) as events:
            async for event in events:
                mirror.take(event)

    async with Etcd(config) as etcd:
        following = asyncio.create_task(follow(etcd))
        try:
            await mirror.hears(Snapshot)
            yield mirror
            if following.done():
                following.result()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def history(endpoint: str, prefix: bytes, after: int, upto: int) -> list[Step]:
    """Ask etcd, past all of lbctl's own ways, what happened after one revision and up to another."""
    keys = prefix_range(prefix)
    steps: list[Step] = []
    async with grpc.aio.insecure_channel(endpoint) as channel, asyncio.timeout(PATIENCE_S):
        call = rpc.WatchStub(channel).Watch()
        create = pb.WatchCreateRequest(key=keys.start, range_end=keys.end, start_revision=after + 1)
        await call.write(pb.WatchRequest(create_request=create))
        while not steps or steps[-1].revision < upto:
            reply = await call.read()
            assert not reply.canceled, reply.cancel_reason or reply.compact_revision
            steps += [
                Step(each.kv.mod_revision, each.kv.key, None if each.type else each.kv.value) for each in reply.events
            ]
        call.cancel()
    return [step for step in steps if step.revision <= upto]
