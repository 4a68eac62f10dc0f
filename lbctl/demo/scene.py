"""The supervisor of a demo: one etcd and its backends, started together, watched, and taken down together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lbctl.demo.certificates import Tls
from lbctl.demo.child import BackendProcess
from lbctl.demo.etcd_server import EtcdServer
from lbctl.demo.latency import Latency
from lbctl.demo.spec import BackendSpec
from lbctl.errors import LbctlError
from lbctl.model import Endpoint

HOST = "127.0.0.1"


class EtcdDied(LbctlError):
    """The embedded etcd ended by itself; without it there is no demo."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What to stand up; ``weights``, ``latencies`` and ``error_rates`` hold one value per backend."""

    weights: tuple[int, ...]
    latencies: tuple[Latency, ...]
    error_rates: tuple[float, ...]  # 0..1
    services: tuple[str, ...] = ("echo",)
    layout: str = "seed"
    ttl_s: int = 10
    seed: int = 0
    etcd_binary: str | None = None
    tls: Tls = Tls.OFF
    orca: bool = False  # backends report their load


@dataclass(frozen=True, slots=True)
class Backend:
    """One running backend; ``keys`` are what it registered."""

    endpoint: Endpoint
    weight: int
    pid: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What stands: where etcd is, and every backend in key order."""

    etcd: str  # host:port
    etcd_pid: int
    data_dir: Path
    backends: tuple[Backend, ...]
    setup: Setup


class Death(NamedTuple):
    """A backend that ended although nobody asked it to."""

    backend: Backend
    end: str


class Scene:
    """A running demo. :meth:`deaths` tells what breaks; leaving the context of stage() takes everything down."""

    def __init__(self, facts: Facts, etcd: EtcdServer, children: list[BackendProcess]) -> None:
        self.facts = facts
        self._etcd = etcd
        self._children = children

    async def deaths(self) -> AsyncGenerator[Death, None]:
        """Every backend's death as it happens; raises EtcdDied when etcd is gone."""
        watched = {
            asyncio.create_task(child.wait()): (child, backend)
            for child, backend in zip(self._children, self.facts.backends, strict=True)
        }
        etcd = asyncio.create_task(self._etcd.wait())
        try:
            while True:
                done, _ = await asyncio.wait({etcd, *watched}, return_when=asyncio.FIRST_COMPLETED)
                if etcd in done:
                    raise EtcdDied(f"the demo's etcd {self.facts.etcd} died ({_end(etcd.result(), self._etcd)})")
                for task in done:
                    child, backend = watched.pop(task)
                    yield Death(backend, child.end())
        finally:
            for task in (etcd, *watched):
                task.cancel()


def _end(status: int, etcd: EtcdServer) -> str:
    if status < 0:
        return f"signal {-status}"
    return f"exit status {status}{': ' if etcd.last_words else ''}{etcd.last_words}"


@asynccontextmanager
async def stage(setup: Setup) -> AsyncIterator[Scene]:
    """Start everything at once, hand over when every backend is registered, and leave nothing behind.

    Raises LbctlError when a part does not come up; what did come up is taken down first.
    """
    starting = asyncio.create_task(EtcdServer.start(binary=setup.etcd_binary))
    children: list[BackendProcess] = []
    try:
        for _ in setup.weights:
            children.append(await BackendProcess.launch(setup.tls))  # noqa: PERF401 - each is owned before the next starts
        ports = [asyncio.create_task(child.port()) for child in children]
        await _all(starting, *ports)
        etcd = starting.result()
        placed = _in_key_order([port.result() for port in ports], children)
        entering = [
            asyncio.create_task(_register(setup, etcd.endpoint, index, place)) for index, place in enumerate(placed)
        ]
        await _all(*entering)
        backends = tuple(task.result() for task in entering)
        facts = Facts(etcd.endpoint, etcd.pid, etcd.data_dir, backends, setup)
        yield Scene(facts, etcd, [place.child for place in placed])
    finally:
        await _take_down(starting, children)


async def _all(*tasks: asyncio.Task[Any]) -> None:
    """Wait for all, or for the first failure, which is raised; none is left running."""
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Place(NamedTuple):
    endpoint: Endpoint
    child: BackendProcess


def _in_key_order(ports: list[int], children: list[BackendProcess]) -> list[_Place]:
    """Backends by the order of their keys, so that the first weight belongs to the first line of every listing."""
    places = (_Place(Endpoint(HOST, port), child) for port, child in zip(ports, children, strict=True))
    return sorted(places, key=lambda place: str(place.endpoint))


async def _register(setup: Setup, etcd: str, index: int, place: _Place) -> Backend:
    spec = BackendSpec(
        etcd=etcd,
        services=setup.services,
        layout=setup.layout,
        weight=setup.weights[index],
        ttl_s=setup.ttl_s,
        latency=setup.latencies[index],
        error_rate=setup.error_rates[index],
        seed=f"{setup.seed}/{index}",
        orca=setup.orca,
    )
    keys = await place.child.register(spec)
    return Backend(place.endpoint, spec.weight, place.child.pid, keys)


async def _take_down(starting: asyncio.Task[EtcdServer], children: list[BackendProcess]) -> None:
    """Backends first, so that they give their leases back to an etcd that still answers."""
    await asyncio.gather(*(child.stop() for child in children))
    starting.cancel()  # nothing happens to a start that is over
    with contextlib.suppress(asyncio.CancelledError, LbctlError):
        await (await starting).stop()
