"""LB303: a backend that answers, and does not say that it serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import health
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import backends, relieve
from lbctl.rpc.health import Health, Status

_WELL: Final = frozenset({Status.SERVING, Status.UNIMPLEMENTED})


async def examine(case: Case) -> Sequence[Symptom]:
    """Take what backends said of themselves."""
    found = await case.once(health)
    return [
        Symptom(_said(found[each.endpoint]), each.address, each.service, relieve(case, each))
        for each in backends(case)
        if found[each.endpoint].rtt_s is not None and found[each.endpoint].status not in _WELL
    ]


def _said(health: Health) -> str:
    detail = f": {health.detail}" if health.detail else ""
    return f"grpc.health.v1 says {health.status}{detail}"


CHECK = Check(
    "LB303",
    "not serving",
    Level.ERROR,
    why="Clients without health checks pick it all the same, and get what it answers while it does not serve.",
    fix="find out why it does not serve; meanwhile drain it, or have clients check its health",
    examine=examine,
    scope=Scope.BACKENDS,
)
