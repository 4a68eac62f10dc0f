"""The members of an etcd cluster: who they are, what each says of itself, and the alarms that were raised."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import grpc

from lbctl.clock import Clock
from lbctl.etcd.channel import Channel
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import parse_endpoints
from lbctl.etcd.failures import reason_of, unreachable
from lbctl.etcd.pinning import shown_by
from lbctl.etcd.stubs import pb

_ALARMS: Final = {1: "NOSPACE", 2: "CORRUPT"}


class Member(NamedTuple):
    """One member as the cluster lists it; without ``name`` it was added and has never started."""

    id: int
    name: str
    endpoints: tuple[str, ...]  # where it says that clients reach it, as host:port


class MemberStatus(NamedTuple):
    """What one member says of itself; ``leader`` is 0 where it knows of none."""

    endpoint: str
    member: int
    cluster: int
    version: str
    db_size: int
    leader: int
    took_s: float


class Alarm(NamedTuple):
    """An alarm that stands until somebody disarms it."""

    member: int
    kind: str


async def members(etcd: Etcd) -> tuple[Member, ...]:
    """List the members of the cluster."""
    reply = await etcd.session.call(lambda channel: channel.cluster.MemberList, pb.MemberListRequest(), repeatable=True)
    return tuple(Member(int(each.ID), each.name, parse_endpoints(each.clientURLs)[0]) for each in reply.members)


async def alarms(etcd: Etcd) -> tuple[Alarm, ...]:
    """List the alarms that stand."""
    request = pb.AlarmRequest(action=pb.AlarmRequest.GET)
    reply = await etcd.session.call(lambda channel: channel.maintenance.Alarm, request, repeatable=True)
    return tuple(Alarm(int(each.memberID), _ALARMS.get(each.alarm, f"alarm {each.alarm}")) for each in reply.alarms)


async def status_of(etcd: Etcd, endpoint: str, timeout_s: float, clock: Clock) -> MemberStatus:
    """Ask one member alone about itself; raises Unreachable where it does not answer in time."""
    config = etcd.session.config
    unverified = config.secure and config.skip_verify
    pin = await asyncio.to_thread(shown_by, endpoint, config) if unverified else None
    channel = Channel(config, endpoint, pin=pin)
    try:
        metadata = await etcd.session.credentials(channel, timeout_s)
        began_ns = clock.now_ns()
        reply = await channel.maintenance.Status(pb.StatusRequest(), timeout=timeout_s, metadata=metadata)
        took_s = (clock.now_ns() - began_ns) / 1e9
    except grpc.RpcError as error:
        raise unreachable((endpoint,), timeout_s, reason_of(error)) from error
    finally:
        await channel.close()
    header = reply.header
    return MemberStatus(
        endpoint,
        int(header.member_id),
        int(header.cluster_id),
        reply.version,
        int(reply.dbSize),
        int(reply.leader),
        took_s,
    )
