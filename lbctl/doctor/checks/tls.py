"""LB302: one side speaks TLS and the other does not, or a certificate is not accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import health
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import backends
from lbctl.model import Instance
from lbctl.rpc.health import Status

_WAYS: Final = {Status.TLS: "--tls", Status.PLAINTEXT: "--plaintext", Status.CERTIFICATE: "--tls-skip-verify"}


async def examine(case: Case) -> Sequence[Symptom]:
    """Take what the health check met on the way."""
    found = {each: (await case.once(health))[each.endpoint] for each in backends(case)}
    return [_symptom(case, each, seen.status, seen.detail) for each, seen in found.items() if seen.status in _WAYS]


def _symptom(case: Case, instance: Instance, status: Status, detail: str) -> Symptom:
    # Of this one alone: the others of its service may well be reached as they are.
    command = case.order.again.calling(_WAYS[status]).command("health", options=("--backends", instance.address))
    return Symptom(detail, instance.address, instance.service, command)


CHECK = Check(
    "LB302",
    "TLS mismatch",
    Level.ERROR,
    why="Clients that go by the registration cannot connect.",
    fix="say in the registration whether the backend is secure, and give clients the authority of its certificate",
    examine=examine,
    scope=Scope.BACKENDS,
)
