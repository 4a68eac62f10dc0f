"""How calls of late ended: a window that slides in steps of a thirtieth, in constant memory.

window 300s    the part from 290s to 300s fills, those from 0s on are in it
at 300s        the part from 300s to 310s fills, and that from 0s to 10s is out of it
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

_PARTS: Final = 30


class _Part(NamedTuple):
    """What ended within one part of the window."""

    number: int
    requests: int
    errors: int
    latency_ns: int


class Window:
    """The part that fills, and the parts before it."""

    __slots__ = ("_before", "_errors", "_latency_ns", "_number", "_part_ns", "_requests")

    def __init__(self, length_ns: int) -> None:
        self._part_ns = max(1, length_ns // _PARTS)
        self._number = -1
        self._requests = self._errors = self._latency_ns = 0
        self._before: deque[_Part] = deque(maxlen=_PARTS - 1)

    def add(self, begun_ns: int, now_ns: int, *, ok: bool) -> None:
        """A call ended."""
        number = now_ns // self._part_ns
        if number > self._number:
            if self._requests:
                self._before.append(self._filling())
            self._number = number
            self._requests = self._errors = self._latency_ns = 0
        self._requests += 1
        self._errors += not ok
        self._latency_ns += now_ns - begun_ns

    def sums(self, now_ns: int) -> tuple[int, int, float]:
        """Requests, errors and mean latency in seconds of the window that ends now."""
        oldest = now_ns // self._part_ns - _PARTS
        parts = [part for part in (*self._before, self._filling()) if part.number > oldest]
        requests = sum(part.requests for part in parts)
        mean_s = sum(part.latency_ns for part in parts) / requests / 1e9 if requests else 0.0
        return requests, sum(part.errors for part in parts), mean_s

    def _filling(self) -> _Part:
        return _Part(self._number, self._requests, self._errors, self._latency_ns)
