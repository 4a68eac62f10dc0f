"""Weights of instances that are read, planned and offered to be written: ``weight``, ``drain`` and ``undrain``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lbctl.cli.settings import Settings
from lbctl.cli.writing import Proposal, instances, with_remark

if TYPE_CHECKING:
    from lbctl.commands.rewriting import Registered, Rewrite
    from lbctl.discovery.weight_report import WeightReport
    from lbctl.etcd.client import Etcd

    Plan = Callable[[Etcd, Registered], Awaitable[tuple[Rewrite, ...]]]


class Back(NamedTuple):
    """When what was there is written again, and where that is told."""

    after_s: float
    note: Callable[[str], None]


def offered(
    service: str,
    plan: Plan,
    action: str,
    settings: Settings,
    ask: Callable[[int], str],
    back: Back | None = None,
) -> Proposal[WeightReport]:
    """Read a service and plan what to write; ``ask`` says what for so many changes.

    With ``back`` what was there is written again after a while.
    """
    import asyncio

    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.heard import Heard
    from lbctl.commands.reverting import revert
    from lbctl.commands.rewriting import Where, registered, write_each
    from lbctl.commands.weight import left_in_rotation, report
    from lbctl.discovery.registering import keeper_of
    from lbctl.discovery.weight_report import WRITTEN
    from lbctl.etcd.client import Etcd

    config = etcd_config(settings)

    async def prepared() -> tuple[Registered, tuple[Rewrite, ...]]:
        async with Etcd(config) as etcd:
            found = await registered(etcd, Where(service, settings.prefix, settings.layout, settings.service_from))
            return found, await plan(etcd, found)

    async def written(tell: Callable[[WeightReport], None]) -> None:
        async with Etcd(config) as etcd:
            with Heard() if back else nullcontext() as heard:
                revisions = await write_each(etcd, rewrites)
                tell(replace(shown, state=WRITTEN, revision=max(revisions.values())))
                if back and heard:
                    await revert(etcd, rewrites, revisions, back.after_s, heard, back.note)

    found, rewrites = asyncio.run(prepared())
    shown = report(found, rewrites, SystemClock().wall(), action=action)
    left, name = left_in_rotation(found, rewrites), found.service.name
    changes = sum(each.changes for each in rewrites)
    return Proposal(
        report=shown,
        changes=changes,
        question=f"{ask(changes)} for every client?",
        about=with_remark(
            f"{instances(len(found.service.instances))}, {left} left in the rotation",
            keeper_of(found.service.layout).rewrites,
        ),
        warning="" if left else f"no instance of {name} is left in the rotation",
        write=written,
    )
