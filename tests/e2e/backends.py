"""Demo backends of one test: registered under leases of its own etcd, to be killed, changed and added at will."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lbctl.demo.child import BackendProcess
from lbctl.demo.etcd_server import EtcdServer
from lbctl.demo.latency import Fixed
from lbctl.demo.spec import BackendSpec
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig


class Fleet:
    """An etcd, and the backends that were started on it."""

    def __init__(self, server: EtcdServer, client: Etcd, ttl_s: int) -> None:
        self.server = server
        self.client = client
        self._ttl_s = ttl_s
        self._children: dict[str, BackendProcess] = {}

    @property
    def etcd(self) -> str:
        return self.server.endpoint

    async def start(self, weight: int, *, latency_s: float = 0.005) -> str:
        """A new backend; returns its address once it is registered."""
        child = await BackendProcess.launch()
        address = f"127.0.0.1:{await child.port()}"
        self._children[address] = child
        await child.register(
            BackendSpec(
                etcd=self.etcd,
                services=("echo",),
                layout="seed",
                weight=weight,
                ttl_s=self._ttl_s,
                latency=Fixed(latency_s),
                error_rate=0.0,
                seed=address,
            )
        )
        return address

    async def deregister(self, address: str) -> None:
        """Take a backend's key away; the backend itself goes on, as one does that ends in order."""
        assert await self.client.delete(_key(address))

    async def register(self, address: str, weight: int) -> None:
        """Put a key back, for ever."""
        await self.client.put(_key(address), f"{address}|{weight}".encode())

    async def kill(self, address: str) -> None:
        """End a backend at once, its key left behind."""
        os.kill(self._children[address].pid, signal.SIGKILL)
        await self._children[address].wait()

    def freeze(self, address: str) -> None:
        """Stop a backend where it stands; its connections stay."""
        os.kill(self._children[address].pid, signal.SIGSTOP)

    def thaw(self, address: str) -> None:
        os.kill(self._children[address].pid, signal.SIGCONT)

    async def reweigh(self, address: str, weight: int) -> None:
        """Write another weight under the lease that the key has."""
        entry = await self.client.get(_key(address))
        assert entry is not None
        await self.client.put(_key(address), f"{address}|{weight}".encode(), entry.lease)

    async def close(self) -> None:
        for child in self._children.values():
            await child.stop()


def _key(address: str) -> bytes:
    return f"/services/echo/{address}".encode()


@asynccontextmanager
async def fleet(*weights: int, ttl_s: int = 30) -> AsyncIterator[tuple[Fleet, list[str]]]:
    """An etcd of the test's own with one backend per weight; gives their addresses in the order of the weights."""
    async with await EtcdServer.start() as server, Etcd(EtcdConfig((server.endpoint,))) as client:
        found = Fleet(server, client, ttl_s)
        try:
            yield found, [await found.start(weight) for weight in weights]
        finally:
            await found.close()
