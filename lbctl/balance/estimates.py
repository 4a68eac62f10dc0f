"""How long a backend takes, from its latest calls: a moving average, the mean of a window, or its 99th percentile."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from lbctl.balance.ewma import moved

_PARTS: Final = 30  # a window slides in steps of a thirtieth
_SAMPLES: Final = 1000  # a percentile is that of so many at most


class Estimate(Protocol):
    """A latency in ns, 0 when nothing is known."""

    def add(self, sample_ns: int, now_ns: int) -> None: ...

    def value_ns(self, now_ns: int) -> float: ...


class Moving:
    """What is old counts exp(-age / decay) of what it did."""

    __slots__ = ("_decay_ns", "_last_ns", "_value_ns")

    def __init__(self, decay_ns: int) -> None:
        self._decay_ns = decay_ns
        self._value_ns = 0
        self._last_ns = 0

    def add(self, sample_ns: int, now_ns: int) -> None:
        self._value_ns = moved(self._value_ns, sample_ns, now_ns - self._last_ns, self._decay_ns)[0]
        self._last_ns = now_ns

    def value_ns(self, now_ns: int) -> float:
        return self._value_ns


class Mean:
    """Everything within the window counts the same."""

    __slots__ = ("_count", "_part_ns", "_parts", "_total_ns")

    def __init__(self, window_ns: int) -> None:
        self._part_ns = max(1, window_ns // _PARTS)
        self._parts: deque[list[int]] = deque()  # number, count and sum of each part
        self._count = self._total_ns = 0

    def add(self, sample_ns: int, now_ns: int) -> None:
        number, parts = now_ns // self._part_ns, self._parts
        if not parts or parts[-1][0] != number:
            parts.append([number, 0, 0])
        parts[-1][1] += 1
        parts[-1][2] += sample_ns
        self._count += 1
        self._total_ns += sample_ns

    def value_ns(self, now_ns: int) -> float:
        oldest, parts = now_ns // self._part_ns - _PARTS, self._parts
        while parts and parts[0][0] <= oldest:
            _, count, total_ns = parts.popleft()
            self._count -= count
            self._total_ns -= total_ns
        return self._total_ns / self._count if self._count else 0.0


class Percentile99:
    """The 99th percentile of the window, by nearest rank: the greatest, while there are fewer than a hundred."""

    __slots__ = ("_by_age", "_by_size", "_window_ns")

    def __init__(self, window_ns: int) -> None:
        self._window_ns = window_ns
        self._by_age: deque[tuple[int, int]] = deque()
        self._by_size: list[int] = []

    def add(self, sample_ns: int, now_ns: int) -> None:
        if len(self._by_age) == _SAMPLES:
            self._forget()
        self._by_age.append((now_ns, sample_ns))
        insort(self._by_size, sample_ns)

    def value_ns(self, now_ns: int) -> float:
        while self._by_age and self._by_age[0][0] <= now_ns - self._window_ns:
            self._forget()
        size = len(self._by_size)
        return self._by_size[(99 * size + 99) // 100 - 1] if size else 0.0

    def _forget(self) -> None:
        _, sample_ns = self._by_age.popleft()
        del self._by_size[bisect_left(self._by_size, sample_ns)]


def estimate(metric: str, decay_s: float, window_s: float) -> Callable[[], Estimate]:
    """Return what makes the estimates of a metric of ``fastest``."""
    window_ns = round(window_s * 1e9)
    if metric == "ewma":
        return lambda: Moving(round(decay_s * 1e9))
    return (lambda: Percentile99(window_ns)) if metric == "p99" else (lambda: Mean(window_ns))
