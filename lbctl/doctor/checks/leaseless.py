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
from lbctl.rpc.health import Status

CODE: Final = "LB201"


# Keys that somebody administers, and no backend has ever kept alive.
_BY_DESIGN: Final = frozenset({"apisix", "skydns"})
# Layouts whose own writers take no lease unless they are told to.
_USUAL: Final = frozenset({"ego", "go-micro", "jupiter-v0", "trpc-cpp"})


async def examine(case: Case) -> Sequence[Symptom]:
    """Look for permanent keys, and whether anybody is left behind them."""
    permanent = [each for each in case.keys if _is_permanent(each)]
    if not permanent:
        return []
    deserted = await case.once(deserted_keys)
    return [_symptom(case, each, gone=each.key in deserted) for each in permanent]


async def deserted_keys(case: Case) -> frozenset[str]:
    """The permanent keys whose backends are gone: every address that gRPC is spoken at refuses connections."""
    found = await case.once(health)
    refuses: dict[str, bool] = {}
    for each in case.instances:
        if _is_permanent(each) and each.speaks_grpc:
            is_gone = found[each.endpoint].status is Status.REFUSED
            refuses[each.key] = refuses.get(each.key, True) and is_gone
    return frozenset(key for key, is_gone in refuses.items() if is_gone)


def _is_permanent(instance: Instance) -> bool:
    """Whether a key has no lease, and should have one."""
    return not instance.lease and instance.layout not in _BY_DESIGN


def _level(instance: Instance, *, gone: bool) -> Level | None:
    if gone:
        return Level.ERROR
    return Level.INFO if instance.layout in _USUAL else None


def _symptom(case: Case, instance: Instance, *, gone: bool) -> Symptom:
    later = case.revision - instance.create_revision
    what = f"the key has no lease (created at revision {instance.create_revision}, {later} revisions ago)"
    return Symptom(
        f"{what}, and its port refuses connections" if gone else what,
        instance.address,
        instance.service,
        case.removal(instance) if gone else again(case, instance),
        _level(instance, gone=gone),
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
