"""Whom clients pick: the backends of the services that no status and no weight keeps out."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.discovery.backends import distinct
from lbctl.doctor.case import Case
from lbctl.model import Instance, Service


def is_picked(instance: Instance) -> bool:
    """Whether gRPC clients pick it, as far as the registry says."""
    return instance.status is None and instance.effective_weight > 0 and instance.speaks_grpc


def picked(service: Service) -> list[Instance]:
    """The backends of a service that clients pick, an address once."""
    return [each for each in distinct(service.instances) if is_picked(each)]


def backends(case: Case) -> Iterator[Instance]:
    """Yield every address that clients pick once, whatever services it has."""
    seen = set()
    for service in case.services:
        for each in picked(service):
            if each.endpoint not in seen:
                seen.add(each.endpoint)
                yield each


def follow(case: Case, instance: Instance) -> str:
    """The command that shows how it goes on with a backend."""
    if case.is_direct:
        return case.command("health", instance, options=("--watch",))
    return case.command("watch", instance)


def relieve(case: Case, instance: Instance) -> str:
    """The command that takes a backend out of the rotation, or shows when it does better where there is none."""
    if case.is_direct:
        return follow(case, instance)
    return case.command("drain", instance, instance.address)
