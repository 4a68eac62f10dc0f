"""Samples of a run, taken by a timer once a second while it runs, and a last one at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lbctl.stats.histogram import Histogram
from lbctl.stats.samples import Sampler, Totals

_LEAST_S: Final = 0.01  # a run that is paused reaches no moment; it is looked at again


class Sampling:
    """Reads the counters of a run, from ``start`` to ``stop``; ``elapsed_s`` stands still while the run is paused."""

    def __init__(self, elapsed_s: Callable[[], float], totals: Callable[[], Totals], latency: Histogram) -> None:
        self.sampler = Sampler()
        self._elapsed_s = elapsed_s
        self._totals = totals
        self._latency = latency
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Take samples from here on, of counters that begin now."""
        self.sampler = Sampler()
        self._arm()

    def restart(self) -> None:
        """Start, while it goes on."""
        if self._timer is not None:
            self._timer.cancel()
        self.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.sampler.end(self._elapsed_s(), self._totals(), self._latency)

    def _arm(self) -> None:
        left_s = self.sampler.due_s - self._elapsed_s()
        self._timer = asyncio.get_running_loop().call_later(max(left_s, _LEAST_S), self._look)

    def _look(self) -> None:
        elapsed_s = self._elapsed_s()
        if elapsed_s >= self.sampler.due_s - _LEAST_S:
            self.sampler.take(elapsed_s, self._totals(), self._latency)
        self._arm()
