"""LB203: an address of one service that stands under several keys."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.doctor.case import Case, addressed
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.model import Endpoint, Instance, Service


async def examine(case: Case) -> Sequence[Symptom]:
    """Group the keys of every service by address."""
    return [symptom for service in case.services for symptom in _shared(case, service)]


def _shared(case: Case, service: Service) -> list[Symptom]:
    keys: dict[Endpoint, list[Instance]] = {}
    for each in addressed(service):
        keys.setdefault(each.endpoint, []).append(each)
    return [_symptom(case, service, same) for same in keys.values() if len({each.key for each in same}) > 1]


def _symptom(case: Case, service: Service, same: Sequence[Instance]) -> Symptom:
    oldest = min(same, key=lambda each: each.create_revision)
    names = ", ".join(each.key for each in same)
    what = f"{len(same)} keys have this address: {names}"
    return Symptom(what, oldest.address, service.name, case.removal(oldest))


CHECK = Check(
    "LB203",
    "same address under several keys",
    Level.WARN,
    why="A client that counts keys gives the backend several shares, and the old key may say another weight.",
    fix="take the old keys away, and have a backend that starts again use its old key or end its old lease",
    examine=examine,
)
