"""LB306: a backend that lacks a gRPC service which the others of its registry service offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.offers import offers
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import picked, relieve
from lbctl.model import Endpoint, Instance, Service

_INFRASTRUCTURE: Final = ("grpc.", "xds.service.")

Offers = Mapping[Endpoint, tuple[str, ...] | None]


async def examine(case: Case) -> Sequence[Symptom]:
    """Compare what backends offer, service by service."""
    found = await case.once(offers)
    return [symptom for service in case.services for symptom in _lacking(case, service, found)]


def _lacking(case: Case, service: Service, found: Offers) -> Iterator[Symptom]:
    told = {each: own for each in picked(service) if (own := _own(found.get(each.endpoint))) is not None}
    wanted = _wanted(service, list(told.values()))
    for instance, own in told.items():
        missing = sorted(wanted - own)
        if missing:
            what = f"does not offer {', '.join(missing)}, as other backends of the service do"
            yield Symptom(what, instance.address, service.name, _ask_or_drain(case, instance, missing[0]))


def _ask_or_drain(case: Case, instance: Instance, missing: str) -> str:
    if case.is_direct:
        return case.command("health", instance, options=("--service", missing))
    return relieve(case, instance)


def _own(listing: tuple[str, ...] | None) -> frozenset[str] | None:
    """What a backend offers besides gRPC's own services."""
    return None if listing is None else frozenset(name for name in listing if not name.startswith(_INFRASTRUCTURE))


def _wanted(service: Service, told: Sequence[frozenset[str]]) -> frozenset[str]:
    """What every backend should offer: what most of them do, and what the registry calls the service, if any does."""
    counts = Counter(name for own in told for name in own)
    return frozenset(name for name, count in counts.items() if 2 * count > len(told) or name == service.name)


CHECK = Check(
    "LB306",
    "service not offered",
    Level.ERROR,
    why="Calls that are sent there end with UNIMPLEMENTED.",
    fix="register the right address, or deploy the server that offers it",
    examine=examine,
    scope=Scope.BACKENDS,
)
