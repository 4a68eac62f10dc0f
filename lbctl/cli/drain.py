"""``lbctl drain`` and ``lbctl undrain``: instances out of the rotation of every client, and back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lbctl.cli.arguments import AddressesArgument, ServiceArgument
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import RevertFlags, WriteFlags
from lbctl.cli.writing import FORMATS, refuse_unasked, settle

if TYPE_CHECKING:
    from lbctl.cli.rotation import Plan

DRAIN_ABOUT = """\
Take registered instances out of the rotation, for every client: they stay registered, and nobody picks them.

A layout that has a status for it gets that; in the others the weight becomes 0, and what the key held is noted under
/lbctl/drained/, with the lease of the key, for lbctl undrain. Where clients of the layout would go on to pick the
instance it is refused. A key is only written while it is as it was read, and keeps its lease; on a terminal you are
asked first, elsewhere -y is needed. An instance that registers again is back in the rotation. An address that has
several keys is drained with all of them, a key alone."""
DRAIN_EXAMPLES = (
    "lbctl drain echo 127.0.0.1:50061",
    "lbctl drain echo 127.0.0.1:50061 127.0.0.1:50062 -y",
    "lbctl drain echo 127.0.0.1:50061 -y --revert-after 5m",
    "lbctl drain echo 127.0.0.1:50061 --dry-run",
)
UNDRAIN_ABOUT = """\
Put instances that lbctl drain took out back into the rotation, with the weight that they had.

An instance whose weight 0 somebody else wrote, before the drain or since, has no other weight to go back to: give it
one with lbctl weight."""
UNDRAIN_EXAMPLES = (
    "lbctl undrain echo 127.0.0.1:50061",
    "lbctl undrain echo 127.0.0.1:50061 -y -o json",
)


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
    from lbctl.commands.turning import draining
    from lbctl.discovery.weight_report import DRAIN

    return _offer(service, lambda etcd, found: draining(etcd, found, addresses), DRAIN, write, settings, revert)


@with_settings(outputs=FORMATS, layouts=True, headers=True)
def undrain(service: ServiceArgument, addresses: AddressesArgument, *, write: WriteFlags, settings: Settings) -> int:
    """Put drained instances back."""
    from lbctl.commands.turning import undraining
    from lbctl.discovery.weight_report import UNDRAIN

    return _offer(service, lambda etcd, found: undraining(etcd, found, addresses), UNDRAIN, write, settings)


def _offer(
    service: str, plan: Plan, action: str, write: WriteFlags, settings: Settings, revert: RevertFlags | None = None
) -> int:
    from lbctl.cli.rotation import Turn, offered
    from lbctl.cli.weight_output import WeightPrinter

    refuse_unasked(write, settings)
    printer, verb = WeightPrinter(settings), action.capitalize()
    turn = Turn(
        plan=plan,
        action=action,
        ask=lambda count: f"{verb} {'it' if count == 1 else 'them'}",
        note=printer.note,
        back_after_s=revert.revert_after if revert else None,
    )
    return settle(offered(service, turn, settings), write, printer)


DRAIN = Command(drain, DRAIN_ABOUT, DRAIN_EXAMPLES)
UNDRAIN = Command(undrain, UNDRAIN_ABOUT, UNDRAIN_EXAMPLES)
