"""Weights of instances that are read, planned and offered to be written: ``weight``, ``drain`` and ``undrain``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lbctl.cli.settings import Settings
from lbctl.cli.writing import Proposal, instances

if TYPE_CHECKING:
    from lbctl.commands.rewriting import Registered, Rewrite
    from lbctl.discovery.weight_report import WeightReport
    from lbctl.etcd.client import Etcd

    Plan = Callable[[Etcd, Registered], Awaitable[tuple[Rewrite, ...]]]


def offered(
    service: str, plan: Plan, action: str, settings: Settings, ask: Callable[[int], str]
) -> Proposal[WeightReport]:
    """Read a service and plan what to write; ``ask`` says what for so many changes."""
    import asyncio

    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.rewriting import Where, registered, write
    from lbctl.commands.weight import left_in_rotation, report
    from lbctl.discovery.weight_report import WRITTEN
    from lbctl.etcd.client import Etcd

    config = etcd_config(settings)

    async def prepared() -> tuple[Registered, tuple[Rewrite, ...]]:
        async with Etcd(config) as etcd:
            found = await registered(etcd, Where(service, settings.prefix, settings.layout, settings.service_from))
            return found, await plan(etcd, found)

    async def written() -> WeightReport:
        async with Etcd(config) as etcd:
            return replace(shown, state=WRITTEN, revision=await write(etcd, rewrites))

    found, rewrites = asyncio.run(prepared())
    shown = report(found, rewrites, SystemClock().wall(), action=action)
    left, name = left_in_rotation(found, rewrites), found.service.name
    changes = sum(each.changes for each in rewrites)
    return Proposal(
        report=shown,
        changes=changes,
        question=f"{ask(changes)} for every client?",
        about=f"{instances(len(found.service.instances))}, {left} left in the rotation",
        warning="" if left else f"no instance of {name} is left in the rotation",
        write=written,
    )
