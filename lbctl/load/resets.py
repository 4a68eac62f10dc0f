"""How many streams were reset on a backend's connections lately: peers close connections that reset too much."""

from __future__ import annotations

from collections import deque
from typing import Final

WINDOW_S: Final = 30
MANY: Final = 100  # per connection and window, from where on servers may take it for an attack


class Resets:
    """Counts in steps of a second. ``connections`` share them."""

    def __init__(self, connections: int = 1) -> None:
        self.total = 0
        self.most = 0  # within one window
        self._many = MANY * connections
        self._seconds: deque[list[int]] = deque()  # second, resets in it
        self._recent = 0

    @property
    def are_many(self) -> bool:
        return self.most >= self._many

    def add(self, count: int, now_ns: int) -> bool:
        """Count some; True when these have just become many, once."""
        second = now_ns // 1_000_000_000
        seconds = self._seconds
        if seconds and seconds[-1][0] == second:
            seconds[-1][1] += count
        else:
            seconds.append([second, count])
        self._recent += count
        while seconds[0][0] <= second - WINDOW_S:
            self._recent -= seconds.popleft()[1]
        were_many = self.are_many
        self.total += count
        self.most = max(self.most, self._recent)
        return self.are_many and not were_many
