"""``lbctl deregister``: registrations deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lbctl.cli.arguments import AddressesArgument, ServiceArgument
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.rotation import where_of
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import WriteFlags
from lbctl.cli.writing import FORMATS, Proposal, instances, refuse_unasked, remarks, settle, tidied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lbctl.commands.deregister import Deletion
    from lbctl.commands.noting import Notes
    from lbctl.commands.rewriting import Registered
    from lbctl.discovery.change_report import ChangeReport

ABOUT = """\
Delete the keys of instances, for every client; an address that has several keys loses all of them.

A key is only deleted while it is as it was read; its lease, and whatever else goes by that, stays. On a terminal you
are asked first; elsewhere -y is needed. Who registered it and still runs may bring it back: to let a running instance
rest, drain it."""
EXAMPLES = (
    "lbctl deregister echo 127.0.0.1:50061",
    "lbctl deregister echo /services/echo/127.0.0.1:50061 -y",
    "lbctl deregister echo 127.0.0.1:50061 --dry-run -o json",
)


@with_settings(outputs=FORMATS, layouts=True, headers=True)
def deregister(service: ServiceArgument, addresses: AddressesArgument, *, write: WriteFlags, settings: Settings) -> int:
    """Delete registrations."""
    from lbctl.cli.change_output import ChangePrinter

    refuse_unasked(write, settings)
    printer = ChangePrinter(settings)
    return settle(_offered(service, addresses, settings, printer.note), write, printer)


def _offered(
    service: str, addresses: Sequence[str], settings: Settings, note: Callable[[str], None]
) -> Proposal[ChangeReport]:
    from lbctl.cli.loop import run_plain
    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.deregister import left, planned, report, with_notes
    from lbctl.commands.noting import readable_notes
    from lbctl.commands.rewriting import registered, write
    from lbctl.discovery.registering import keeper_of
    from lbctl.discovery.weight_report import WRITTEN
    from lbctl.etcd.client import Etcd

    config = etcd_config(settings)

    async def prepared() -> tuple[Registered, tuple[Deletion, ...], Notes]:
        async with Etcd(config) as etcd:
            found = await registered(etcd, where_of(service, settings), usable=False)
            plan, notes = planned(found, addresses), await readable_notes(etcd, found)
            return found, with_notes(plan, notes), notes

    async def written(tell: Callable[[ChangeReport], None]) -> None:
        async with Etcd(config) as etcd:
            tell(replace(shown, state=WRITTEN, revision=await write(etcd, plan)))
            await tidied(etcd, notes.stale, plan, note)

    found, plan, notes = run_plain(prepared())
    shown = report(found, plan, SystemClock().wall())
    remaining, name, keeper = left(found, plan), found.service.name, keeper_of(found.service.layout)
    return Proposal(
        report=shown,
        changes=len(plan),
        question=f"Delete {'it' if len(plan) == 1 else 'them'} for every client?",
        about=remarks(
            f"{instances(len(found.service.instances))}, {remaining} left", keeper.restores or keeper.rewrites
        ),
        warning="" if remaining else f"no instance of {name} is left",
        write=written,
    )


COMMAND = Command(deregister, ABOUT, EXAMPLES)
