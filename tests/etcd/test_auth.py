from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.discovery.directory import follow_keys, read
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Lost, Resumed, Snapshot
from lbctl.etcd.failures import AccessDenied
from tests.etcd.following import Followed
from tests.etcd.guarding import READER, guard

pytestmark = pytest.mark.e2e


@pytest.fixture
async def guarded(own_etcd: EtcdServer) -> EtcdServer:
    """Give an etcd with authentication on: root may do all, the reader may read /ok/ and /services/."""
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        await etcd.put(b"/ok/1", b"v")
    await guard(EtcdConfig((own_etcd.endpoint,)), (b"/ok/", b"/services/"))
    return own_etcd


def client(server: EtcdServer, user: str | None = None, password: str | None = None) -> Etcd:
    return Etcd(EtcdConfig((server.endpoint,), user=user, password=password))


async def test_a_user_reads_and_watches_what_the_role_covers(guarded: EtcdServer) -> None:
    async with client(guarded, *READER) as etcd, client(guarded, "root", "root") as root:
        async with aclosing(etcd.watch(b"/ok/")) as events:
            followed = Followed(events)
            await followed.until_kind(Snapshot)
            await root.put(b"/ok/2", b"v")
            await followed.until(lambda me: b"/ok/2" in me.state)

        with pytest.raises(AccessDenied, match="permission denied") as caught:
            await etcd.range(b"/secret/")
        assert caught.value.hint == "the user's role does not cover these keys"


async def test_a_forbidden_watch_is_an_error_and_not_silence(guarded: EtcdServer) -> None:
    async with client(guarded, *READER) as etcd, aclosing(etcd.watch(b"/secret/")) as events:
        async with asyncio.timeout(10):
            with pytest.raises(AccessDenied, match="permission denied"):
                await anext(events)


async def test_no_user_and_a_wrong_password_are_told_apart(guarded: EtcdServer) -> None:
    async with client(guarded) as etcd:
        with pytest.raises(AccessDenied, match="user name is empty") as caught:
            await etcd.get(b"/ok/1")
        assert caught.value.hint == "give --user NAME and --password-file FILE"
    async with client(guarded, "reader", "wrong") as etcd:
        with pytest.raises(AccessDenied, match="authentication failed") as caught:
            await etcd.get(b"/ok/1")
        assert caught.value.hint == "check --user and --password-file"


async def test_a_user_where_authentication_is_off_is_said(own_etcd: EtcdServer) -> None:
    async with client(own_etcd, *READER) as etcd:
        with pytest.raises(RegistryError, match="authentication is not enabled"):
            await etcd.get(b"/ok/1")


async def test_a_token_that_etcd_forgot_is_replaced_for_calls_and_watches(guarded: EtcdServer) -> None:
    async with client(guarded, *READER) as etcd, aclosing(etcd.watch(b"/ok/")) as events:
        followed = Followed(events)
        await followed.until_kind(Snapshot)
        gone = asyncio.create_task(followed.until_kind(Lost))
        await etcd.get(b"/ok/1")
        await guarded.kill()
        await gone
        await guarded.restart()  # simple tokens live in memory only
        assert await etcd.get(b"/ok/1") is not None
        await followed.until_kind(Resumed)
        async with client(guarded, "root", "root") as root:
            await root.put(b"/ok/2", b"v")
        await followed.until(lambda me: b"/ok/2" in me.state)


async def test_a_scan_keeps_what_the_role_may_read_and_says_what_it_may_not(guarded: EtcdServer) -> None:
    async with client(guarded, "root", "root") as root:
        await root.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with client(guarded, *READER) as etcd:
        registry = await read(etcd)

    assert [service.name for service in registry.services] == ["echo"]
    assert registry.notes
    assert all("no permission to read keys" in note for note in registry.notes)


async def test_whoever_may_read_a_part_follows_that_part(guarded: EtcdServer) -> None:
    async with client(guarded, "root", "root") as root, client(guarded, *READER) as etcd:
        await root.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
        async with aclosing(follow_keys(etcd, None)) as events:
            followed = Followed(events)
            await followed.until_kind(Snapshot)
            await root.put(b"/microservices/x/1", b"{}")
            await root.put(b"/services/echo/127.0.0.1:2", b"127.0.0.1:2|5")
            await followed.until(lambda me: b"/services/echo/127.0.0.1:2" in me.state)

    assert sorted(followed.state) == [b"/services/echo/127.0.0.1:1", b"/services/echo/127.0.0.1:2"]
    assert followed.count(Lost) == 0
