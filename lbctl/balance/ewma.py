"""Moving averages over samples that come at uneven times: what is old counts exp(-age / decay) of what it did.

decay 10 s       after 1 s the old average counts .905; 100 ms and then 50 ms give 95.2 ms
with peaks       a sample above the average replaces it: 100 ms, then 300 ms give 300 ms
"""

from __future__ import annotations

from collections import deque
from math import exp
from typing import Final

_SAMPLES: Final = 1000  # of one backend that wait


def moved(old_ns: int, sample_ns: int, elapsed_ns: int, decay_ns: int) -> tuple[int, float]:
    """Return the new average, whole and rounded down, and what the old one still counted; none (0) counts nothing."""
    if not old_ns:
        return sample_ns, 0.0
    kept = exp(-elapsed_ns / decay_ns) if elapsed_ns > 0 else 1.0
    return int(old_ns * kept + sample_ns * (1.0 - kept)), kept


class Peak:
    """An average that a larger sample replaces; reading it lets it decay, as a sample of 0 does."""

    __slots__ = ("seen_ns", "value")

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.seen_ns = -1  # never

    def read(self, now_ns: int, decay_ns: float) -> float:
        """Let it decay, and return it."""
        if now_ns > self.seen_ns:
            if self.value and self.seen_ns >= 0:
                self.value *= exp((self.seen_ns - now_ns) / decay_ns)
            self.seen_ns = now_ns
        return self.value

    def observe(self, sample: float, now_ns: int, decay_ns: float) -> float:
        """Take a sample, and return the average."""
        if sample > self.value:
            self.value = sample
        elif self.seen_ns >= 0 and now_ns > self.seen_ns:
            kept = exp((self.seen_ns - now_ns) / decay_ns)
            self.value = self.value * kept + sample * (1.0 - kept)
        self.seen_ns = now_ns
        return self.value


class Sampled:
    """An average of samples that wait until it is time to look at them; of too many only the newest are kept."""

    __slots__ = ("_seen_ns", "value_ms", "waiting")

    def __init__(self) -> None:
        self.value_ms = 0.0
        self.waiting: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._seen_ns = 0

    def add(self, sample_ms: float, now_ns: int) -> None:
        """Take a sample for later; one of no time at all is none."""
        if sample_ms > 0.0:
            self.waiting.append((sample_ms, now_ns))

    def average(self, decay_ns: float) -> None:
        """Take the samples in; the first is taken as it is, and so is one at the time of the one before."""
        for sample_ms, at_ns in self.waiting:
            elapsed_ns = at_ns - self._seen_ns
            new = 1.0 - exp(-elapsed_ns / decay_ns) if elapsed_ns > 0 and self.value_ms else 1.0
            self.value_ms += new * (sample_ms - self.value_ms)
            self._seen_ns = at_ns
        self.waiting.clear()
