"""LB404: backends of one service that say different versions of themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.doctor.rotation import command, picked
from lbctl.model import Instance, Service


async def examine(case: Case) -> Sequence[Symptom]:
    """Count the versions in the metadata of every service."""
    return [symptom for service in case.services if (symptom := _skew(service)) is not None]


def _skew(service: Service) -> Symptom | None:
    counts = Counter(version for each in picked(service) if (version := _version(each)))
    if len(counts) < 2:
        return None
    parts = ", ".join(f"{version} ({count})" for version, count in counts.most_common())
    return Symptom(
        f"backends of several versions: {parts}", "", service.name, command("ls", service.name, "-o", "wide")
    )


def _version(instance: Instance) -> str:
    found = instance.metadata.get("version", instance.metadata.get("@version"))
    return "" if found is None else str(found)


CHECK = Check(
    "LB404",
    "version skew",
    Level.WARN,
    why="Equal calls get unequal answers, and latencies of one policy compare two programs.",
    fix="finish the rollout, or give the versions services or subsets of their own",
    examine=examine,
)
