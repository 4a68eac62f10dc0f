"""A process on a pseudo terminal, and what its terminal shows (through the terminal emulator pyte)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

WAIT_S = 20.0


class OnTerminal:
    """``python -m MODULE ARGS`` on a terminal of its own, stdout in a pipe, ``stdin`` from elsewhere if given."""

    cells = 1  # that a glyph of ambiguous width takes

    def __init__(self, module: str, *args: str, size: tuple[int, int] = (80, 24), stdin: int | None = None) -> None:
        self.master, self.slave = pty.openpty()
        self.raw = b""
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(*size)
        self.modes: list[Any] = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *args],
            stdin=self.slave if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
        )

    def __enter__(self) -> OnTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        os.close(self.slave)
        os.close(self.master)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def pump(self, seconds: float) -> bool:
        """Read what there is, waiting at most that long; False if nothing came."""
        if not select.select((self.master,), (), (), seconds)[0]:
            return False
        with contextlib.suppress(OSError):
            data = os.read(self.master, 1 << 16)
            self.raw += data
            if b"\x1b[6n" in data:  # where the cursor is after one glyph
                os.write(self.master, b"\x1b[1;%dR" % (1 + self.cells))
            self._stream.feed(data.replace(b"\x1b[?2026h", b"").replace(b"\x1b[?2026l", b""))
        return True

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Read until the condition holds; fails after a bounded time."""
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, f"never saw {what}:\n{self.text()}"
            self.pump(0.05)

    def shows(self, text: str) -> None:
        """Wait until the text is on the screen."""
        self.until(lambda: text in self.text(), text)

    def ended(self) -> int:
        """Wait for the end of the process; its exit status."""
        self.until(lambda: self.process.poll() is not None, "the end of the process")
        while self.pump(0.1):
            pass
        return self.process.returncode

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def suspend(self) -> None:
        """Ask it to stop, and wait until it has: what it is told to go on before that is lost."""
        self.kill(signal.SIGTSTP)
        status = Path(f"/proc/{self.process.pid}/stat")
        if status.exists():
            self.until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T", "it stopped")
        self.until(self.given_back, "the terminal given back")

    def output(self) -> str:
        """Return what it wrote to standard output."""
        assert self.process.stdout is not None
        return self.process.stdout.read().decode()

    def given_back(self) -> bool:
        """Whether the terminal is as it was: modes, main screen, cursor, wrapping, each as often taken as given."""
        return (
            termios.tcgetattr(self.slave) == self.modes
            and _last(self.raw, b"\x1b[?1049h", b"\x1b[?1049l")
            and _last(self.raw, b"\x1b[?25l", b"\x1b[?25h")
            and _last(self.raw, b"\x1b[?7l", b"\x1b[?7h")
        )


def _last(raw: bytes, taken: bytes, given: bytes) -> bool:
    """Whether what was switched one way was switched back after, as often."""
    return 0 < raw.count(taken) == raw.count(given) and raw.rfind(given) > raw.rfind(taken)
