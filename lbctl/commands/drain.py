"""``lbctl drain`` and ``undrain``: instances out of the rotation of every client, and back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from lbctl.commands.rewriting import Registered, Rewrite, instances_at
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.rotation import NOTES, drained, has_status, undrained
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.failures import AccessDenied
from lbctl.etcd.swap import Beside
from lbctl.model import Instance


async def notes(etcd: Etcd, found: Registered) -> Mapping[str, bytes]:
    """What keys held before they were drained, for those where that was noted."""
    names = {note_of(each.key.encode()): each.key for each in found.service.instances if each.weight == 0}
    return {names[entry.key]: entry.value for entry in await etcd.get_many(list(names), found.revision)}


async def without_notes(etcd: Etcd, found: Registered, plan: Sequence[Rewrite]) -> tuple[Rewrite, ...]:
    """The plan, with what is noted of drained keys that it writes deleted as well; as it is where that is not read."""
    try:
        noted = await notes(etcd, found)
    except AccessDenied:
        noted = {}
    return tuple(
        each._replace(beside=(Beside(note_of(each.read.key), None),))
        if each.changes and each.instance.key in noted
        else each
        for each in plan
    )


def drain(found: Registered, wheres: Sequence[str]) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound for one that is not there, UsageError for one that cannot be drained."""
    return tuple(_drain(found, each) for each in _instances(found, wheres))


def undrain(found: Registered, wheres: Sequence[str], noted: Mapping[str, bytes]) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound, and UsageError where it is not known what the weight was."""
    return tuple(_undrain(found, each, noted.get(each.key)) for each in _instances(found, wheres))


def _instances(found: Registered, wheres: Iterable[str]) -> list[Instance]:
    """One instance for every key of the addresses and keys."""
    return list({each.key: each for where in wheres for each in instances_at(found.service, where)}.values())


def _drain(found: Registered, instance: Instance) -> Rewrite:
    entry = found.entries[instance.key]
    if _is_out(instance):
        return Rewrite(instance, instance.weight, entry, entry.value, instance.status)
    try:
        turned = drained(instance.layout, instance.key, entry.value)
    except Unusable as flaw:
        raise UsageError(
            f"{instance.key}: {flaw.reason}", "nothing was written; lbctl deregister takes it out"
        ) from None
    note = () if has_status(instance.layout) else (Beside(note_of(entry.key), entry.value, entry.lease),)
    return Rewrite(instance, turned.weight, entry, turned.value, turned.status, note)


def _undrain(found: Registered, instance: Instance, noted: bytes | None) -> Rewrite:
    entry = found.entries[instance.key]
    if not _is_out(instance):
        return Rewrite(instance, instance.weight, entry, entry.value)
    try:
        turned = undrained(instance.layout, instance.key, entry.value, noted)
    except Unusable as flaw:
        hint = f"say it: lbctl weight {quote(found.service.name)} {instance.address}=WEIGHT"
        raise UsageError(f"{instance.key}: {flaw.reason}", hint) from None
    note = () if has_status(instance.layout) else (Beside(note_of(entry.key), None),)
    return Rewrite(instance, turned.weight, entry, turned.value, turned.status, note)


def _is_out(instance: Instance) -> bool:
    return instance.status is not None or instance.weight == 0


def note_of(key: bytes) -> bytes:
    """Where it is noted what a key held before it was drained."""
    return NOTES + key
