"""LB202: a lease that is not kept alive as it should be, and is about to expire."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.discovery.leases import Lease
from lbctl.doctor.case import Case
from lbctl.doctor.evidence.leases import leases
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.doctor.rotation import follow
from lbctl.model import Instance


async def examine(case: Case) -> Sequence[Symptom]:
    """Look for leases with less than a third of their time: keepers renew them sooner."""
    found = await case.once(leases)
    return [_symptom(case, each, found[each.lease]) for each in case.keys if each.lease and _is_late(found[each.lease])]


def _is_late(lease: Lease) -> bool:
    return not lease.expired and lease.ttl_s * 3 < lease.granted_s


def _symptom(case: Case, instance: Instance, lease: Lease) -> Symptom:
    what = f"lease {lease.hex_id} has {lease.ttl_s}s left of {lease.granted_s}s: it is not kept alive in time"
    return Symptom(what, instance.address, instance.service, follow(case, instance))


CHECK = Check(
    "LB202",
    "lease about to expire",
    Level.WARN,
    why="When the lease ends the backend vanishes from every client, whether it runs or not.",
    fix="see that the backend runs and reaches etcd; renew a lease every third of its time",
    examine=examine,
)
