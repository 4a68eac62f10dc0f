"""How long a backend takes, from its latest calls: a moving average, the mean of a window, or its 99th percentile."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from math import exp
from typing import Final

_PARTS: Final = 30  # a window slides in steps of a thirtieth
_SAMPLES: Final = 1000  # a percentile is that of so many at most
_FOREVER_NS: Final = 1 << 62


class Estimate:
    """A latency in ns, 0 when nothing is known; as it is now, it holds before ``until_ns``."""

    __slots__ = ("latency_ns", "until_ns")

    def __init__(self) -> None:
        self.latency_ns: float = 0
        self.until_ns = _FOREVER_NS

    def add(self, sample_ns: int, now_ns: int) -> None:
        """Let one more call count."""
        self.latency_ns = sample_ns

    def value_ns(self, now_ns: int) -> float:
        """Return the latency, without what counts no longer."""
        return self.latency_ns


class Moving(Estimate):
    """What is old counts exp(-age / decay) of what it did; whole, and rounded down."""

    __slots__ = ("_last_ns", "_rate")

    def __init__(self, decay_ns: int) -> None:
        super().__init__()
        self._rate = 1.0 / decay_ns
        self._last_ns = 0

    def add(self, sample_ns: int, now_ns: int) -> None:
        old_ns, last_ns = self.latency_ns, self._last_ns
        self._last_ns = now_ns
        if not old_ns:
            self.latency_ns = sample_ns
        elif now_ns > last_ns:
            self.latency_ns = int(sample_ns + (old_ns - sample_ns) * exp((last_ns - now_ns) * self._rate))


class Mean(Estimate):
    """Everything within the window counts the same."""

    __slots__ = ("_count", "_part_ns", "_parts", "_total_ns")

    def __init__(self, window_ns: int) -> None:
        super().__init__()
        self._part_ns = max(1, window_ns // _PARTS)
        self._parts: deque[list[int]] = deque()  # number, count and sum of each part
        self._count = self._total_ns = 0

    def add(self, sample_ns: int, now_ns: int) -> None:
        number, parts = now_ns // self._part_ns, self._parts
        if not parts or parts[-1][0] != number:
            parts.append([number, 0, 0])
            self.value_ns(now_ns)
        newest = parts[-1]
        newest[1] += 1
        newest[2] += sample_ns
        self._count += 1
        self._total_ns += sample_ns
        self.latency_ns = self._total_ns / self._count

    def value_ns(self, now_ns: int) -> float:
        oldest, parts = now_ns // self._part_ns - _PARTS, self._parts
        while parts and parts[0][0] <= oldest:
            _, count, total_ns = parts.popleft()
            self._count -= count
            self._total_ns -= total_ns
        self.until_ns = (parts[0][0] + _PARTS) * self._part_ns if parts else _FOREVER_NS
        self.latency_ns = self._total_ns / self._count if self._count else 0
        return self.latency_ns


class Percentile99(Estimate):
    """The 99th percentile of the window, by nearest rank: the greatest, while there are fewer than a hundred."""

    __slots__ = ("_by_age", "_by_size", "_window_ns")

    def __init__(self, window_ns: int) -> None:
        super().__init__()
        self._window_ns = window_ns
        self._by_age: deque[tuple[int, int]] = deque()
        self._by_size: list[int] = []

    def add(self, sample_ns: int, now_ns: int) -> None:
        if len(self._by_age) == _SAMPLES:
            self._forget()
        self._by_age.append((now_ns, sample_ns))
        insort(self._by_size, sample_ns)
        self.value_ns(now_ns)

    def value_ns(self, now_ns: int) -> float:
        by_age, by_size, latest_ns = self._by_age, self._by_size, now_ns - self._window_ns
        while by_age and by_age[0][0] <= latest_ns:
            self._forget()
        size = len(by_size)
        self.until_ns = by_age[0][0] + self._window_ns if size else _FOREVER_NS
        self.latency_ns = by_size[(99 * size + 99) // 100 - 1] if size else 0
        return self.latency_ns

    def _forget(self) -> None:
        _, sample_ns = self._by_age.popleft()
        del self._by_size[bisect_left(self._by_size, sample_ns)]


def estimate(metric: str, decay_s: float, window_s: float) -> Callable[[], Estimate]:
    """Return what makes the estimates of a metric of ``fastest``."""
    window_ns = round(window_s * 1e9)
    if metric == "ewma":
        return lambda: Moving(max(1, round(decay_s * 1e9)))
    return (lambda: Percentile99(window_ns)) if metric == "p99" else (lambda: Mean(window_ns))
