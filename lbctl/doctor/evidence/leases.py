"""What every lease of the registrations has left."""

from __future__ import annotations

from collections.abc import Mapping

from lbctl.discovery.leases import Lease, resolve
from lbctl.doctor.case import Case


async def leases(case: Case) -> Mapping[int, Lease]:
    """The state of every lease that a key has."""
    return await resolve(case.etcd, (each.lease for each in case.instances))
