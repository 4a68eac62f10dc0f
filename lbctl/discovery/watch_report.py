"""What a watch of one service knows at one moment: plain values that a view or a document is a function of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lbctl.model import Event, Instance


@dataclass(frozen=True, slots=True)
class WatchRow:
    """One backend, whatever the number of its keys; None where something is not known.

    ``gone_s`` is set for one that left and is still shown.
    """

    instance: Instance
    share: float | None  # 0..1, by weight, among those in rotation
    state: str  # ready | draining | down | gone | not_grpc | unknown
    health: str | None  # SERVING, NOT_SERVING, UNKNOWN, UNIMPLEMENTED, REFUSED, TIMEOUT ...; None: not checked
    rtt_us: float | None
    ttl_s: float | None  # left on the lease; None without a lease, or before it was asked for
    granted_s: int | None
    age_s: float | None
    seen_s: float | None = None  # seconds since it joined during this watch; None: it was there before
    gone_s: float | None = None  # seconds since it left
    keys: int = 1  # that have its address
    change: str = ""  # what changed in the last seconds and when: "weight 4s", "new"
    rtts: tuple[float, ...] = ()  # microseconds, of the last minute, 3 s each, the newest last; 0 where none came


@dataclass(frozen=True, slots=True)
class WatchReport:
    """One service as the registry describes it now. ``stale_s`` counts from the loss of the watch, None while synced.

    ``started_at`` carries the zone that times of day are shown in. Events are in the order they happened.
    """

    service: str
    prefix: str
    revision: int
    started_at: datetime
    elapsed_s: float
    rows: tuple[WatchRow, ...]
    events: Sequence[Event]
    stale_s: float | None = None
    invalid: int = 0  # keys under the prefix that cannot be used
    checking: bool = False  # a health round is under way
