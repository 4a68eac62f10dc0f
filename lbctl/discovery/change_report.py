"""What ``register`` and ``deregister`` have to show: keys with what they hold, and what they are to hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

REGISTER: Final = "register"
DEREGISTER: Final = "deregister"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One key: ``value`` None where it does not exist yet, ``new_value`` None where it is to be deleted.

    ``lease`` is the one that the key has, or is to have: 0 for none, None for one that is not granted yet.
    """

    key: str
    address: str | None
    lease: int | None
    value: str | None
    new_value: str | None


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """One reading of a service and what came of it; ``revision`` is that of the write where there was one."""

    at: datetime
    action: str  # REGISTER | DEREGISTER
    service: str
    layout: str
    revision: int
    state: str  # of weight_report
    rows: tuple[ChangeRow, ...]
