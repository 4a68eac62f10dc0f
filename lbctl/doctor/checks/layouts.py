"""LB207: registrations of one service that are written in several layouts."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.model import Service


async def examine(case: Case) -> Sequence[Symptom]:
    """Group the services by prefix, and by name."""
    groups: dict[str, list[Service]] = {}
    for service in case.services:
        if service.instances:
            groups.setdefault(service.prefix, []).append(service)
    named: dict[str, list[Service]] = {}
    for services in groups.values():
        named.setdefault(services[0].name, []).extend(services)
    return [_symptom(case, same) for same in named.values() if len({each.layout for each in same}) > 1]


def _symptom(case: Case, same: Sequence[Service]) -> Symptom:
    parts = [f"{len(each.instances)} in {each.layout} under {each.prefix}" for each in same]
    first = same[0]
    return Symptom(
        f"keys in several layouts: {', '.join(parts)}",
        first.prefix,
        first.name,
        _listed(case, same),
    )


def _listed(case: Case, same: Sequence[Service]) -> str:
    """The command that lists them all: nothing but their prefix where they share one."""
    spell = case.order.again
    if len({each.prefix for each in same}) > 1:
        return spell.command("ls")
    return spell.without("--prefix").command("ls", options=("--prefix", same[0].prefix))


CHECK = Check(
    "LB207",
    "mixed layouts",
    Level.WARN,
    why="A client reads one layout: it sees a part of the backends, and that part gets all its calls.",
    fix="register all backends in one layout, or give the second one a prefix and clients of its own",
    examine=examine,
)
