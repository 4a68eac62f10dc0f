"""How long registrations still have: each distinct lease asked once, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lbctl.etcd.client import Etcd

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Lease:
    """What one lease has left and was granted, in seconds. ``expired`` between two reads: read the keys again."""

    id: int
    ttl_s: int
    granted_s: int

    @property
    def expired(self) -> bool:
        return self.ttl_s < 0

    @property
    def hex_id(self) -> str:
        """The id as etcdctl writes it."""
        return f"{self.id & 0xFFFFFFFFFFFFFFFF:x}"


async def resolve(etcd: Etcd, leases: Iterable[int]) -> Mapping[int, Lease]:
    """Return the state of each lease; 0, the mark of a permanent key, is left out."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(lease: int) -> Lease:
        async with gate:
            found = await etcd.time_to_live(lease)
        return Lease(lease, found.ttl, found.granted) if found else Lease(lease, -1, 0)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {lease: group.create_task(ask(lease)) for lease in dict.fromkeys(leases) if lease}
    except ExceptionGroup as failed:  # all have the same cause: one is enough
        raise failed.exceptions[0] from None
    return {lease: task.result() for lease, task in tasks.items()}
