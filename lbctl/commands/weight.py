"""``lbctl weight``: other weights for registered instances, written only over what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from lbctl.discovery.directory import find, read
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.weight_report import DRY_RUN, UNCHANGED, Measured, WeightReport, WeightRow
from lbctl.discovery.weights import reweighed
from lbctl.errors import ExitCode, LbctlError, NotFound, UsageError
from lbctl.etcd.client import Etcd
from lbctl.etcd.swap import MOST_SWAPS, Swap, swap
from lbctl.model import Entry, Instance, Service

_NAMED: Final = 5  # instances that a hint names
_SHOWN: Final = 200  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Where:
    """Which service is meant, and where to look for it."""

    service: str
    prefix: str | None = None
    layout: str | None = None


class Wish(NamedTuple):
    """A weight for the instance of this address, or of this key."""

    where: str
    weight: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A service, and its keys as they were at one revision."""

    service: Service
    entries: Mapping[str, Entry]
    revision: int


class Rewrite(NamedTuple):
    """One instance's key, and the value that gives it the weight; where that is the same, nothing is to be done."""

    instance: Instance
    weight: int
    read: Entry
    value: bytes

    @property
    def changes(self) -> bool:
        return self.value != self.read.value


class LostRace(LbctlError):
    """Somebody wrote a key between our reading and our writing; what they wrote stands."""

    exit_code = ExitCode.CHECK_FAILED


async def registered(etcd: Etcd, where: Where) -> Registered:
    """Read a service with its keys; raises NotFound where there is none or none of its instances is usable."""
    registry = await read(etcd, where.prefix)
    service = find(registry, where.service, where.layout)
    if not service.instances:
        raise NotFound(f'service "{service.name}" has no usable instances', f"see why: lbctl ls {service.name}")
    keys = [key.encode() for key in dict.fromkeys(each.key for each in service.instances)]
    entries = await etcd.get_many(keys, registry.revision)
    return Registered(service, {entry.key.decode(): entry for entry in entries}, registry.revision)


def planned(found: Registered, wishes: Sequence[Wish]) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound for an instance that is not there, UsageError where nothing can be."""
    plan = tuple(_rewrite(found, instance_of(found.service, wish.where), wish.weight) for wish in wishes)
    keys = [each.instance.key for each in plan]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is given two weights", "give one")
    return plan


def rewrites(found: Registered, weights: Mapping[str, int]) -> tuple[Rewrite, ...]:
    """What has to be written for weights by key; a weight that is the one in use already is left as it is spelled."""
    return tuple(
        Rewrite(each, weights[each.key], found.entries[each.key], found.entries[each.key].value)
        if weights[each.key] == each.effective_weight
        else _rewrite(found, each, weights[each.key])
        for each in found.service.instances
        if each.key in weights
    )


async def write(etcd: Etcd, plan: Iterable[Rewrite]) -> int:
    """Write what changes and return the revision; raises LostRace, and then nothing of the transaction was written.

    The leases stay as they are. More keys than etcd takes at once are several transactions.
    """
    changing = [each for each in plan if each.changes]
    revision = 0
    for first in range(0, len(changing), MOST_SWAPS):
        part = changing[first : first + MOST_SWAPS]
        result = await swap(etcd, [Swap(each.read.key, each.value, each.read.mod_revision) for each in part])
        if not result.done:
            raise _lost(part, result.current, first)
        revision = result.revision
    return revision


def report(
    found: Registered, plan: Sequence[Rewrite], at: datetime, measured: Mapping[str, Measured] | None = None
) -> WeightReport:
    """What there is to show before anything is written."""
    new = {each.instance.key: each.weight for each in plan}
    now = _shares(found.service, {})
    then = _shares(found.service, new)
    rows = tuple(_row(each, now, then, (measured or {}).get(each.instance.key)) for each in plan)
    state = DRY_RUN if any(row.changes for row in rows) else UNCHANGED
    service = found.service
    return WeightReport(at, service.name, service.layout, service.prefix, found.revision, state, rows)


def left_in_rotation(found: Registered, plan: Sequence[Rewrite]) -> int:
    """How many instances have a weight above 0 once the plan is carried out."""
    new = {each.instance.key: each.weight for each in plan}
    return sum(new.get(each.key, each.effective_weight) > 0 for each in found.service.instances)


def instance_of(service: Service, where: str) -> Instance:
    """The one instance of this address or key; raises NotFound."""
    matches = [each for each in service.instances if where in (each.address, each.key)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        keys = ", ".join(each.key for each in matches)
        raise NotFound(f"{where} is registered under {len(matches)} keys", f"give the key: {keys}")
    known = [each.address for each in service.instances]
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    raise NotFound(f'{where} is not an instance of "{service.name}"', f"there are {', '.join(known[:_NAMED])}{more}")


def _rewrite(found: Registered, instance: Instance, weight: int) -> Rewrite:
    entry = found.entries[instance.key]
    if instance.weight == weight and not instance.warnings:
        return Rewrite(instance, weight, entry, entry.value)
    try:
        return Rewrite(instance, weight, entry, reweighed(instance.layout, instance.key, entry.value, weight))
    except Unusable as flaw:
        raise UsageError(f"{instance.key}: {flaw.reason}", "nothing was written") from None


def _shares(service: Service, new: Mapping[str, int]) -> dict[str, float]:
    weights = {
        each.key: new.get(each.key, each.effective_weight) if each.status is None else 0 for each in service.instances
    }
    total = sum(weights.values())
    return {key: weight / total if total else 0.0 for key, weight in weights.items()}


def _row(each: Rewrite, now: Mapping[str, float], then: Mapping[str, float], measured: Measured | None) -> WeightRow:
    key = each.instance.key
    return WeightRow(
        key=key,
        address=each.instance.address,
        lease=each.read.lease,
        weight=each.instance.weight,
        proposed=each.weight,
        share=now[key],
        share_proposed=then[key],
        value=_text(each.read.value),
        new_value=_text(each.value),
        measured=measured,
    )


def _lost(part: Sequence[Rewrite], current: Sequence[Entry | None], written: int) -> LostRace:
    lines = [
        _lost_line(each, now)
        for each, now in zip(part, current, strict=True)
        if now is None or now.mod_revision != each.read.mod_revision
    ]
    keys = "a key" if len(lines) == 1 else f"{len(lines)} keys"
    done = f"of {written + len(part)} weights {written} were written" if written else "nothing was written"
    return LostRace("\n".join([f"{keys} changed since it was read: {done}", *lines]), "look at it and try again")


def _lost_line(each: Rewrite, now: Entry | None) -> str:
    was = f"{_text(each.read.value)[:_SHOWN]} at revision {each.read.mod_revision}"
    there = "it is gone" if now is None else f"now {_text(now.value)[:_SHOWN]} at revision {now.mod_revision}"
    return f"{each.instance.key}: read {was}, {there}; wanted {_text(each.value)[:_SHOWN]}"


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
