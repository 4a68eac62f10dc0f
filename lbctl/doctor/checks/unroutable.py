"""LB205: an address that does not lead to the backend from other machines.

A loopback address is none from elsewhere. Where everything is on one machine it is right: so it counts as a fault only
if etcd is on another machine, or other backends of the service are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lbctl.doctor.case import Case, addressed
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.doctor.hosts import host_of, is_loopback, why_unroutable
from lbctl.model import Endpoint, Instance, Service

CODE: Final = "LB205"


async def examine(case: Case) -> Sequence[Symptom]:
    """Look at every address as another machine would."""
    return [_symptom(case, instance, f"the address {why}") for instance, why in (await case.once(unroutable)).values()]


async def unroutable(case: Case) -> Mapping[Endpoint, tuple[Instance, str]]:
    """The addresses that lead nowhere from other machines, with a key of each, and why they do not."""
    away = not all(is_loopback(host_of(endpoint)) for endpoint in case.endpoints)
    return {each.endpoint: (each, why) for service in case.services for each, why in _lost(service, etcd_is_away=away)}


def _lost(service: Service, *, etcd_is_away: bool) -> Iterator[tuple[Instance, str]]:
    hosts = {each.endpoint: each for each in addressed(service) if not each.endpoint.is_unix}
    nowhere = {endpoint: why for endpoint in hosts if (why := why_unroutable(endpoint.host))}
    spread = etcd_is_away or not all(is_loopback(endpoint.host) for endpoint in hosts if endpoint not in nowhere)
    for endpoint, instance in hosts.items():
        if endpoint in nowhere:
            yield instance, nowhere[endpoint]
        elif spread and is_loopback(endpoint.host):
            yield instance, "is a loopback address, which means another machine to everybody"


def _symptom(case: Case, instance: Instance, what: str) -> Symptom:
    return Symptom(what, instance.address, instance.service, case.removal(instance))


CHECK = Check(
    CODE,
    "unroutable address",
    Level.ERROR,
    why="Clients on other machines connect to themselves, or to nobody.",
    fix="register the address that clients reach the backend by (the pod's or the host's)",
    examine=examine,
)
