from __future__ import annotations

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import ExitCode, RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Snapshot
from lbctl.etcd.keepalive import KeyTaken, LeaseKeeper
from lbctl.model import Entry
from tests.etcd.members import cluster, leader_of
from tests.etcd.proxy import TcpProxy

pytestmark = pytest.mark.e2e

KEY, VALUE = b"/services/echo/127.0.0.1:50061", b"127.0.0.1:50061|5"


def spell(lease: int) -> tuple[bytes, bytes]:
    return KEY, VALUE


def named_by_lease(lease: int) -> tuple[bytes, bytes]:
    return f"user.rpc/{lease}".encode(), b"127.0.0.1:50061"


async def goes(etcd: Etcd, key: bytes = KEY) -> None:
    """Wait until a key is not there, or is deleted."""
    async with asyncio.timeout(20), aclosing(etcd.watch(key)) as events:
        async for event in events:
            match event:
                case Snapshot(_, entries) if not entries:
                    return
                case Changes(_, changes) if any(change.entry is None for change in changes):
                    return


async def comes(etcd: Etcd, keeper: LeaseKeeper) -> None:
    """Wait until the key is there under the keeper's lease."""
    async with asyncio.timeout(20), aclosing(etcd.watch(KEY)) as events:
        async for _ in events:
            entry = await etcd.get(KEY)
            if entry is not None and (entry.value, entry.lease) == (VALUE, keeper.lease):
                return


async def held(etcd: Etcd, key: bytes = KEY) -> Entry:
    entry = await etcd.get(key)
    assert entry is not None
    return entry


class Notices:
    """Collects a keeper's notices; ``until`` waits for one that contains a text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    async def until_last(self, text: str, within_s: float = 60.0) -> None:
        """Wait until the last line is one that contains a text."""
        async with asyncio.timeout(within_s):
            while not self.lines or text not in self.lines[-1]:
                self._news.clear()
                await self._news.wait()

    async def until(self, text: str, within_s: float = 20.0, times: int = 1) -> None:
        async with asyncio.timeout(within_s):
            while sum(text in line for line in self.lines) < times:
                self._news.clear()
                await self._news.wait()


@pytest.mark.slow
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


@pytest.mark.slow
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


async def test_a_key_that_somebody_else_has_is_not_overwritten_and_no_lease_is_left(etcd: Etcd) -> None:
    await etcd.put(KEY, b"of another")
    keeper = LeaseKeeper(etcd, spell, 60, read_at=0)

    with pytest.raises(KeyTaken, match="changed since it was read: nothing was written") as caught:
        await keeper.start()

    assert caught.value.exit_code is ExitCode.CHECK_FAILED
    assert (await held(etcd)).value == b"of another"
    assert keeper.lease == 0, "it was revoked"


async def test_a_key_that_was_read_is_taken_over_with_its_lease(etcd: Etcd) -> None:
    old = await etcd.grant(60)
    read = await etcd.put(KEY, b"of another", old)

    async with LeaseKeeper(etcd, spell, 60, read_at=read) as keeper:
        assert await held(etcd) == Entry(KEY, VALUE, keeper.lease, read, read + 1)
        await etcd.revoke(old)
        assert (await held(etcd)).lease == keeper.lease, "whoever had it before cannot take it along"


async def test_a_deleted_key_is_put_back_under_the_lease_that_lives(etcd: Etcd) -> None:
    notices = Notices()
    async with LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper:
        lease = keeper.lease
        await etcd.delete(KEY)
        await notices.until(f"{KEY.decode()} had been deleted; it was put back")
        entry = await held(etcd)

        assert (entry.value, entry.lease, keeper.lease) == (VALUE, lease, lease)

    assert await etcd.get(KEY) is None


@pytest.mark.slow
async def test_what_others_write_into_the_key_stays(etcd: Etcd) -> None:
    """A weight, or a drain: only a key that is gone is put back."""
    notices = Notices()
    async with LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper:
        await etcd.put(KEY, b"127.0.0.1:50061|0", keeper.lease)
        await asyncio.sleep(1.5)  # two looks
        assert (await held(etcd)).value == b"127.0.0.1:50061|0"
    assert notices.lines == []


async def test_a_key_that_somebody_took_is_left_alone_until_it_is_free(etcd: Etcd) -> None:
    notices = Notices()
    async with LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True):
        await etcd.put(KEY, b"of another")
        await notices.until("belongs to somebody else now and is left alone")
        assert (await held(etcd)).value == b"of another"
        await etcd.delete(KEY)
        await notices.until("it was put back")
        assert (await held(etcd)).value == VALUE
    assert len(notices.lines) == 2, "told once, however often it was looked at"


async def test_a_key_that_was_taken_while_the_lease_was_lost_is_not_won_back(etcd: Etcd) -> None:
    notices = Notices()
    async with LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper:
        old = keeper.lease
        await etcd.put(KEY, b"of another")
        await etcd.revoke(old)
        await notices.until("belongs to somebody else now")
        assert (await held(etcd)).value == b"of another"

    assert (await held(etcd)).value == b"of another", "the end of the keeper is none of its business"


async def test_a_key_that_is_named_by_its_lease_changes_with_it(etcd: Etcd) -> None:
    notices = Notices()
    async with LeaseKeeper(etcd, named_by_lease, 2, notices) as keeper:
        first = keeper.key
        assert first == f"user.rpc/{keeper.lease}".encode()
        await etcd.revoke(keeper.lease)
        await notices.until("registered anew")

        assert keeper.key == f"user.rpc/{keeper.lease}".encode() != first
        assert [entry.key for entry in (await etcd.range(b"user.rpc/")).entries] == [keeper.key]


@pytest.mark.slow
async def test_who_is_cut_off_for_longer_than_the_lease_lives_registers_anew(own_etcd: EtcdServer) -> None:
    notices = Notices()
    async with (
        TcpProxy(own_etcd.port) as proxy,
        Etcd(EtcdConfig((own_etcd.endpoint,))) as direct,
        Etcd(EtcdConfig((proxy.endpoint,))) as etcd,
        LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper,
    ):
        old = keeper.lease
        await proxy.refuse()
        await goes(direct)
        await proxy.accept()
        await notices.until("registered anew")

        assert keeper.lease != old
        assert (await held(direct)).lease == keeper.lease
    assert len(notices.lines) == 2


@pytest.mark.slow
async def test_a_connection_that_goes_silent_is_noticed_within_the_lease(own_etcd: EtcdServer) -> None:
    """Nothing is refused or reset: only the answers stop coming."""
    notices = Notices()
    async with (
        TcpProxy(own_etcd.port) as proxy,
        Etcd(EtcdConfig((own_etcd.endpoint,))) as direct,
        Etcd(EtcdConfig((proxy.endpoint,))) as etcd,
        LeaseKeeper(etcd, spell, 6, notices, read_at=0, restores=True) as keeper,
    ):
        lease = keeper.lease
        proxy.silence()
        await notices.until("etcd does not answer")
        await proxy.drop()
        await notices.until("the lease was kept")
        assert (await held(direct)).lease == lease


@pytest.mark.slow
async def test_an_etcd_that_stands_still_and_goes_on_has_the_registration_again(own_etcd: EtcdServer) -> None:
    notices = Notices()
    async with (
        Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd,
        LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper,
    ):
        os.kill(own_etcd.pid, signal.SIGSTOP)
        try:
            await notices.until("etcd does not answer")
            await asyncio.sleep(2.5)  # longer than the lease
        finally:
            os.kill(own_etcd.pid, signal.SIGCONT)
        await notices.until("the lease")  # was kept, or had expired
        await comes(etcd, keeper)


@pytest.mark.slow
async def test_outages_one_after_the_other_are_all_survived(own_etcd: EtcdServer) -> None:
    notices = Notices()
    async with (
        Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd,
        LeaseKeeper(etcd, spell, 2, notices, read_at=0, restores=True) as keeper,
    ):
        for number in (1, 2, 3):
            await own_etcd.kill()
            await notices.until("etcd does not answer", times=number)
            await own_etcd.restart()
            await notices.until("the lease was kept", times=number)
            assert (await held(etcd)).lease == keeper.lease


@pytest.mark.slow
async def test_the_loss_of_a_leader_and_then_of_the_quorum_is_survived() -> None:
    notices = Notices()
    async with cluster() as members:
        config = EtcdConfig(tuple(each.endpoint for each in members))
        async with Etcd(config) as etcd, LeaseKeeper(etcd, spell, 5, notices, read_at=0, restores=True) as keeper:
            leader = await leader_of(members)
            other = next(each for each in members if each is not leader)
            await leader.kill()
            await comes(etcd, keeper)
            await other.kill()
            await notices.until_last("etcd does not answer")
            for each in (leader, other):
                await each.start()
            await notices.until_last("the lease")  # was kept, or had expired
            await comes(etcd, keeper)
