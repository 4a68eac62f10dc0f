"""Whatever the process writes to standard error while the screen is taken, line by line (C libraries included)."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable


class StderrCapture:
    """Puts a pipe in place of descriptor 2 between ``start`` and ``stop``. Never blocks a writer: a full pipe drops."""

    def __init__(self, on_line: Callable[[str], None], fd: int = 2) -> None:
        self._on_line = on_line
        self._fd = fd
        self._saved: int | None = None
        self._read = -1
        self._rest = b""

    def start(self) -> None:
        """Divert the descriptor; needs a running loop."""
        if self._saved is not None:
            return
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        self._saved = os.dup(self._fd)
        os.dup2(write, self._fd)
        os.close(write)
        asyncio.get_running_loop().add_reader(self._read, self._on_readable)

    def stop(self) -> None:
        """Put the descriptor back and hand over what is left."""
        if self._saved is None:
            return
        saved, self._saved = self._saved, None
        os.dup2(saved, self._fd)
        os.close(saved)
        asyncio.get_running_loop().remove_reader(self._read)
        self._on_readable()
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
        os.close(self._read)

    def _on_readable(self) -> None:
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._read, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-4096:]
        for line in lines:
            if line.strip():
                self._on_line(line.decode("utf-8", "replace"))
