"""What was found out before, for owners that take long to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MOST: Final = 1 << 16  # keys whose owners are remembered; the others are looked up every time


class Known(dict[bytes, int]):
    """The owners of the keys that were met first; asking for another looks it up."""

    def __init__(self, look_up: Callable[[bytes], int]) -> None:
        self._look_up = look_up

    def __missing__(self, key: bytes) -> int:
        owner = self._look_up(key)
        if len(self) < MOST:
            self[key] = owner
        return owner
