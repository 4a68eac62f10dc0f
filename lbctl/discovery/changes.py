"""What is different between two snapshots of one service, as words for an event feed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lbctl.model import Instance, Invalid


class Op(StrEnum):
    """What happened to one instance. A key that left may have been deleted or have expired: etcd does not tell."""

    JOINED = "joined"
    LEFT = "left"
    MOVED = "moved"  # another address under the same key
    WEIGHT = "weight"
    CHANGED = "changed"  # anything else a client could notice, such as the layout; or registered anew
    INVALID = "invalid"  # a key became unusable, or an unusable one appeared


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; ``before`` and ``after`` are None where the instance did not exist."""

    op: Op
    key: str
    before: Instance | None = None
    after: Instance | None = None
    invalid: Invalid | None = None


Keyed = dict[tuple[str, int], Instance]


def diff(
    before: Iterable[Instance],
    after: Iterable[Instance],
    invalid_before: Iterable[Invalid] = (),
    invalid_after: Iterable[Invalid] = (),
) -> tuple[Change, ...]:
    """Return the differences: what left, then what joined or changed in key order, then what became unusable."""
    old, new = _keyed(before), _keyed(after)
    left = [Change(Op.LEFT, key[0], before=old[key]) for key in old if key not in new]
    rest = [change for key, instance in new.items() if (change := compare(old.get(key), instance)) is not None]
    known = set(invalid_before)
    broken = [Change(Op.INVALID, flaw.key, invalid=flaw) for flaw in invalid_after if flaw not in known]
    return (*left, *rest, *broken)


def _keyed(instances: Iterable[Instance]) -> Keyed:
    """Index by key and position: some layouts put several instances under one key."""
    seen: dict[str, int] = {}
    keyed: Keyed = {}
    for instance in instances:
        position = seen[instance.key] = seen.get(instance.key, -1) + 1
        keyed[instance.key, position] = instance
    return keyed


def compare(old: Instance | None, new: Instance) -> Change | None:
    """Return what became of one instance; None where that is nothing anybody could notice."""
    if old is None:
        return Change(Op.JOINED, new.key, after=new)
    if old is new:  # as are all but a few of a large service: what was not written since is not read again
        return None
    if old.endpoint != new.endpoint:
        return Change(Op.MOVED, new.key, old, new)
    if old.layout == new.layout and old.effective_weight != new.effective_weight:
        return Change(Op.WEIGHT, new.key, old, new)
    return Change(Op.CHANGED, new.key, old, new) if _visible(old) != _visible(new) else None


def became(layout: str, former: str) -> str:
    """Say what a key is that left a service of the layout ``former`` and is still there; "" is no registration."""
    if not layout:
        return "its key is no registration now"
    return f"its key is of {'another service' if layout == former else f'the layout {layout}'} now"


def _visible(instance: Instance) -> tuple[object, ...]:
    """Leave out what a mere renewal changes: lease and revision."""
    facts = (instance.layout, instance.protocol, instance.secure, instance.status, instance.warnings)
    return (*facts, instance.create_revision, dict(instance.metadata), instance.weight)
