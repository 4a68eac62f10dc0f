"""Keys of registrations held in etcd: under a lease (``lbctl.etcd.keepalive``), or without one."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from lbctl.discovery.codecs.registration import Registration
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.keepalive import KeyTaken
from lbctl.etcd.swap import Swap, swap

_CLOSE_WITHIN_S: Final = 2.0


class Holder(Protocol):
    """Keeps one key in etcd between start and close."""

    key: bytes
    lease: int

    async def start(self) -> None: ...

    async def close(self) -> bool: ...


class Permanent:
    """Holds a key without a lease: whoever kills lbctl leaves it behind."""

    def __init__(self, etcd: Etcd, registered: Registration, read_at: int) -> None:
        self.key, self._value = registered
        self.lease = 0
        self._etcd = etcd
        self._read_at = read_at
        self._stands = False

    async def start(self) -> None:
        """Write the key; raises KeyTaken where it is not as it was read."""
        self._stands = True
        written = await swap(self._etcd, [Swap(self.key, self._value, self._read_at, 0)])
        if not written.done:
            self._stands = False
            raise KeyTaken(self.key)

    async def close(self) -> bool:
        """Delete the key, unless somebody has put it under a lease; False when etcd could not be told in time."""
        if not self._stands:
            return True
        try:
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                entry = await self._etcd.get(self.key)
                if entry is not None and not entry.lease:
                    await self._etcd.delete_if(self.key, entry.mod_revision)
        except (RegistryError, TimeoutError):
            return False
        self._stands = False
        return True
