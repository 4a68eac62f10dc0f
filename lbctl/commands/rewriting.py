"""Keys of registered instances changed by hand: read, planned, and written only over what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from lbctl.discovery.directory import find, read
from lbctl.errors import ExitCode, LbctlError, NotFound
from lbctl.etcd.client import Etcd
from lbctl.etcd.swap import MOST_SWAPS, Beside, Swap, swap
from lbctl.model import Entry, Instance, Invalid, Service
from lbctl.redaction import masked_text
from lbctl.suggestion import Again

_SHOWN: Final = 200  # characters of a value in a message
_NAMED: Final = 5  # instances that a hint names


@dataclass(frozen=True, slots=True)
class Where:
    """Which service is meant, and where to look for it; ``again`` spells commands that look in the same place."""

    service: str
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    again: Again = field(default_factory=Again)

    def command(self, verb: str, *words: str) -> str:
        """``lbctl VERB SERVICE WORDS`` about this service, as the user named it."""
        return self.again.command(verb, self.service, *words)


@dataclass(frozen=True, slots=True)
class Registered:
    """A service, its keys as they were at one revision, and the keys beside them that are no use."""

    where: Where
    service: Service
    entries: Mapping[str, Entry]
    revision: int
    invalid: tuple[Invalid, ...] = ()


class Rewrite(NamedTuple):
    """One key and the value to write, None to delete it; ``weight`` and ``status`` are what its instance has then.

    Where the value is the one that is there, nothing is to be done. ``beside`` is written with it.
    """

    instance: Instance
    weight: int | None
    read: Entry
    value: bytes | None
    status: str | None = None
    beside: tuple[Beside, ...] = ()

    @property
    def changes(self) -> bool:
        return self.value != self.read.value


class Change(Protocol):
    """One key that was read, the value to write, None to delete it, and what is written with it."""

    @property
    def read(self) -> Entry: ...

    @property
    def value(self) -> bytes | None: ...

    @property
    def beside(self) -> tuple[Beside, ...]: ...


class LostRace(LbctlError):
    """Somebody wrote a key between our reading and our writing; what they wrote stands."""

    exit_code = ExitCode.CHECK_FAILED


async def registered(etcd: Etcd, where: Where, *, usable: bool = True) -> Registered:
    """Read a service with its keys; raises NotFound where there is none, or none of its instances is ``usable``."""
    registry = await read(etcd, where.prefix, layout=where.layout, named_by=where.named_by)
    service = find(registry, where.service, where.layout, where.again)
    if usable and not service.instances:
        raise NotFound(f'service "{service.name}" has no usable instances', f"see why: {where.command('ls')}")
    invalid = tuple(each for each in registry.invalid if service.has_room_for(each.key))
    keys = dict.fromkeys([each.key for each in service.instances] + [each.key for each in invalid])
    entries = await etcd.get_many([key.encode() for key in keys], registry.revision)
    return Registered(where, service, {entry.key.decode(): entry for entry in entries}, registry.revision, invalid)


async def write(etcd: Etcd, plan: Iterable[Change]) -> int:
    """Write what changes and return the last revision, 0 for none; raises what :func:`write_each` raises."""
    return max((await write_each(etcd, plan)).values(), default=0)


async def write_each(etcd: Etcd, plan: Iterable[Change]) -> dict[bytes, int]:
    """Write what changes and return each key's revision; raises LostRace: nothing of that transaction was written.

    The leases stay as they are. More keys than etcd takes at once are several transactions.
    """
    changing = [each for each in plan if each.value != each.read.value]
    at_once = MOST_SWAPS // max((1 + len(each.beside) for each in changing), default=1)
    revisions: dict[bytes, int] = {}
    for first in range(0, len(changing), at_once):
        part = changing[first : first + at_once]
        swaps = [Swap(each.read.key, each.value, each.read.mod_revision) for each in part]
        result = await swap(etcd, swaps, [note for each in part for note in each.beside])
        if not result.done:
            raise _lost(part, result.current, first)
        revisions |= {each.read.key: result.revision for each in part}
    return revisions


def afterwards(service: Service, plan: Iterable[Rewrite]) -> tuple[Instance, ...]:
    """The instances of a service once the plan is carried out."""
    new: dict[str, Rewrite] = {each.instance.key: each for each in plan}
    return tuple(
        replace(each, weight=new[each.key].weight, status=new[each.key].status) if each.key in new else each
        for each in service.instances
        if each.key not in new or new[each.key].value is not None
    )


def is_out(instance: Instance) -> bool:
    """Whether an instance is out of the rotation by weight 0, or by a status that keeps it out."""
    return instance.status is not None or instance.weight == 0


def in_rotation(instances: Iterable[Instance]) -> int:
    """How many instances are picked at all: a weight above 0, and no status that keeps them out."""
    return sum(not is_out(each) for each in instances)


def kept_in(found: Registered, plan: Sequence[Rewrite]) -> dict[str, tuple[str, ...]]:
    """Addresses whose keys in the plan are out of the rotation then, and the other keys that keep them in it."""
    then = afterwards(found.service, plan)
    planned = {each.instance.key for each in plan}
    out = dict.fromkeys(each.address for each in then if each.key in planned and is_out(each))
    others = {
        address: tuple(each.key for each in then if each.address == address and not is_out(each)) for address in out
    }
    return {address: keys for address, keys in others.items() if keys}


def instance_of(service: Service, where: str) -> Instance:
    """The instance of this address or key, the first where a key has several; raises NotFound."""
    matches = instances_at(service, where)
    keys = list(dict.fromkeys(each.key for each in matches))
    if len(keys) == 1:
        return matches[0]
    raise NotFound(f"{where} is registered under {len(keys)} keys", f"give the key: {', '.join(keys)}")


def instances_at(service: Service, where: str) -> tuple[Instance, ...]:
    """Every instance of this address or key; raises NotFound where there is none."""
    matches = tuple(each for each in service.instances if where in (each.address, each.key))
    if matches:
        return matches
    raise unknown(service, where)


def unknown(service: Service, where: str) -> NotFound:
    """Say that a service has no such instance, and which it has."""
    known = list(dict.fromkeys(each.address for each in service.instances))
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    hint = f"there are {', '.join(known[:_NAMED])}{more}" if known else ""
    return NotFound(f'{where} is not an instance of "{service.name}"', hint)


def text(value: bytes) -> str:
    """A value as it can be shown."""
    return value.decode("utf-8", "backslashreplace")


def shown(value: bytes) -> str:
    """A value as a message quotes it: cut, and without the secrets in it."""
    return masked_text(text(value))[:_SHOWN]


def _lost(part: Sequence[Change], current: Sequence[Entry | None], written: int) -> LostRace:
    lines = [
        _lost_line(each, now)
        for each, now in zip(part, current, strict=True)
        if now is None or now.mod_revision != each.read.mod_revision
    ]
    keys = "a key" if len(lines) == 1 else f"{len(lines)} keys"
    done = f"of {written + len(part)} changes {written} were written" if written else "nothing was written"
    return LostRace("\n".join([f"{keys} changed since it was read: {done}", *lines]), "look at it and try again")


def _lost_line(each: Change, now: Entry | None) -> str:
    was = f"{shown(each.read.value)} at revision {each.read.mod_revision}"
    there = "it is gone" if now is None else f"now {shown(now.value)} at revision {now.mod_revision}"
    wanted = "it was to be deleted" if each.value is None else f"wanted {shown(each.value)}"
    return f"{masked_text(text(each.read.key))}: read {was}, {there}; {wanted}"
