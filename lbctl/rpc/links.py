"""The living connections of one subchannel: the one in use, and those that finish their calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from lbctl.rpc.link import Link
from lbctl.rpc.transport import Gauges
from lbctl.wire.frames import ErrorCode, goaway

_NAMES: Final = 200


def add_up(total: Counter[str], part: Mapping[str, int]) -> None:
    """Add counters that are kept for long. Details may be the peer's words, so only so many are told apart."""
    for name, count in part.items():
        kind, divider, _ = name.partition(": ")
        known = name in total or not divider or len(total) < _NAMES
        total[name if known else f"{kind}: (other)"] += count


class Links:
    """Connections from when they are up until their loss was told; what the lost ones counted is kept."""

    def __init__(self) -> None:
        self._links: set[Link] = set()
        self._past: Counter[str] = Counter()
        self._past_paused_ns = 0

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[Link]:
        """A copy: whoever is told of them may open and lose some."""
        return iter(list(self._links))

    def attempt(self) -> None:
        """Count that one is being opened."""
        self._past["connections"] += 1

    def add(self, link: Link) -> None:
        self._links.add(link)

    def lost(self, link: Link) -> None:
        self._links.discard(link)
        add_up(self._past, link.counters())
        self._past_paused_ns += link.paused_ns

    def counters(self) -> Counter[str]:
        """What was counted on all there ever were."""
        total = Counter(self._past)
        for link in self._links:
            total.update(link.counters())
        return total

    def gauges(self, parked: int) -> Gauges:
        """What they hold, with so many calls that wait for one of them."""
        return Gauges(
            sockets=len(self._links),
            waiting=parked + sum(link.waiting for link in self._links),
            blocked=sum(link.session.blocked for link in self._links),
            paused_ns=self._past_paused_ns + sum(link.paused_ns for link in self._links),
            limit=min((link.session.limit for link in self._links if link.session.ready), default=0),
        )

    async def aclose(self, wait_s: float) -> None:
        """Say goodbye on each and close it; at once where that takes long."""
        for link in self:
            if not link.session.closed:
                link.session.emit(goaway(ErrorCode.NO_ERROR))
            link.close()
        await self._gone(wait_s)
        for link in self:
            link.abort()
        # Bounded as well: uvloop says nothing of a connection whose opening was cancelled as it came up.
        await self._gone(wait_s)
        for link in self:
            link.connection_lost(None)

    async def _gone(self, timeout_s: float) -> None:
        if self._links:
            await asyncio.wait([link.gone for link in self._links], timeout=timeout_s)
