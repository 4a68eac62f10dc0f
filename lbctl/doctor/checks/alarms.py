"""LB102: an alarm that etcd has raised, above all NOSPACE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.cluster import cluster
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.etcd.members import alarms

_MEANING: Final = {
    "NOSPACE": "etcd has no space left: it takes no writes, and grants no leases",
    "CORRUPT": "etcd's members disagree on what they hold",
}


async def examine(case: Case) -> Sequence[Symptom]:
    """Ask for the alarms that stand."""
    names = {member.id: member.name for member in (await case.once(cluster)).members}
    return [
        Symptom(
            f"alarm {alarm.kind}: {_MEANING.get(alarm.kind, 'etcd says no more about it')}",
            names.get(alarm.member) or f"{alarm.member:x}",
            command=_command(case, alarm.kind),
        )
        for alarm in await alarms(case.etcd)
    ]


def _command(case: Case, kind: str) -> str:
    if kind == "NOSPACE":
        # Where somebody has compacted already the first fails, and the others are wanted all the same.
        compacted, defragmented = case.etcdctl("compact", str(case.revision)), case.etcdctl("defrag")
        return f"{compacted}; {defragmented} && {case.etcdctl('alarm', 'disarm')}"
    return case.etcdctl("alarm", "list")


CHECK = Check(
    "LB102",
    "etcd alarm",
    Level.ERROR,
    why="Nobody can register, and a registration that ends is not replaced.",
    fix="compact and defragment, or raise --quota-backend-bytes; then disarm the alarm",
    examine=examine,
)
