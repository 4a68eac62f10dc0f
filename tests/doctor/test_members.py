"""LB101 on clusters of three real members: one that hangs, one that never came, and a quorum that is lost."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from lbctl.clock import SystemClock
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.members import status_of
from lbctl.etcd.stubs import pb
from tests.demo.watching import until
from tests.doctor.ward import backend, examined, registry_in, seen
from tests.etcd.members import Member, cluster

pytestmark = pytest.mark.slow


def at(*members: Member) -> Etcd:
    """A client that is not patient."""
    return Etcd(EtcdConfig(tuple(each.endpoint for each in members), dial_timeout_s=1.0, command_timeout_s=1.5))


async def test_a_member_that_was_added_and_never_started_is_found_once_and_not_when_it_is_removed() -> None:
    async with cluster(3, {"strict-reconfig-check": "false"}) as members, at(*members) as etcd, backend() as endpoint:
        await (await registry_in(etcd)).add(endpoint)
        assert seen(await examined(etcd)) == []
        adding = pb.MemberAddRequest(peerURLs=["http://127.0.0.1:1"])
        reply = await etcd.session.call(lambda channel: channel.cluster.MemberAdd, adding, repeatable=False)
        added = reply.member.ID
        found = await examined(etcd)
        assert seen(found) == [("LB101", "warn", f"{added:x}")]
        assert found.findings[0].symptom.what == "the member was added and has never started"
        removing = pb.MemberRemoveRequest(ID=added)
        await etcd.session.call(lambda channel: channel.cluster.MemberRemove, removing, repeatable=False)
        assert seen(await examined(etcd)) == []


async def test_a_member_that_hangs_is_found_once_whether_it_was_named_or_not() -> None:
    async with cluster(3) as members, at(*members) as every, at(members[0]) as one:
        members[1].freeze()
        try:
            named, unnamed = await examined(every), await examined(one)
        finally:
            members[1].thaw()
    assert seen(named) == [("LB101", "error", members[1].endpoint)]
    assert named.findings[0].symptom.what == "the member does not answer: timed out"
    assert seen(unnamed) == [("LB101", "warn", members[1].endpoint)]


async def test_without_a_quorum_every_member_is_told_of_once_and_the_registry_is_left_alone() -> None:
    async with AsyncExitStack() as stack:
        members = await stack.enter_async_context(cluster(3))
        alone, *down = members
        every = await stack.enter_async_context(at(*members))
        for each in down:
            await each.kill()

        async def leaderless() -> bool:
            return not (await status_of(every, alone.endpoint, 1.0, SystemClock())).leader

        await until(leaderless, "the one that is left knows of no leader")
        found = await examined(every, "echo", probe=10, canary=True)
        assert seen(found) == sorted(("LB101", "error", each.endpoint) for each in members)
        assert [each.symptom.what for each in found.findings if each.symptom.subject == alone.endpoint] == [
            "the member knows of no leader: it answers no reads"
        ]
        assert found.checks == ("LB101", "LB104")
        assert (found.is_read, found.services, found.revision) == (False, (), 0)
        one = await stack.enter_async_context(at(alone))
        assert [(level, where) for _, level, where in seen(await examined(one))] == sorted(
            [("error", alone.endpoint), *(("warn", each.endpoint) for each in down)]
        )
        with pytest.raises(RegistryError):  # nobody to ask
            await examined(await stack.enter_async_context(at(*down)))
        with pytest.raises(RegistryError):  # nobody to ask about that
            await examined(every, select=("LB2",))
        for each in down:
            await each.start()
        await until(lambda: _well(every), "nothing is wrong any more")


async def _well(etcd: Etcd) -> bool:
    try:
        return seen(await examined(etcd)) == []
    except RegistryError:
        return False
