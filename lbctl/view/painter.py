"""Frames onto a terminal: only the lines that changed, and never waiting for a terminal that does not read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select

from lbctl.view.lines import width_of

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output, ignored where unknown


def difference(old: list[str], new: list[str], width: int) -> str:
    """Return what to write so that a terminal that shows ``old`` shows ``new``; another length is repainted.

    A line is erased to its end only if it is shorter than the window: after a full line the cursor stays on its last
    cell, and erasing would take that cell away.
    """
    parts: list[str] = []
    if len(old) != len(new):
        parts.append("\x1b[2J")
        old = [""] * len(new)
    for index, line in enumerate(new):
        if line != old[index]:
            erase = "\x1b[K" if width_of(line) < width else ""
            parts.append(f"\x1b[{index + 1};1H{line}\x1b[0m{erase}")
    return f"{_BEGIN}{''.join(parts)}{_END}" if parts else ""


class Painter:
    """Writes frames to a non-blocking descriptor; drops frames while the terminal is not reading."""

    def __init__(self, fd: int, encoding: str = "utf-8") -> None:
        self._fd = fd
        self._encoding = encoding
        self._shown: list[str] = []
        self._pending = b""
        self._loop: asyncio.AbstractEventLoop | None = None
        self.frames = 0
        self.dropped = 0

    def paint(self, lines: list[str], width: int) -> bool:
        """Hand over a frame; False if it was dropped because the last one is not out yet."""
        if self._pending:
            self.dropped += 1
            return False
        data = difference(self._shown, lines, width).encode(self._encoding, "replace")
        self._shown = lines
        self.frames += 1
        self._write(data)
        return True

    def forget(self) -> None:
        """Repaint everything with the next frame: the window changed, or something else wrote into it."""
        self._shown = []

    def close(self) -> None:
        """Give up what is not written yet; the descriptor stays open."""
        self._unwatch()
        self._pending = b""

    def _write(self, data: bytes) -> None:
        if data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                pass
            except OSError:  # the terminal is gone; the command hears SIGHUP
                data = b""
        self._pending = data
        if data:
            self._watch()
        else:
            self._unwatch()

    def _watch(self) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_writer(self._fd, self._on_writable)

    def _unwatch(self) -> None:
        if self._loop is not None:
            self._loop.remove_writer(self._fd)
            self._loop = None

    def _on_writable(self) -> None:
        self._write(self._pending)


def write_within(fd: int, data: bytes, seconds: float) -> bool:
    """Write everything to a non-blocking descriptor, waiting at most that long each time it is full."""
    view = memoryview(data)
    while view:
        with contextlib.suppress(BlockingIOError):
            view = view[os.write(fd, view) :]
            continue
        if not select.select((), (fd,), (), seconds)[1]:
            return False
    return True
