"""LB404: backends of one service that say different versions of themselves.

What a backend says of its version goes by many names. The program's own comes first; what it was built with tells of
another program only where that says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.doctor.rotation import picked
from lbctl.model import Instance, Service


class _Kind(NamedTuple):
    """One thing that is versioned, and the names in metadata that say it, without @ and in small letters."""

    what: str
    names: tuple[str, ...]


# Jupiter's own @version is that of its keys, the same for all of a service: appVersion is what differs there.
_PROGRAM: Final = _Kind(
    "backends of several versions", ("version", "appversion", "app_version", "app-version", "app.kubernetes.io/version")
)
_OFFER: Final = _Kind("backends that offer different interfaces, by their revisions", ("dubbo.metadata.revision",))
_FRAMEWORK: Final = _Kind(
    "backends built with several versions of their framework", ("release", "jupiterversion", "egoversion")
)
_DUBBO: Final = "dubbo-interface"  # there the version is a part of what is called
_APART: Final = "providers of several versions of the interface, each called by consumers of its own"


async def examine(case: Case) -> Sequence[Symptom]:
    """Count the versions in the metadata of every service."""
    return [symptom for service in case.services if (symptom := _skew(case, service)) is not None]


def _skew(case: Case, service: Service) -> Symptom | None:
    told = [_told(each) for each in picked(service)]
    for kind in (_PROGRAM, _OFFER, _FRAMEWORK):
        for name in kind.names:
            counts = Counter(version for each in told if (version := each.get(name)))
            if len(counts) > 1:
                return _symptom(case, service, kind, counts)
    return None


def _symptom(case: Case, service: Service, kind: _Kind, counts: Counter[str]) -> Symptom:
    apart = kind is _PROGRAM and service.layout == _DUBBO
    what = _APART if apart else kind.what
    parts = ", ".join(f"{version} ({count})" for version, count in counts.most_common())
    command = case.command("ls", service, options=("-o", "wide"))
    return Symptom(f"{what}: {parts}", "", service.name, command, Level.INFO if apart else None)


def _told(instance: Instance) -> Mapping[str, str]:
    """The metadata as texts by plain names; what the layout itself says counts before what was added to it."""
    theirs = {name.lower(): _text(value) for name, value in instance.metadata.items() if not name.startswith("@")}
    own = {name[1:].lower(): _text(value) for name, value in instance.metadata.items() if name.startswith("@")}
    return theirs | {name: text for name, text in own.items() if text}


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    """A version as it is written: alone, or as the only one of a list."""
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


CHECK = Check(
    "LB404",
    "version skew",
    Level.WARN,
    why="Equal calls get unequal answers, and latencies of one policy compare two programs.",
    fix="finish the rollout, or give the versions services or subsets of their own",
    examine=examine,
)
