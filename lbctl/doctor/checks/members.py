"""LB101: a member of etcd that does not answer, knows no leader, or belongs to another cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.cluster import Cluster, Seen, cluster
from lbctl.doctor.finding import Check, Level, Scope, Symptom


async def examine(case: Case) -> Sequence[Symptom]:
    """Look at every member by itself."""
    found = await case.once(cluster)
    return [*_ill(case, found), *_strangers(case, found), *_unstarted(case, found)]


def _ill(case: Case, found: Cluster) -> Iterator[Symptom]:
    for seen in found.seen:
        check = case.etcdctl("endpoint", "health", endpoint=seen.endpoint)
        if seen.status is None:
            yield Symptom(_silence(seen), seen.endpoint, command=check, level=None if seen.named else Level.WARN)
        elif not seen.status.leader:
            yield Symptom("the member knows of no leader: it answers no reads", seen.endpoint, command=check)


def _silence(seen: Seen) -> str:
    reason = seen.reason.rpartition("(")[2].rstrip(")")
    where = "" if seen.named else " at the address that it gives to clients"
    return f"the member does not answer{where}: {reason}"


def _strangers(case: Case, found: Cluster) -> Iterator[Symptom]:
    """Endpoints of another cluster than the first that answers."""
    answered = [seen.status for seen in found.seen if seen.named and seen.status is not None]
    for status in answered:
        if status.cluster != answered[0].cluster:
            what = f"the endpoint belongs to another cluster than {answered[0].endpoint}"
            yield Symptom(what, status.endpoint, command=case.etcdctl("member", "list", endpoint=status.endpoint))


def _unstarted(case: Case, found: Cluster) -> Iterator[Symptom]:
    for member in found.members:
        if not member.name:
            what = "the member was added and has never started"
            yield Symptom(what, f"{member.id:x}", command=case.etcdctl("member", "list"), level=Level.WARN)


CHECK = Check(
    "LB101",
    "member unhealthy",
    Level.ERROR,
    why="With half of its members gone etcd answers nobody: registrations expire, and clients keep old lists.",
    fix="start the member again, or take its endpoint off the list",
    examine=examine,
    scope=Scope.MEMBERS,
)
