"""What a check is, what it may see, and what becomes of that: a finding with its code, its reason and a way out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lbctl.doctor.case import Case


class Level(IntEnum):
    """How bad a finding is."""

    INFO = 0
    WARN = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """As it is spelt on the command line and in documents."""
        return self.name.lower()


class Needs(StrEnum):
    """What a check may only do where the user has asked for it."""

    NOTHING = ""
    PROBE = "--probe"
    CANARY = "--canary"


class Scope(Enum):
    """What a check looks at."""

    MEMBERS = "members"  # of etcd, whether they let themselves be read or not
    REGISTRY = "registry"
    BACKENDS = "backends"  # from whichever source


class Symptom(NamedTuple):
    """One thing that a check saw. ``level`` stands for the check's own where it is another one."""

    what: str
    subject: str = ""  # an address, a key or a member
    service: str = ""
    command: str = ""  # to be run as it stands
    level: Level | None = None


Examine = Callable[["Case"], Coroutine[Any, Any, Sequence[Symptom]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that may be wrong: its code, why it matters, how to mend it, and how it is found out.

    ``scope`` says what there has to be for it.
    """

    code: str
    title: str
    level: Level
    why: str
    fix: str
    examine: Examine
    needs: Needs = Needs.NOTHING
    scope: Scope = Scope.REGISTRY


class Finding(NamedTuple):
    """A symptom, and the check that saw it."""

    check: Check
    symptom: Symptom

    @property
    def code(self) -> str:
        return self.check.code

    @property
    def level(self) -> Level:
        return self.check.level if self.symptom.level is None else self.symptom.level
