"""The generator's own health: how late the event loop is, and how busy the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from lbctl.clock import Clock
from lbctl.load.machine import Collections, Vitals, machine_of, on_machine, vitals
from lbctl.load.warnings import milliseconds
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Generator, Machine

_PERIOD_S: Final = 0.02
_BUSY: Final = 0.8
_LAG_FLOOR_MS: Final = 1.0
_LAG_SHARE: Final = 0.2  # of the median latency


class Pulse:
    """A timer that measures its own lateness, from ``start`` to ``stop``."""

    def __init__(self, clock: Clock, read: Callable[[], Vitals] = vitals) -> None:
        self._clock = clock
        self._read = read
        self._vitals = Vitals()
        self._collections = Collections()
        self._machine: Machine | None = None
        self._lag = Histogram()
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0
        self._began_ns = 0
        self._began_cpu_s = 0.0
        self._ended: tuple[int, float] | None = None

    def start(self) -> None:
        self._began_ns = self._clock.now_ns()
        self._began_cpu_s = self._clock.cpu_s()
        self._ended = self._machine = None
        self._vitals = self._read()
        self._collections.start()
        self._lag.clear()
        self._arm()

    def restart(self) -> None:
        """Measure from here on."""
        if self._timer is not None:
            self._timer.cancel()
        self.start()

    def stop(self) -> None:
        self._ended = (self._clock.now_ns(), self._clock.cpu_s())
        self._collections.stop()
        self._machine = machine_of(self._vitals, self._read(), self._collections)
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        self._due_ns = self._clock.now_ns() + int(_PERIOD_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(_PERIOD_S, self._beat)

    def _beat(self) -> None:
        self._lag.record((self._clock.now_ns() - self._due_ns) // 1000)
        self._arm()

    def generator(self, engine: str, latency: Histogram, *, spun_ns: int = 0, doubts: Iterable[str] = ()) -> Generator:
        """The figures so far, with a warning where they make the run's own figures a bound, behind other ``doubts``.

        ``spun_ns`` was spent waiting and counts as idle.
        """
        now_ns, cpu_s = self._ended or (self._clock.now_ns(), self._clock.cpu_s())
        cpu_s -= self._began_cpu_s
        elapsed_s = (now_ns - self._began_ns) / 1e9
        worked_s = max(0.0, cpu_s - spun_ns / 1e9)
        busy = min(1.0, worked_s / elapsed_s) if elapsed_s > 0 and self._began_ns else 0.0
        lag_ms = self._lag.quantile(0.99) / 1000 if self._lag.total else 0.0
        median_ms = latency.quantile(0.5) / 1000 if latency.total else 0.0
        around = on_machine(self._machine, median_ms) if self._machine is not None else ()
        warnings = (*doubts, *_warnings(busy, lag_ms, median_ms), *around)
        return Generator(engine, cpu_s if self._began_ns else 0.0, busy, lag_ms, warnings, self._machine)


def _warnings(busy: float, lag_ms: float, median_ms: float) -> tuple[str, ...]:
    found = []
    if busy > _BUSY:
        found.append(
            f"client-limited, the generator was {busy:.0%} busy: throughput is a lower bound, latency an upper one;"
            " several lbctl on as many CPUs put on more"
        )
    if lag_ms > max(_LAG_FLOOR_MS, _LAG_SHARE * median_ms):
        found.append(f"the event loop was {milliseconds(lag_ms)} late at p99: latencies include that")
    return tuple(found)
