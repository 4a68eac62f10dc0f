"""Whom clients pick: the backends of the services that no status and no weight keeps out."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

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


def command(verb: str, *words: str) -> str:
    """A command line of lbctl as a shell reads it."""
    return " ".join(["lbctl", verb, *map(quote, words)])
