"""LB201: a key without a lease, which stays when its backend is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.discovery.codecs.registration import Wanted
from lbctl.discovery.directory import normal_prefix
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.registering import preview
from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import health
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.model import Instance

CODE: Final = "LB201"


async def examine(case: Case) -> Sequence[Symptom]:
    """Look for permanent keys, and whether anybody is left behind them."""
    permanent = [each for each in case.instances if not each.lease]
    if not permanent:
        return []
    found = await case.once(health)
    return [_symptom(case, each, gone=found[each.endpoint].status == "REFUSED") for each in permanent]


def _symptom(case: Case, instance: Instance, *, gone: bool) -> Symptom:
    later = case.revision - instance.create_revision
    what = f"the key has no lease (created at revision {instance.create_revision}, {later} ago)"
    return Symptom(
        f"{what}, and its port refuses connections" if gone else what,
        instance.address,
        instance.service,
        case.command("deregister", instance, instance.key) if gone else again(case, instance),
        Level.ERROR if gone else None,
    )


def again(case: Case, instance: Instance) -> str:
    """How lbctl registers the very same under a lease, where it can; else what there is to see of it."""
    if not _can_register(case, instance):
        return case.command("ls", instance, options=("-o", "wide"))
    weight = () if instance.weight is None else ("--weight", str(instance.weight))
    spell, where = case.order.again, (instance.service, instance.address)
    return spell.command("register", *where, options=weight, layout=instance.layout)


def _can_register(case: Case, instance: Instance) -> bool:
    """Whether lbctl would write this key, and leave nothing out of it."""
    if instance.metadata or instance.secure or instance.status is not None:
        return False
    try:
        root = normal_prefix(case.order.prefix)
        coming = preview(instance.layout, Wanted(instance.service, instance.endpoint, instance.weight, root=root))
    except Unusable:
        return False
    return coming.key == instance.key


CHECK = Check(
    CODE,
    "key without lease",
    Level.WARN,
    why="A crashed backend leaves it, and clients keep picking it.",
    fix="register under a lease that is kept alive; where nobody is there any more, take the key away",
    examine=examine,
)
