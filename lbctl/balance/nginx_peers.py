"""nginx's bookkeeping of upstream servers: an effective weight that failures lower, and a time-out after too many.

    a selection    every server that may take the request: current += effective, then effective grows by 1 up to the
                   weight; the first with the greatest current takes it and pays the sum of all effective weights
    a failure      fails grows by 1, effective falls by weight / max_fails, whole part, not below 0
    max_fails      of them, and the server is left out until fail_timeout has passed since the last; the next request
                   it then gets is a probe: if that fails, it is left out again
    a success      after a probe forgets the fails

Time is in whole seconds, as nginx has it. Of the weight of a server that warms up only a part counts, which is no
matter of nginx's: what failures take off, and how fast it comes back, is as always, and each unit counts in part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

WHOLE: Final = 1000  # of the part of a weight that counts
_LONG_AGO: Final = -(1 << 62)


@dataclass(slots=True, eq=False)
class Server:
    """One upstream server. ``max_fails`` 0: failures are counted and have no effect. ``current`` is in thousandths."""

    weight: int
    max_fails: int
    effective: int = -1  # the weight, unless failures have lowered it
    current: int = 0
    fails: int = 0
    accessed: int = _LONG_AGO  # when it failed last
    checked: int = _LONG_AGO  # when it failed or was probed last
    part: int = WHOLE  # thousandths of its weight that count

    def __post_init__(self) -> None:
        if self.effective < 0:
            self.effective = self.weight

    def is_out(self, now: int, fail_timeout: float) -> bool:
        return bool(self.max_fails) and self.fails >= self.max_fails and now - self.checked <= fail_timeout

    def failed(self, now: int) -> None:
        self.fails += 1
        self.accessed = self.checked = now
        if self.max_fails:
            self.effective = max(0, self.effective - self.weight // self.max_fails)

    def succeeded(self) -> None:
        if self.accessed < self.checked:
            self.fails = 0

    def weighs(self, weight: int) -> None:
        """Its weight is another now; what failures took off stays off."""
        if weight != self.weight:
            self.effective = min(weight, max(0, self.effective + weight - self.weight))
            self.weight = weight


def choose(servers: Iterable[Server], now: int, fail_timeout: float, tried: Collection[Server] = ()) -> Server | None:
    """Return the server that takes the request, None when there is none for it."""
    best = None
    total = 0
    for server in servers:
        if (tried and server in tried) or (server.fails and server.is_out(now, fail_timeout)):
            continue
        effective = server.effective
        growth = effective * server.part
        server.current += growth
        total += growth
        if effective < server.weight:
            server.effective += 1
        if best is None or server.current > best.current:
            best = server
    if best is not None:
        best.current -= total
        if now - best.checked > fail_timeout:
            best.checked = now
    return best
