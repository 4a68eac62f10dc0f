"""Command lines run in this process, on a clean environment, against the session's real etcd."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from lbctl.cli import run
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

Keys = Callable[[Mapping[str, str]], None]
Values = Callable[[], list[str]]
ECHO = {  # one service, three instances
    "/services/echo/127.0.0.1:50061": "127.0.0.1:50061|5",
    "/services/echo/127.0.0.1:50062": "127.0.0.1:50062|1",
    "/services/echo/[::1]:50063": "[::1]:50063|1",
}


class Said(NamedTuple):
    """What one command line did."""

    status: int
    out: str
    err: str


Lbctl = Callable[..., Said]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests may reach them."""
    for name in os.environ:
        if name.startswith(("LBCTL_", "ETCDCTL_")) or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lbctl(capsys: pytest.CaptureFixture[str]) -> Lbctl:
    """Run one command line."""

    def call(*arguments: str) -> Said:
        status = run(arguments)
        captured = capsys.readouterr()
        return Said(status, captured.out, captured.err)

    return call


@pytest.fixture
def keys(etcd_server: EtcdServer) -> Iterator[Keys]:
    """Fill the session's etcd with exactly these keys."""

    async def fill(wanted: Mapping[str, str]) -> None:
        async with Etcd(EtcdConfig((etcd_server.endpoint,))) as etcd:
            await etcd.delete_prefix(b"")
            for key, value in wanted.items():
                await etcd.put(key.encode(), value.encode())

    def put(wanted: Mapping[str, str]) -> None:
        asyncio.run(fill(wanted))

    put({})
    yield put
    put({})


@pytest.fixture
def put(etcd_server: EtcdServer) -> Keys:
    """Write keys, as their owner or somebody else does, and leave the others as they are."""

    async def write(wanted: Mapping[str, str]) -> None:
        async with Etcd(EtcdConfig((etcd_server.endpoint,))) as etcd:
            for key, value in wanted.items():
                await etcd.put(key.encode(), value.encode())

    return lambda wanted: asyncio.run(write(wanted))


@pytest.fixture
def values(etcd_server: EtcdServer) -> Values:
    """What the session's etcd holds."""

    async def read() -> list[str]:
        async with Etcd(EtcdConfig((etcd_server.endpoint,))) as etcd:
            return [entry.value.decode() for entry in (await etcd.range(b"")).entries]

    return lambda: asyncio.run(read())


@pytest.fixture
def at(etcd_server: EtcdServer, monkeypatch: pytest.MonkeyPatch) -> EtcdServer:
    """Point command lines at the session's etcd."""
    monkeypatch.setenv("LBCTL_ENDPOINTS", etcd_server.endpoint)
    return etcd_server


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections for as long as the test lasts: bound, and not listening."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]
