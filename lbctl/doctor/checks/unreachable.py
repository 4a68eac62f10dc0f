"""LB301: a backend that nobody can connect to, or that says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.checks import leaseless, unroutable
from lbctl.doctor.evidence.health import health
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import backends, follow
from lbctl.model import Endpoint
from lbctl.rpc.health import Health, Status

_SILENT: Final = frozenset({Status.REFUSED, Status.TIMEOUT, Status.HTTP1, Status.ERROR})


async def examine(case: Case) -> Sequence[Symptom]:
    """Take what the health check did not reach; what other checks tell of is left to them."""
    found = await case.once(health)
    told = await _told(case)
    return [
        Symptom(found[each.endpoint].detail, each.address, each.service, follow(case, each))
        for each in backends(case)
        if _is_silent(found[each.endpoint]) and each.endpoint not in told
    ]


async def _told(case: Case) -> set[Endpoint]:
    """The addresses that other checks tell of: dead ones whose keys have no lease, and those that lead nowhere."""
    told: set[Endpoint] = set()
    if case.is_direct:
        return told
    if unroutable.CODE in case.order.codes:
        told.update(await case.once(unroutable.unroutable))
    if leaseless.CODE in case.order.codes:
        deserted = await case.once(leaseless.deserted_keys)
        told.update(each.endpoint for each in case.instances if each.key in deserted)
    return told


def _is_silent(health: Health) -> bool:
    return health.rtt_s is None and health.status in _SILENT


CHECK = Check(
    "LB301",
    "unreachable",
    Level.ERROR,
    why="Calls that are sent there fail, or wait until they are sent elsewhere.",
    fix="start the backend, or open the way to it; until then take it out of the rotation",
    examine=examine,
    scope=Scope.BACKENDS,
)
