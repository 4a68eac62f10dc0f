"""LB304: backends without grpc.health.v1."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import health
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import picked
from lbctl.rpc.health import Status


async def examine(case: Case) -> Sequence[Symptom]:
    """Count them for every service."""
    found = await case.once(health)
    symptoms = []
    for service in case.services:
        addresses = [each.address for each in picked(service) if found[each.endpoint].status is Status.UNIMPLEMENTED]
        if addresses:
            what = f"{len(addresses)} of {len(picked(service))} backends have no grpc.health.v1: {', '.join(addresses)}"
            symptoms.append(Symptom(what, "", service.name, case.command("health", service, options=("--strict",))))
    return symptoms


CHECK = Check(
    "LB304",
    "no health checks",
    Level.INFO,
    why="Nobody sees that a backend is up and of no use; clients find out with their calls.",
    fix="add the health service that comes with gRPC to the server",
    examine=examine,
    scope=Scope.BACKENDS,
)
