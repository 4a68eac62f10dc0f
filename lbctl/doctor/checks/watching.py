"""LB103: etcd lets itself be read, and not be watched."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.errors import RegistryError
from lbctl.etcd.glance import glance


async def examine(case: Case) -> Sequence[Symptom]:
    """Open a watch where clients have theirs, and close it again."""
    prefix = case.services[0].prefix if case.order.service is not None else case.order.prefix or ""
    try:
        async with glance(case.etcd, prefix.encode()):
            return []
    except RegistryError as error:
        where = ",".join(case.endpoints)
        return [Symptom(str(error), prefix, command=f"etcdctl --endpoints={where} watch --prefix {prefix!r}")]


CHECK = Check(
    "LB103",
    "watch refused",
    Level.ERROR,
    why="Clients see the backends of when they started, and nothing that changed since.",
    fix="grant the role read access to the whole prefix; let proxies before etcd pass streams",
    examine=examine,
)
