"""One exact timer on the event loop, since the loop's own timers are a millisecond late (docs/decisions/0007).

TimerFd   Linux: the kernel wakes the loop; 30-60 us late, and the loop sleeps in between
Spinning  elsewhere: the loop's timer up to shortly before, then turn after turn of the loop; a core of its own
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Callable
from typing import Final, Protocol

from lbctl.clock import Clock

_NEAR_NS: Final = 1_500_000  # a timer of the loop would be too late for what is due sooner
_EARLY_NS: Final = 1_200_000  # how much earlier than needed the loop's timer is set
_SECOND: Final = 1_000_000_000
_CLOCK_MONOTONIC: Final = 1


class Alarm(Protocol):
    """Rings once after each ``set``; the later ``set`` replaces the earlier one."""

    spun_ns: int  # time spent turning for want of a better timer

    def set(self, delay_ns: int) -> None: ...

    def clear(self) -> None:
        """Do not ring before the next ``set``."""
        ...

    def close(self) -> None:
        """Give back what it holds; it rings no more."""
        ...


Alarms = Callable[[Callable[[], None], Clock], Alarm]


def best_alarm(ring: Callable[[], None], clock: Clock) -> Alarm:
    """The most exact alarm that this system has."""
    try:
        return TimerFd(ring)
    except (OSError, AttributeError):
        return Spinning(ring, clock)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Timer(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class TimerFd:
    """Linux's timerfd as a file the loop reads. Raises OSError or AttributeError where there is none."""

    spun_ns = 0

    def __init__(self, ring: Callable[[], None]) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._settime = library.timerfd_settime
        self._fd: int = library.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._ring = ring
        self._timer = _Timer()
        self._address = ctypes.byref(self._timer)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def set(self, delay_ns: int) -> None:
        # Zero would disarm it.
        self._arm(max(1, delay_ns))

    def clear(self) -> None:
        if self._fd >= 0:
            self._arm(0)

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _arm(self, delay_ns: int) -> None:
        value = self._timer.value
        value.seconds, value.nanoseconds = divmod(delay_ns, _SECOND)
        self._settime(self._fd, 0, self._address, None)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):  # set anew after it had rung
            os.read(self._fd, 8)
            self._ring()


class Spinning:
    """The loop's own timer for the most part of the delay, then a look at the clock in every turn of the loop."""

    def __init__(self, ring: Callable[[], None], clock: Clock) -> None:
        self.spun_ns = 0
        self._ring = ring
        self._now = clock.now_ns
        self._loop = asyncio.get_running_loop()
        self._due_ns = 0
        self._turned_ns = 0  # when the last turn looked, 0 after sleeping
        self._next: asyncio.Handle | None = None

    def set(self, delay_ns: int) -> None:
        self.clear()
        now = self._now()
        self._due_ns = now + delay_ns
        self._wait(now)

    def clear(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def close(self) -> None:
        self.clear()

    def _wait(self, now_ns: int) -> None:
        left_ns = self._due_ns - now_ns
        if left_ns > _NEAR_NS:
            self._turned_ns = 0
            self._next = self._loop.call_later((left_ns - _EARLY_NS) / 1e9, self._look)
        else:
            self._turned_ns = now_ns
            self._next = self._loop.call_soon(self._look)

    def _look(self) -> None:
        now = self._now()
        if self._turned_ns:
            self.spun_ns += now - self._turned_ns
        if now < self._due_ns:
            self._wait(now)
        else:
            self._next = None
            self._ring()
