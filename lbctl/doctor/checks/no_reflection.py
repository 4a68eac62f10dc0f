"""LB305: backends that do not say what they offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.offers import offers
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import picked

CODE: Final = "LB305"


async def examine(case: Case) -> Sequence[Symptom]:
    """Count them for every service; whoever is not reached is not counted."""
    found = await case.once(offers)
    symptoms = []
    for service in case.services:
        backends = picked(service)
        silent = [each.address for each in backends if each.endpoint in found and found[each.endpoint] is None]
        if silent:
            what = f"{len(silent)} of {len(backends)} backends have no server reflection: {', '.join(silent)}"
            symptoms.append(
                Symptom(what, "", service.name, case.command("doctor", service, options=("--select", CODE)))
            )
    return symptoms


CHECK = Check(
    CODE,
    "no reflection",
    Level.INFO,
    why="Tools need the schema by another way, and what the backend offers cannot be compared with the others.",
    fix="turn server reflection on, at least inside",
    examine=examine,
    scope=Scope.BACKENDS,
)
