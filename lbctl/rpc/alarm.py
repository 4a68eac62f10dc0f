"""One timer that is moved around."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls back once at the earliest of the times it was set to; in ns of the given clock."""

    __slots__ = ("_at_ns", "_now", "_ring", "_timer")

    def __init__(self, now: Callable[[], int], ring: Callable[[], None]) -> None:
        self._now = now
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at_ns = 0

    def set(self, at_ns: int) -> None:
        """Ring then, or at once where that has passed, unless it would ring before anyway."""
        if self._timer is not None:
            if self._at_ns <= at_ns:
                return
            self._timer.cancel()
        self._at_ns = at_ns
        delay_s = max(0.0, (at_ns - self._now()) / 1e9)
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._call)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Never ring again, and let go of who would have heard it."""
        self.cancel()
        self._ring = _nobody

    def _call(self) -> None:
        self._timer = None
        self._ring()


def _nobody() -> None:
    """Nobody hears it."""
