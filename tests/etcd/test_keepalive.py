from __future__ import annotations

import asyncio

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.keepalive import LeaseKeeper

pytestmark = pytest.mark.e2e

KEY, VALUE = b"/services/echo/127.0.0.1:50061", b"127.0.0.1:50061|5"


def spell(lease: int) -> tuple[bytes, bytes]:
    return KEY, VALUE


class Notices:
    """Collects a keeper's notices; ``until`` waits for one that contains a text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    async def until(self, text: str, within_s: float = 20.0) -> None:
        async with asyncio.timeout(within_s):
            while not any(text in line for line in self.lines):
                self._news.clear()
                await self._news.wait()


async def test_a_registration_outlives_its_ttl_and_ends_with_its_keeper(etcd: Etcd) -> None:
    async with LeaseKeeper(etcd, spell, ttl_s=1) as keeper:
        lease = keeper.lease
        await asyncio.sleep(2.5)  # nothing happens when it works: only time can show that
        entry = await etcd.get(KEY)
        assert entry is not None
        assert (entry.value, entry.lease) == (VALUE, lease)

    assert await etcd.get(KEY) is None
    assert await etcd.time_to_live(lease) is None


async def test_a_revoked_lease_is_granted_anew_and_the_key_comes_back(etcd: Etcd) -> None:
    notices = Notices()
    async with LeaseKeeper(etcd, spell, 2, notices) as keeper:
        old = keeper.lease
        await etcd.revoke(old)
        await notices.until("registered anew")
        entry = await etcd.get(KEY)

        assert keeper.lease != old
        assert entry is not None
        assert (entry.value, entry.lease) == (VALUE, keeper.lease)


async def test_an_outage_longer_than_the_ttl_is_survived_and_told_once(own_etcd: EtcdServer) -> None:
    notices = Notices()
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd, LeaseKeeper(etcd, spell, 2, notices):
        await own_etcd.kill()
        await notices.until("etcd does not answer")
        await asyncio.sleep(2.5)  # longer than the lease
        await own_etcd.restart()
        await notices.until("the lease was kept")  # etcd starts its leases afresh
        assert await etcd.get(KEY) is not None

    assert len(notices.lines) == 2


async def test_closing_while_etcd_is_down_is_quick_and_says_that_nothing_was_revoked(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        keeper = LeaseKeeper(etcd, spell, 5)
        await keeper.start()
        await own_etcd.kill()
        async with asyncio.timeout(5):
            assert not await keeper.close()


async def test_a_registration_that_cannot_be_made_is_an_error(own_etcd: EtcdServer) -> None:
    await own_etcd.kill()
    async with Etcd(EtcdConfig((own_etcd.endpoint,), dial_timeout_s=0.3)) as etcd:
        keeper = LeaseKeeper(etcd, spell, 5)
        with pytest.raises(RegistryError, match="did not answer"):
            await keeper.start()
        assert await keeper.close()
