"""LB204: a key among registrations whose value is of no use, or doubtful."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.checks.weights import WEIGHT
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.redaction import masked_text


async def examine(case: Case) -> Sequence[Symptom]:
    """Take what the reading of the registry could not use, or wondered at; weights are LB206's."""
    doubtful = {
        (each.key, warning): Symptom(warning, each.address, each.service, _explained(case, each.key), Level.WARN)
        for each in case.instances
        for warning in each.warnings
        if not warning.startswith(WEIGHT)
    }
    return [*_unusable(case), *doubtful.values()]


def _unusable(case: Case) -> list[Symptom]:
    return [
        Symptom(
            f"the value is no registration ({flaw.layout}, {flaw.code}): {flaw.reason}",
            flaw.key,
            command=_explained(case, flaw.key),
        )
        for flaw in case.invalid
    ]


def _explained(case: Case, key: str) -> str:
    """What is made of the key; where that holds a secret, the listing that has it as it is."""
    if masked_text(key) == key:
        return case.order.again.command("ls", options=("--explain", key))
    whose = () if case.order.service is None else (case.order.service,)
    return case.order.again.command("ls", *whose, options=("-o", "json"))


CHECK = Check(
    "LB204",
    "unusable value",
    Level.ERROR,
    why="Clients skip the backend, or fail to read the whole list.",
    fix="correct the value, or take the key away",
    examine=examine,
)
