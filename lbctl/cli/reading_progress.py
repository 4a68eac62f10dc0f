"""How far the reading of a big registry is, on a terminal, where it takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

_PATIENCE_S = 1.0
_EVERY_S = 0.2


@contextmanager
def reading(
    *, quiet: bool, stream: TextIO | None = None, clock: Callable[[], float] = monotonic
) -> Iterator[Callable[[int], None] | None]:
    """Give a function to be told of keys seen so far; what it wrote is gone afterwards. None where nobody looks."""
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        yield None
        return
    line = _Line(stream, clock)
    try:
        yield line.tell
    finally:
        line.clear()


class _Line:
    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + _PATIENCE_S
        self._width = 0

    def tell(self, seen: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        text = f"reading etcd: {seen:,} keys"
        self._stream.write(f"\r{text.ljust(self._width)}")
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()
