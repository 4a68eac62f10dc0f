"""Whether the backends of a service reply alike to one call: groups of equal replies, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

from lbctl.load.single import Done
from lbctl.model import Instance

MISSING: Final = object()  # what is where a reply has nothing


@dataclass(frozen=True, slots=True)
class Asked:
    """What one backend made of the call: how it ended, or the ``obstacle`` that was in the way, a word and a text."""

    instance: Instance
    done: Done | None = None
    obstacle: tuple[str, str] = ("", "")

    @property
    def is_ok(self) -> bool:
        return self.done is not None and self.done.is_ok


class Difference(NamedTuple):
    """A field that is otherwise than in most replies; a value may be MISSING."""

    path: str
    here: Any
    usual: Any


@dataclass(frozen=True, slots=True)
class Group:
    """Backends that reply alike. ``name`` is A for the most frequent reply, to which ``differences`` refer."""

    name: str
    value: Any
    members: tuple[Instance, ...]
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Agreement:
    """One call of every backend. ``ignored`` are fields that are left out of the comparison."""

    service: str
    method: str
    kind: str
    described_by: str
    asked: tuple[Asked, ...]
    groups: tuple[Group, ...]
    ignored: tuple[str, ...] = field(default=())

    @property
    def unmet(self) -> tuple[str, ...]:
        """The fields to be ignored that no reply has."""
        values = [_said(each.done) for each in self.asked if each.done is not None and each.is_ok]
        return tuple(
            path for path in self.ignored if all(without(one, [tuple(path.split("."))]) == one for one in values)
        )

    @property
    def failed(self) -> int:
        """How many have no OK reply."""
        return sum(not each.is_ok for each in self.asked)

    @property
    def is_whole(self) -> bool:
        """Whether all replied, and alike."""
        return not self.failed and len(self.groups) <= 1

    def group_of(self, instance: Instance) -> str:
        """The name of the group that a backend is in, "" where it has no OK reply."""
        return next((each.name for each in self.groups if instance in each.members), "")


def grouped(asked: Sequence[Asked], ignored: Sequence[str] = ()) -> tuple[Group, ...]:
    """The replies by how many gave them, the most frequent first; of equally many the one that came first."""
    paths = [tuple(path.split(".")) for path in ignored]
    members: dict[str, list[Instance]] = {}
    values: dict[str, Any] = {}
    for each in asked:
        if each.done is None or not each.is_ok:
            continue
        value = without(_said(each.done), paths)
        spelled = json.dumps(value, sort_keys=True)
        values.setdefault(spelled, value)
        members.setdefault(spelled, []).append(each.instance)
    order = sorted(members, key=lambda spelled: -len(members[spelled]))
    usual = values[order[0]] if order else None
    return tuple(
        Group(_name(place), values[key], tuple(members[key]), tuple(differences(usual, values[key])) if place else ())
        for place, key in enumerate(order)
    )


def _said(done: Done) -> Any:  # noqa: ANN401  # whatever JSON holds
    values = [answer.value for answer in done.answers]
    return values if done.streams and (len(values) != 1) else values[0] if values else None


def _name(place: int) -> str:
    """A to Z, then AA and so on."""
    name = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(ascii_uppercase))
        name = ascii_uppercase[letter] + name
    return name


def without(value: Any, paths: Sequence[tuple[str, ...]]) -> Any:  # noqa: ANN401
    """The JSON without the fields at these paths, which lead through lists."""
    if isinstance(value, list):
        return [without(each, paths) for each in value]
    if not isinstance(value, dict) or not paths:
        return value
    kept = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] in (name, "*") or _camel(path[0]) == name]
        if () not in below:
            kept[name] = without(inner, below)
    return kept


def _camel(name: str) -> str:
    """A field's name as JSON has it."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def differences(usual: Any, here: Any, path: str = "") -> Iterator[Difference]:  # noqa: ANN401
    """Every place where two values of JSON differ, as deep as it goes."""
    if isinstance(usual, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys([*usual, *here]):
            below = f"{path}.{name}" if path else name
            yield from differences(usual.get(name, MISSING), here.get(name, MISSING), below)
    elif isinstance(usual, list) and isinstance(here, list):
        for place in range(max(len(usual), len(here))):
            one, other = (each[place] if place < len(each) else MISSING for each in (usual, here))
            yield from differences(one, other, f"{path}[{place}]")
    elif usual is MISSING or here is MISSING or type(usual) is not type(here) or usual != here:
        yield Difference(path, here, usual)
