"""Weights of instances that are read, planned and offered to be written: ``weight``, ``drain`` and ``undrain``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lbctl.cli.settings import Settings
from lbctl.cli.writing import Proposal, instances, remarks, tidied

if TYPE_CHECKING:
    from lbctl.commands.rewriting import Registered, Where
    from lbctl.commands.turning import Turning
    from lbctl.discovery.weight_report import WeightReport
    from lbctl.etcd.client import Etcd
    from lbctl.etcd.config import EtcdConfig

    Plan = Callable[[Etcd, Registered], Awaitable[Turning]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is wanted of a service: ``ask`` says what for so many changes, and ``note`` is told what else happens.

    With ``back_after_s`` what was there is written again after so long.
    """

    plan: Plan
    action: str
    ask: Callable[[int], str]
    note: Callable[[str], None]
    back_after_s: float | None = None


def where_of(service: str, settings: Settings) -> Where:
    """Which service is meant, and where it is looked for."""
    from lbctl.cli.suggestions import again
    from lbctl.commands.rewriting import Where

    return Where(service, settings.prefix, settings.layout, settings.service_from, again(settings))


def offered(service: str, turn: Turn, settings: Settings) -> Proposal[WeightReport]:
    """Read a service and plan what to write."""
    from lbctl.cli.loop import run_plain
    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.weight import left_in_rotation, report
    from lbctl.discovery.registering import keeper_of
    from lbctl.discovery.rotation import unheeded

    config = etcd_config(settings)
    found, turning = run_plain(_prepared(config, where_of(service, settings), turn.plan))
    shown = report(found, turning.rewrites, SystemClock().wall(), action=turn.action)
    remark = remarks(turning.remark, unheeded(found.service.layout))
    shown = replace(shown, note=remark, undo=turning.undo if turn.back_after_s is None else "")
    left = left_in_rotation(found, turning.rewrites)
    changes = sum(each.changes for each in turning.rewrites)
    counted = f"{instances(len(found.service.instances))}, {left} left in the rotation"
    return Proposal(
        report=shown,
        changes=changes,
        question=f"{turn.ask(changes)} for every client?",
        about=remarks(counted, remark, keeper_of(found.service.layout).rewrites),
        warning="" if left else f"no instance of {found.service.name} is left in the rotation",
        write=lambda tell: _written(config, turning, shown, turn, tell),
    )


async def _prepared(config: EtcdConfig, where: Where, plan: Plan) -> tuple[Registered, Turning]:
    from lbctl.commands.rewriting import registered
    from lbctl.etcd.client import Etcd

    async with Etcd(config) as etcd:
        found = await registered(etcd, where)
        return found, await plan(etcd, found)


async def _written(
    config: EtcdConfig, turning: Turning, shown: WeightReport, turn: Turn, tell: Callable[[WeightReport], None]
) -> int | None:
    """Write what changes, tell, delete stale notes, and wait for the way back where one is wanted.

    Returns the number of the signal that ended the wait.
    """
    from lbctl.commands.heard import Heard
    from lbctl.commands.reverting import revert
    from lbctl.commands.rewriting import write_each
    from lbctl.discovery.weight_report import WRITTEN
    from lbctl.etcd.client import Etcd

    after_s, rewrites = turn.back_after_s, turning.rewrites
    async with Etcd(config) as etcd:
        with nullcontext() if after_s is None else Heard() as heard:
            revisions = await write_each(etcd, rewrites)
            if revisions:
                tell(replace(shown, state=WRITTEN, revision=max(revisions.values())))
            await tidied(etcd, turning.stale, rewrites, turn.note)
            if after_s is not None and heard is not None and revisions:
                return await revert(etcd, rewrites, revisions, after_s, heard, turn.note)
    return None
