"""``lbctl drain`` and ``undrain``: instances out of the rotation of every client, and back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lbctl.commands.noting import Notes, dropped, note_of
from lbctl.commands.rewriting import Registered, Rewrite, instances_at, is_out, shown
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.rotation import drained, has_status, undrained
from lbctl.errors import UsageError
from lbctl.etcd.swap import Beside
from lbctl.model import Entry, Instance
from lbctl.redaction import masked_text

_SINCE: Final = "was written since lbctl drain took it out"


def drain(found: Registered, wheres: Sequence[str]) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound for one that is not there, UsageError for one that cannot be drained."""
    return tuple(_drain(found, each) for each in instances(found, wheres))


def undrain(found: Registered, wheres: Sequence[str], notes: Notes) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound, and UsageError where it is not known what the weight was."""
    return tuple(_undrain(found, each, notes) for each in instances(found, wheres))


def instances(found: Registered, wheres: Iterable[str]) -> list[Instance]:
    """One instance for every key of these addresses and keys; raises NotFound."""
    return list({each.key: each for where in wheres for each in instances_at(found.service, where)}.values())


def rewritten_since(found: Registered, plan: Sequence[Rewrite], notes: Notes) -> Iterator[str]:
    """Yield what there is to say of keys that were drained once, and are in the rotation by somebody else's write."""
    for each in plan:
        if each.instance.key in notes.stale and not is_out(each.instance):
            yield f"{masked_text(each.instance.key)} {_SINCE}: it holds {shown(found.entries[each.instance.key].value)}"


def without_notes(plan: Sequence[Rewrite], notes: Notes) -> tuple[Rewrite, ...]:
    """The plan of other weights, with what is noted of drained keys deleted where it writes them."""
    return tuple(
        each._replace(beside=(dropped(notes.standing[each.instance.key]),))
        if each.changes and each.instance.key in notes.standing
        else each
        for each in plan
    )


def _drain(found: Registered, instance: Instance) -> Rewrite:
    entry = found.entries[instance.key]
    if is_out(instance):
        return Rewrite(instance, instance.weight, entry, entry.value, instance.status)
    try:
        turned = drained(instance.layout, instance.key, entry.value)
    except Unusable as flaw:
        raise UsageError(
            f"{masked_text(instance.key)}: {flaw.reason}",
            f"nothing was written; this takes it out: {found.where.command('deregister', _name_of(found, instance))}",
        ) from None
    note = () if has_status(instance.layout) else (Beside(note_of(entry.key), entry.value, entry.lease),)
    return Rewrite(instance, turned.weight, entry, turned.value, turned.status, note)


def _undrain(found: Registered, instance: Instance, notes: Notes) -> Rewrite:
    entry = found.entries[instance.key]
    if not is_out(instance):
        return Rewrite(instance, instance.weight, entry, entry.value)
    if instance.key in notes.stale and not has_status(instance.layout):
        raise _unknown_weight(found, instance, notes.stale[instance.key])
    noted = notes.standing.get(instance.key)
    try:
        turned = undrained(instance.layout, instance.key, entry.value, None if noted is None else noted.value)
    except Unusable as flaw:
        hint = f"say it: {found.where.command('weight', f'{_name_of(found, instance)}=WEIGHT')}"
        raise UsageError(f"{masked_text(instance.key)}: {flaw.reason}", hint) from None
    return Rewrite(instance, turned.weight, entry, turned.value, turned.status, (dropped(noted),) if noted else ())


def _unknown_weight(found: Registered, instance: Instance, note: Entry) -> UsageError:
    """Say that whoever wrote the key since may have meant its weight 0, and how the one it had is given back."""
    entry = found.entries[instance.key]
    try:
        had: int | None = undrained(instance.layout, instance.key, entry.value, note.value).weight
    except Unusable:
        had = None
    weight = "WEIGHT" if had is None else str(had)
    return UsageError(
        f"{masked_text(instance.key)} {_SINCE}, and its weight is 0 still: it held {shown(note.value)} before",
        f"say its weight: {found.where.command('weight', f'{_name_of(found, instance)}={weight}')}",
    )


def _name_of(found: Registered, instance: Instance) -> str:
    """The address, or the key where that says more."""
    keys = {each.key for each in found.service.instances if each.address == instance.address}
    return instance.address if len(keys) == 1 else instance.key
