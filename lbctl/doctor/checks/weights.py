"""LB206: a weight that is missing where others have one, is 0, or is not read as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lbctl.discovery.rotation import NOTES
from lbctl.doctor.case import Case, one_of_each_key
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.errors import RegistryError
from lbctl.model import Instance, Service
from lbctl.redaction import masked_text

WEIGHT: Final = "weight "  # what warnings about weights begin with


async def examine(case: Case) -> Sequence[Symptom]:
    """Look at the weights of every service."""
    drained = await _drained(case) if any(each.weight == 0 for each in case.instances) else {}
    return [symptom for service in case.services for symptom in _odd(case, service, drained)]


async def _drained(case: Case) -> Mapping[str, int]:
    """The keys that ``lbctl drain`` took out, and at which revision: what was written since is its writer's."""
    try:
        entries = (await case.etcd.range(NOTES)).entries
    except RegistryError:  # who may not read the notes does not know
        return {}
    return {entry.key.removeprefix(NOTES).decode("utf-8", "replace"): entry.mod_revision for entry in entries}


def _odd(case: Case, service: Service, drained: Mapping[str, int]) -> Iterator[Symptom]:
    some = any(each.weight is not None for each in service.instances)
    for each in one_of_each_key(service):
        plain = "=" not in each.key and masked_text(each.key) == each.key
        again = case.command("weight", service, f"{each.key if plain else each.address}=1")
        warning = next((text for text in each.warnings if text.startswith(WEIGHT)), "")
        if warning:
            yield Symptom(warning, each.address, service.name, again)
        elif each.weight is None and some:
            yield Symptom(
                "the key has no weight, and others of the service have one", each.address, service.name, again
            )
        elif each.weight == 0:
            yield _zero(case, each, again, drained=drained.get(each.key) == each.mod_revision)


def _zero(case: Case, instance: Instance, again: str, *, drained: bool) -> Symptom:
    if drained:
        back = case.command("undrain", instance, instance.address)
        return Symptom("weight 0: lbctl drain took it out", instance.address, instance.service, back, Level.INFO)
    return Symptom("weight 0: clients that weigh never pick it", instance.address, instance.service, again)


CHECK = Check(
    "LB206",
    "odd weight",
    Level.WARN,
    why="Each client makes a number of its own of it, so shares differ from what was meant, and from each other.",
    fix="write a whole number, 1 or more",
    examine=examine,
)
