"""One watch on one connection for as long as a block lasts: whether etcd permits it, and how soon it tells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.ranges import prefix_range
from lbctl.etcd.stream import Broken, HistoryGone, WatchStream
from lbctl.etcd.stubs import Message


class Glance:
    """A watch that etcd has agreed to."""

    def __init__(self, stream: WatchStream, endpoint: str) -> None:
        self.endpoint = endpoint
        self._stream = stream

    async def next(self) -> tuple[Message, ...]:
        """Return the events that come next; raises RegistryError where the watch ends instead."""
        try:
            while True:
                _, reply = await self._stream.next()
                if reply.events:
                    return tuple(reply.events)
        except (Broken, HistoryGone) as end:
            raise _ended(self.endpoint, end) from end


@asynccontextmanager
async def glance(etcd: Etcd, prefix: bytes) -> AsyncIterator[Glance]:
    """Watch a prefix from now on; raises RegistryError where etcd refuses, or the watch cannot be opened."""
    session = etcd.session
    channel = session.open_stream_channel(session.config.endpoints.index(session.endpoint))
    try:
        stream = WatchStream(session, channel, (prefix_range(prefix),))
        try:
            await stream.open((0,))
        except (Broken, HistoryGone) as end:
            raise _ended(channel.endpoint, end) from end
        yield Glance(stream, channel.endpoint)
    finally:
        await session.close_stream_channel(channel)


def _ended(endpoint: str, end: Exception) -> RegistryError:
    return RegistryError(f"etcd {endpoint} does not keep a watch: {end}")
