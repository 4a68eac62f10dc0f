"""Fixtures for every test that needs the real registry.

``etcd_server``  one real etcd for the whole session; use ``.endpoint``. Its keys are shared: prefer ``etcd``.
``etcd``         an open client (``lbctl.etcd.client.Etcd``) on that server, with an empty keyspace before and after.
``own_etcd``     a server of the test's own (``EtcdServer``), to be killed and restarted at will.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import lbctl.etcd  # noqa: F401 - first: it sets what gRPC reads when it is imported
from tests.bytecode import bytecode, pytest_configure
from tests.etcd_fixture import background_etcd

if TYPE_CHECKING:
    from lbctl.demo.etcd_server import EtcdServer
    from lbctl.etcd.client import Etcd

__all__ = ["bytecode", "etcd", "etcd_server", "frozen", "own_etcd", "pytest_configure"]

# How fast an example runs is not what is tested. The same examples every time: what fails, fails at the change that
# broke it. `--hypothesis-profile explore` looks for new ones, and what it finds becomes an `@example`.
settings.register_profile("explore", deadline=None)
settings.register_profile("lbctl", deadline=None, derandomize=True)
settings.load_profile("lbctl")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hold slow tests to saying so where they stand: .ci/run looks for them in no other file."""
    for path in {item.path for item in items if item.get_closest_marker("slow")}:
        if "mark.slow" not in path.read_text(encoding="utf-8"):
            raise pytest.UsageError(f"{path} has slow tests and no mark of its own that says so")


def pytest_collection_finish() -> None:
    """Keep what is there for good from the collector: many tests collect, and all modules' tests would take 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def frozen() -> Iterator[None]:
    """Leave it so: runs in this process freeze what there is when they begin, and thaw everything when they end."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("freeze", "unfreeze"):
            patch.setattr(gc, name, lambda: None)
        yield


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[EtcdServer]:
    """One real etcd for the session."""
    with background_etcd() as server:
        yield server


@pytest.fixture
async def etcd(etcd_server: EtcdServer) -> AsyncIterator[Etcd]:
    """Give a client of the session's etcd, whose keyspace is empty."""
    from lbctl.etcd.client import Etcd
    from lbctl.etcd.config import EtcdConfig

    async with Etcd(EtcdConfig((etcd_server.endpoint,))) as client:
        await client.delete_prefix(b"")
        yield client
        await client.delete_prefix(b"")


@pytest.fixture
async def own_etcd() -> AsyncIterator[EtcdServer]:
    """Give a server that belongs to the test alone."""
    from lbctl.demo.etcd_server import EtcdServer

    async with await EtcdServer.start() as server:
        yield server
