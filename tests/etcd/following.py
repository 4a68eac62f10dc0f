"""Reading a watch in tests: with a bound, and into the state it describes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot, WatchEvent

WITHIN_S = 20.0


class Followed:
    """Everything one watch has yielded, and the keys as they would be now."""

    def __init__(self, events: AsyncIterator[WatchEvent]) -> None:
        self._events = events
        self.seen: list[WatchEvent] = []
        self.state: dict[bytes, bytes] = {}
        self.written: list[tuple[bytes, bytes]] = []

    async def until(self, enough: Callable[[Followed], bool], within_s: float = WITHIN_S) -> None:
        """Read on until ``enough(self)``."""
        async with asyncio.timeout(within_s):
            while not enough(self):
                self._take(await anext(self._events))

    async def until_kind(self, kind: type[WatchEvent], within_s: float = WITHIN_S) -> None:
        """Read on until the newest event is of a kind."""
        before = len(self.seen)
        await self.until(lambda me: len(me.seen) > before and isinstance(me.seen[-1], kind), within_s)

    def count(self, kind: type[WatchEvent]) -> int:
        return sum(isinstance(event, kind) for event in self.seen)

    def _take(self, event: WatchEvent) -> None:
        self.seen.append(event)
        match event:
            case Snapshot(_, entries):
                self.state = {entry.key: entry.value for entry in entries}
            case Changes(_, changes) | Resync(_, _, changes):
                for change in changes:
                    if change.entry is None:
                        self.state.pop(change.key)
                    else:
                        self.state[change.key] = change.entry.value
                        self.written.append((change.key, change.entry.value))
            case Lost() | Resumed():
                pass
