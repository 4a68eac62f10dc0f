"""LB501: how long etcd takes from a write to the event that tells clients of it, by a key of our own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Final

from lbctl.discovery.codecs.skipped import CANARY
from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Needs, Symptom
from lbctl.errors import RegistryError
from lbctl.etcd.glance import Glance, glance

TTL_S: Final = 10
LIMIT_S: Final = 1.0
_PATIENCE_S: Final = 5.0
_VALUE: Final = b"lbctl doctor --canary: no registration"


async def examine(case: Case) -> Sequence[Symptom]:
    """Write a key, wait for its event, and take it away."""
    folder = (root_of(case) + CANARY).encode()
    async with glance(case.etcd, folder) as watched:
        took_s = await _round(case, folder + secrets.token_hex(8).encode(), watched)
    where, measure = folder.decode(), case.etcdctl("endpoint", "status", "--write-out=table")
    if took_s is None:
        what = f"the event of a write did not come within {_PATIENCE_S:g}s"
        return [Symptom(what, where, command=measure, level=Level.ERROR)]
    if took_s > LIMIT_S:
        return [Symptom(f"the event of a write came after {took_s:.1f}s", where, command=measure)]
    return []


def root_of(case: Case) -> str:
    """The folder that the services are in: a key of ours among the keys of one would be an instance to its clients."""
    if case.order.service is None and case.order.prefix:
        return case.order.prefix.rstrip("/") + "/"
    prefix = case.services[0].prefix if case.services else ""
    folder, slash, _ = prefix.rstrip("/").rpartition("/")
    return folder + slash


async def _round(case: Case, key: bytes, watched: Glance) -> float | None:
    """Seconds from the write to its event; None where it does not come."""
    lease = await case.etcd.grant(TTL_S)
    revision = 0
    try:
        began_ns = case.clock.now_ns()
        if not await case.etcd.put_if(key, _VALUE, 0, lease):
            raise RegistryError(f"the key {key.decode()} is somebody else's")
        async with asyncio.timeout(_PATIENCE_S):
            while not revision:
                events = await watched.next()
                revision = next((int(each.kv.mod_revision) for each in events if each.kv.key == key), 0)
        return (case.clock.now_ns() - began_ns) / 1e9
    except TimeoutError:
        return None
    finally:
        if revision:
            await case.etcd.delete_if(key, revision)
        await case.etcd.revoke(lease)


CHECK = Check(
    "LB501",
    "discovery lag",
    Level.WARN,
    why="For as long as that clients call backends that are gone, and leave new ones idle.",
    fix="look at etcd's disks and load, and at the network between",
    examine=examine,
    needs=Needs.CANARY,
)
