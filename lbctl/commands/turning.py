"""What ``weight``, ``drain`` and ``undrain`` are about to write, what there is to say of it, and what takes it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lbctl.commands.drain import drain, instances, rewritten_since, undrain, without_notes
from lbctl.commands.noting import notes, readable_notes
from lbctl.commands.rewriting import Registered, Rewrite, kept_in
from lbctl.commands.weight import Wish, planned
from lbctl.discovery.rotation import has_status
from lbctl.etcd.client import Etcd
from lbctl.model import Entry
from lbctl.redaction import masked_text


class Turning(NamedTuple):
    """The rewrites, a remark for people, the command that takes them back, "" for none, and notes that are stale."""

    rewrites: tuple[Rewrite, ...]
    stale: Mapping[str, Entry]
    remark: str = ""
    undo: str = ""


async def draining(etcd: Etcd, found: Registered, wheres: Sequence[str]) -> Turning:
    """What drains these addresses and keys; raises what ``drain`` raises."""
    plan, noted = drain(found, wheres), await readable_notes(etcd, found)
    kept = kept_in(found, plan)
    remark = _kept(kept, found.where.command("drain", *kept))
    return Turning(plan, noted.stale, remark, found.where.command("undrain", *_names(found, plan)))


async def undraining(etcd: Etcd, found: Registered, wheres: Sequence[str]) -> Turning:
    """What puts them back; raises what ``undrain`` raises, and AccessDenied where notes are needed and kept from us."""
    needed = any(each.weight == 0 and not has_status(each.layout) for each in instances(found, wheres))
    noted = await (notes if needed else readable_notes)(etcd, found)
    plan = undrain(found, wheres, noted)
    return Turning(plan, noted.stale, "\n".join(rewritten_since(found, plan, noted)))


async def weighing(etcd: Etcd, found: Registered, wishes: Sequence[Wish]) -> Turning:
    """What gives them these weights; raises what ``planned`` raises."""
    noted = await readable_notes(etcd, found)
    plan = without_notes(planned(found, wishes), noted)
    kept = kept_in(found, plan)
    zeros = [f"{key}=0" for key in dict.fromkeys(key for keys in kept.values() for key in keys)]
    remark = _kept(kept, found.where.command("weight", *zeros))
    return Turning(plan, noted.stale, remark, _weights_back(found, plan))


def _kept(kept: Mapping[str, Sequence[str]], command: str) -> str:
    """Say which other keys have the addresses in the rotation, and what takes them out as well."""
    if not kept:
        return ""
    keys = [masked_text(key) for key in dict.fromkeys(key for keys in kept.values() for key in keys)]
    others, them = (f"another key, {keys[0]}, still has", "it") if len(keys) == 1 else (_several(keys), "them")
    return f"{others} {', '.join(kept)} in the rotation; to take {them} out too: {command}"


def _several(keys: Sequence[str]) -> str:
    return f"{len(keys)} other keys, {', '.join(keys)}, still have"


def _weights_back(found: Registered, plan: Iterable[Rewrite]) -> str:
    """The command that gives the weights back that were there; "" where it could not."""
    changed = [each for each in plan if each.changes]
    if any(each.instance.weight is None or each.instance.warnings or each.beside for each in changed):
        return ""  # there was none, or it was not spelt as a weight, or the instance was drained
    named = zip(changed, _names(found, changed), strict=True)
    return found.where.command("weight", *(f"{name}={each.instance.weight}" for each, name in named))


def _names(found: Registered, plan: Iterable[Rewrite]) -> list[str]:
    """An address for each key that changes, or the key where the address has others."""
    counts: dict[str, set[str]] = {}
    for each in found.service.instances:
        counts.setdefault(each.address, set()).add(each.key)
    return [
        each.instance.address if len(counts[each.instance.address]) == 1 else each.instance.key
        for each in plan
        if each.changes
    ]
