"""What ``weight`` has to show: every instance it is about, with the weight it has and the one it should have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

WEIGHT: Final = "weight"  # other weights were wanted
DRAIN: Final = "drain"  # instances were to be taken out of the rotation
UNDRAIN: Final = "undrain"  # or back into it

DRY_RUN: Final = "dry_run"  # nothing was to be written
UNCHANGED: Final = "unchanged"  # there was nothing to write
WRITTEN: Final = "written"
LOST: Final = "lost"  # keys had changed since they were read, so nothing was written


@dataclass(frozen=True, slots=True)
class Measured:
    """What a proposal rests on; ``mean_s`` is None where no call was OK."""

    base: int
    requests: int
    errors: int
    mean_s: float | None
    why: str


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One instance: its weight as it was read, None where the registration has none, and the one proposed."""

    key: str
    address: str
    lease: int
    weight: int | None
    proposed: int
    share: float  # of the calls, by weight alone, 0..1: now
    share_proposed: float
    value: str
    new_value: str
    measured: Measured | None = None

    @property
    def changes(self) -> bool:
        return self.value != self.new_value


@dataclass(frozen=True, slots=True)
class WeightReport:
    """One reading of a service and what came of it; ``revision`` is that of the write where there was one."""

    at: datetime
    service: str
    layout: str
    prefix: str
    revision: int
    state: str  # DRY_RUN | UNCHANGED | WRITTEN | LOST
    rows: tuple[WeightRow, ...]
    method: str | None = None
    note: str = ""
    action: str = WEIGHT
    undo: str = ""  # a command that takes it back
