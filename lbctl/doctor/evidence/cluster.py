"""The members of etcd: those that were named, and those that the cluster lists besides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from lbctl.doctor.case import Case
from lbctl.doctor.hosts import host_of, is_loopback
from lbctl.errors import RegistryError
from lbctl.etcd.members import Member, MemberStatus, members, status_of


class Seen(NamedTuple):
    """One endpoint that was asked; ``named`` by the user, or else by the cluster itself."""

    endpoint: str
    named: bool
    status: MemberStatus | None
    reason: str = ""


class Cluster(NamedTuple):
    """The list of members, and what became of asking them one by one."""

    members: tuple[Member, ...]
    seen: tuple[Seen, ...]

    @property
    def leader(self) -> str:
        """The name of the member that leads, or nothing."""
        leaders = {seen.status.leader for seen in self.seen if seen.status is not None}
        return next((each.name for each in self.members if each.id in leaders), "")

    @property
    def fastest_s(self) -> float | None:
        """How long the quickest of them took to answer."""
        return min((seen.status.took_s for seen in self.seen if seen.status is not None), default=None)


async def cluster(case: Case) -> Cluster:
    """Ask every member about itself: where the user says it is, else where it says so itself."""
    listed = await members(case.etcd)
    named = await _asked(case, case.endpoints, named=True)
    known = {seen.status.member for seen in named if seen.status is not None}
    others = [each for each in listed if each.id not in known and not set(each.endpoints) & set(case.endpoints)]
    wheres = [endpoint for each in others for endpoint in _usable(case, each)[:1]]
    return Cluster(listed, (*named, *await _asked(case, wheres, named=False)))


def _usable(case: Case, member: Member) -> Sequence[str]:
    """Where a member may be asked: its own loopback is no address from another machine."""
    here = any(is_loopback(host_of(endpoint)) for endpoint in case.endpoints)
    return [each for each in member.endpoints if here or not is_loopback(host_of(each))]


async def _asked(case: Case, endpoints: Sequence[str], *, named: bool) -> tuple[Seen, ...]:
    async def ask(endpoint: str) -> Seen:
        try:
            limit_s = case.etcd.session.config.dial_timeout_s
            return Seen(endpoint, named, await status_of(case.etcd, endpoint, limit_s, case.clock))
        except RegistryError as error:
            return Seen(endpoint, named, None, str(error))

    return tuple(await asyncio.gather(*map(ask, endpoints)))
