"""Time comes in as an argument: the Clock protocol and the system's own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in nanoseconds, this process's CPU time, and the wall clock for stamps people read."""

    def now_ns(self) -> int: ...

    def cpu_s(self) -> float: ...

    def wall(self) -> datetime: ...


class SystemClock:
    """The machine's clocks."""

    now_ns = staticmethod(time.perf_counter_ns)
    cpu_s = staticmethod(time.process_time)

    @staticmethod
    def wall() -> datetime:
        return datetime.now(UTC)
