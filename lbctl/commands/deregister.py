"""``lbctl deregister``: keys of a service deleted, each only while it is as it was read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from lbctl.commands.noting import Notes, dropped
from lbctl.commands.rewriting import Registered, text, unknown
from lbctl.discovery.change_report import DEREGISTER, ChangeReport, ChangeRow
from lbctl.discovery.weight_report import DRY_RUN
from lbctl.errors import UsageError
from lbctl.etcd.swap import Beside
from lbctl.model import Entry


class Deletion(NamedTuple):
    """One key to delete; ``addresses`` are those that it stands for, none where it is no use."""

    read: Entry
    addresses: tuple[str, ...]
    beside: tuple[Beside, ...] = ()

    @property
    def value(self) -> None:
        """What it holds then."""


def planned(found: Registered, wheres: Sequence[str]) -> tuple[Deletion, ...]:
    """Every key of these addresses, and these keys themselves, unusable ones too; raises NotFound.

    Raises UsageError for an address whose key holds others as well.
    """
    keys = dict.fromkeys(key for where in wheres for key in _keys(found, where))
    return tuple(Deletion(found.entries[key], _addresses(found, key)) for key in keys)


def with_notes(plan: Sequence[Deletion], notes: Notes) -> tuple[Deletion, ...]:
    """The plan, with what is noted of drained keys deleted as well."""
    noted = {**notes.stale, **notes.standing}
    return tuple(
        each._replace(beside=(dropped(noted[key]),)) if (key := each.read.key.decode()) in noted else each
        for each in plan
    )


def left(found: Registered, plan: Sequence[Deletion]) -> int:
    """How many instances are left once the plan is carried out."""
    gone = {each.read.key.decode() for each in plan}
    return sum(each.key not in gone for each in found.service.instances)


def report(found: Registered, plan: Sequence[Deletion], at: datetime) -> ChangeReport:
    """What there is to show before anything is deleted."""
    rows = tuple(
        ChangeRow(text(each.read.key), address, each.read.lease, text(each.read.value), None)
        for each in plan
        for address in each.addresses or (None,)
    )
    service = found.service
    return ChangeReport(at, DEREGISTER, service.name, service.layout, found.revision, DRY_RUN, rows)


def _keys(found: Registered, where: str) -> list[str]:
    if where in found.entries:
        return [where]
    keys = [each.key for each in found.service.instances if each.address == where]
    shared = next((key for key in keys if len(_addresses(found, key)) > 1), None)
    if shared is not None:
        others = ", ".join(each for each in _addresses(found, shared) if each != where)
        raise UsageError(f"{shared} holds {others} as well", "to delete it all the same, give the key")
    if not keys:
        raise unknown(found.service, where)
    return keys


def _addresses(found: Registered, key: str) -> tuple[str, ...]:
    return tuple(each.address for each in found.service.instances if each.key == key)
