"""Who may write a service's keys and nothing else: what is possible then, and that what is not leaves all as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lbctl.commands.deregister import planned, with_notes
from lbctl.commands.drain import drain
from lbctl.commands.noting import readable_notes, tidy
from lbctl.commands.register import Register, look, once
from lbctl.commands.rewriting import Where, registered, write
from lbctl.commands.turning import undraining, weighing
from lbctl.commands.weight import Wish
from lbctl.commands.weight import planned as weighed
from lbctl.demo.etcd_server import EtcdServer
from lbctl.discovery.codecs.registration import Wanted
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.failures import AccessDenied
from lbctl.etcd.ranges import prefix_range
from lbctl.etcd.stubs import pb
from lbctl.model import Endpoint
from tests.etcd.guarding import READER, ROLE, ROOT, admin, guard

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

A, B = "127.0.0.1:1", "127.0.0.1:2"
ECHO = Where("echo", prefix="/services/")


@pytest.fixture
async def etcd(own_etcd: EtcdServer) -> AsyncIterator[Etcd]:
    """A client that may read and write /services/ alone."""
    from etcd3.etcdrpc import auth_pb2

    config = EtcdConfig((own_etcd.endpoint,))
    keys = prefix_range(b"/services/")
    permission = auth_pb2.Permission(permType=auth_pb2.Permission.READWRITE, key=keys.start, range_end=keys.end)
    async with Etcd(config) as root:
        await root.put(f"/services/echo/{A}".encode(), f"{A}|5".encode())
    await guard(config, (b"/services/",))
    async with Etcd(EtcdConfig((own_etcd.endpoint,), user=ROOT[0], password=ROOT[1])) as root:
        await admin(root, "RoleGrantPermission", pb.AuthRoleGrantPermissionRequest(name=ROLE, perm=permission))
    async with Etcd(EtcdConfig((own_etcd.endpoint,), user=READER[0], password=READER[1])) as client:
        yield client


async def values(etcd: Etcd) -> list[str]:
    return [entry.value.decode() for entry in (await etcd.range(b"/services/")).entries]


async def test_registering_weighing_and_deregistering_need_no_more(etcd: Etcd) -> None:
    request = Register("seed", Wanted("echo", Endpoint("127.0.0.1", 2), 3))
    stands, _ = await once(etcd, request, (await look(etcd, request)).read_at)
    assert stands.key == f"/services/echo/{B}"

    await write(etcd, weighed(await registered(etcd, ECHO), [Wish(A, 0), Wish(B, 4)]))
    assert await values(etcd) == [f"{A}|0", f"{B}|4"]

    found = await registered(etcd, ECHO)
    await write(etcd, with_notes(planned(found, [A, B]), await readable_notes(etcd, found)))
    assert await values(etcd) == []


async def test_a_drain_that_cannot_be_noted_is_not_made(etcd: Etcd) -> None:
    found = await registered(etcd, ECHO)
    with pytest.raises(AccessDenied, match="permission denied"):
        await write(etcd, drain(found, [A]))
    assert await values(etcd) == [f"{A}|5"]


async def test_a_note_that_cannot_be_read_is_no_missing_note(etcd: Etcd) -> None:
    await write(etcd, weighed(await registered(etcd, ECHO), [Wish(A, 0)]))
    with pytest.raises(AccessDenied, match="permission denied"):
        await undraining(etcd, await registered(etcd, ECHO), [A])


async def test_where_no_note_is_needed_none_has_to_be_readable(etcd: Etcd) -> None:
    found = await registered(etcd, ECHO)
    assert not any(each.changes for each in (await undraining(etcd, found, [A])).rewrites)
    weighed = await weighing(etcd, found, [Wish(A, 3)])
    await write(etcd, weighed.rewrites)
    assert await tidy(etcd, weighed.stale) == 0
    assert await values(etcd) == [f"{A}|3"]
