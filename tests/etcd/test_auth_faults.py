"""A watch and its calls while tokens expire, roles are revoked and passwords change, against a real etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lbctl.discovery.scan import scan
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Lost, Resumed
from lbctl.etcd.failures import AccessDenied, Unauthenticated
from tests.etcd.guarding import READER, ROOT, forbid, guard, permit, set_password
from tests.etcd.members import Member, member
from tests.etcd.mirror import Mirror, mirrored
from tests.etcd.proxy import TcpProxy

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PREFIX = b"/services/"
TOKEN_S = 1


def reader(endpoint: str) -> EtcdConfig:
    return EtcdConfig((endpoint,), user=READER[0], password=READER[1])


@pytest.fixture
async def guarded() -> AsyncIterator[Member]:
    """Give an etcd whose tokens live for a second after their last use."""
    async with member({"auth-token-ttl": str(TOKEN_S)}) as server:
        await guard(EtcdConfig((server.endpoint,)), (PREFIX,))
        yield server


@asynccontextmanager
async def rooted(server: Member) -> AsyncIterator[Etcd]:
    async with Etcd(EtcdConfig((server.endpoint,), user=ROOT[0], password=ROOT[1])) as root:
        yield root


async def expired() -> None:
    """Let tokens go unused until etcd, which looks once a second, has dropped them."""
    await asyncio.sleep(TOKEN_S + 2.0)


async def goes_on(mirror: Mirror, root: Etcd) -> None:
    value = b"%d" % len(mirror.steps)  # another one each time: what was there before is no sign of anything
    await root.put(PREFIX + b"last", value)
    await mirror.agrees_with(root, PREFIX)
    assert mirror.state[PREFIX + b"last"] == value


async def test_an_expired_token_is_replaced_once_however_many_calls_find_out(guarded: Member) -> None:
    async with Etcd(reader(guarded.endpoint)) as etcd:
        await etcd.range(PREFIX)
        logins = await guarded.served("Authenticate")
        await expired()
        listings = await asyncio.gather(*(etcd.range(PREFIX) for _ in range(64)))

        assert len(listings) == 64
        assert await guarded.served("Authenticate") == logins + 1


async def test_a_watch_outlives_its_token_and_opens_again_with_another(guarded: Member) -> None:
    async with (
        rooted(guarded) as root,
        TcpProxy(guarded.port) as proxy,
        mirrored(reader(proxy.endpoint), PREFIX) as mirror,
    ):
        await goes_on(mirror, root)
        await expired()
        await goes_on(mirror, root)
        assert mirror.kinds() == []
        await proxy.drop()
        await mirror.hears(Resumed)
        await goes_on(mirror, root)

    assert mirror.kinds() == ["Lost", "Resumed"]


async def test_a_role_that_is_revoked_is_told_and_waited_for(guarded: Member) -> None:
    async with (
        rooted(guarded) as root,
        TcpProxy(guarded.port) as proxy,
        mirrored(reader(proxy.endpoint), PREFIX) as mirror,
    ):
        await goes_on(mirror, root)
        await forbid(root, PREFIX)
        await proxy.drop()
        await mirror.hears(Lost, 2)  # the connection, then the refusal
        await root.put(PREFIX + b"meanwhile", b"v")
        before = await guarded.served("Watch")
        await asyncio.sleep(2.5)
        assert await guarded.served("Watch") - before <= 3  # a second apart or more
        await permit(root, PREFIX)
        await mirror.hears(Resumed)
        await goes_on(mirror, root)

    assert mirror.kinds() == ["Lost", "Lost", "Resumed"]
    assert mirror.reasons()[-1] == "the watch was refused: permission denied; check the user's role"
    assert [step.key.removeprefix(PREFIX) for step in mirror.steps] == [b"last", b"meanwhile", b"last"]


async def test_a_password_that_changes_is_told_and_does_not_end_in_a_storm_of_log_ins(guarded: Member) -> None:
    async with (
        rooted(guarded) as root,
        TcpProxy(guarded.port) as proxy,
        mirrored(reader(proxy.endpoint), PREFIX) as mirror,
    ):
        await goes_on(mirror, root)
        await set_password(root, READER[0], "another")
        await proxy.drop()
        await mirror.hears(Lost, 2)
        before = await guarded.served("Authenticate")
        await asyncio.sleep(2.5)
        assert await guarded.served("Authenticate") - before <= 3
        await set_password(root, READER[0], READER[1])
        await mirror.hears(Resumed)
        await goes_on(mirror, root)

    assert mirror.kinds() == ["Lost", "Lost", "Resumed"]
    assert "authentication failed" in mirror.reasons()[-1]


async def test_who_is_refused_from_the_start_is_told_so_and_asks_no_more(guarded: Member) -> None:
    async with Etcd(reader(guarded.endpoint)) as etcd:
        with pytest.raises(AccessDenied, match="permission denied"):
            await anext(etcd.watch(b"/secret/"))
        assert await guarded.served("Watch") == 0


async def test_a_scan_with_a_wrong_password_asks_once_and_not_for_every_tree(guarded: Member) -> None:
    before = await guarded.served("Authenticate")
    async with Etcd(EtcdConfig((guarded.endpoint,), user=READER[0], password="wrong")) as etcd:
        with pytest.raises(Unauthenticated, match="authentication failed"):
            await scan(etcd, None)
    assert await guarded.served("Authenticate") - before == 1
