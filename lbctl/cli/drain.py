"""``lbctl drain`` and ``lbctl undrain``: instances out of the rotation of every client, and back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import RevertFlags, WriteFlags
from lbctl.cli.writing import FORMATS, refuse_unasked, settle

if TYPE_CHECKING:
    from lbctl.cli.rotation import Plan
    from lbctl.commands.rewriting import Registered, Rewrite
    from lbctl.etcd.client import Etcd

DRAIN_SUMMARY = "take instances out of the rotation of every client"
DRAIN_ABOUT = """\
Take registered instances out of the rotation, for every client: they stay registered, and nobody picks them.

A layout that has a status for it gets that; in the others the weight becomes 0, and what the key held is noted under
/lbctl/drained/, with the lease of the key, for lbctl undrain. Where clients of the layout would go on to pick the
instance it is refused. A key is only written while it is as it was read, and keeps its lease; on a terminal you are
asked first, elsewhere -y is needed. An instance that registers again is back in the rotation."""
DRAIN_EXAMPLES = (
    "lbctl drain echo 127.0.0.1:50061",
    "lbctl drain echo 127.0.0.1:50061 127.0.0.1:50062 -y",
    "lbctl drain echo 127.0.0.1:50061 -y --revert-after 5m",
    "lbctl drain echo 127.0.0.1:50061 --dry-run",
)
UNDRAIN_SUMMARY = "put drained instances back as they were"
UNDRAIN_ABOUT = """\
Put instances that lbctl drain took out back into the rotation, with the weight that they had.

An instance whose weight 0 somebody else wrote has no other weight to go back to: give it one with lbctl weight."""
UNDRAIN_EXAMPLES = (
    "lbctl undrain echo 127.0.0.1:50061",
    "lbctl undrain echo 127.0.0.1:50061 -y -o json",
)

ServiceArgument = Annotated[str, typer.Argument(metavar="SERVICE", help="key prefix, or last part of a name")]
AddressesArgument = Annotated[
    list[str], typer.Argument(metavar="ADDRESS...", help="addresses, or keys", show_default=False)
]


@with_settings(outputs=FORMATS, layouts=True, headers=True)
def drain(
    service: ServiceArgument,
    addresses: AddressesArgument,
    *,
    write: WriteFlags,
    revert: RevertFlags,
    settings: Settings,
) -> int:
    """Take instances out of the rotation."""
    from lbctl.commands.drain import drain as planned
    from lbctl.discovery.weight_report import DRAIN

    async def plan(etcd: Etcd, found: Registered) -> tuple[Rewrite, ...]:
        return planned(found, addresses)

    return _offer(service, plan, DRAIN, write, settings, revert.revert_after)


@with_settings(outputs=FORMATS, layouts=True, headers=True)
def undrain(service: ServiceArgument, addresses: AddressesArgument, *, write: WriteFlags, settings: Settings) -> int:
    """Put drained instances back."""
    from lbctl.commands.drain import notes
    from lbctl.commands.drain import undrain as planned
    from lbctl.discovery.weight_report import UNDRAIN

    async def plan(etcd: Etcd, found: Registered) -> tuple[Rewrite, ...]:
        return planned(found, addresses, await notes(etcd, found))

    return _offer(service, plan, UNDRAIN, write, settings)


def _offer(
    service: str, plan: Plan, action: str, write: WriteFlags, settings: Settings, revert_after_s: float | None = None
) -> int:
    from lbctl.cli.rotation import Back, offered
    from lbctl.cli.weight_output import WeightPrinter

    refuse_unasked(write, settings)
    printer, verb = WeightPrinter(settings, service), action.capitalize()
    back = None if revert_after_s is None else Back(revert_after_s, printer.note)

    def ask(count: int) -> str:
        return f"{verb} {'it' if count == 1 else 'them'}"

    return settle(offered(service, plan, action, settings, ask, back), write, printer)
