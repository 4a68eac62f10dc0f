"""Shells as people have them: a real process on a terminal of its own, keys in, and what its screen shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from lbctl.clock import SystemClock

COLUMNS, LINES = 160, 50
PROMPT = "ready> "
PATIENCE_NS = 30_000_000_000


class Shell:
    """One shell and its screen."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._lines = 0

    def send(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def shown(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def until(self, *texts: str) -> list[str]:
        """Read on until the screen shows all of this."""
        end = SystemClock.now_ns() + PATIENCE_NS
        while not all(any(text in line for line in self.shown()) for text in texts):
            self._read()
            assert SystemClock.now_ns() < end, (texts, self.shown())
        return self.shown()

    def _read(self) -> None:
        ready, _, _ = select.select([self._descriptor], [], [], 0.5)
        if ready:
            data = os.read(self._descriptor, 65536)
            self._stream.feed(data)
            self._answer(data)

    def _answer(self, data: bytes) -> None:
        """What a terminal says when it is asked what it is, and where its cursor stands."""
        if b"\x1b[c" in data or b"\x1b[0c" in data:
            os.write(self._descriptor, b"\x1b[?62;c")
        if b"\x1b[6n" in data:
            os.write(self._descriptor, f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R".encode())

    def types(self, line: str, *texts: str) -> list[str]:
        """Type a line anew on an empty screen, and wait for what is to become of it; ``<`` is the arrow to the left."""
        self._lines += 1
        self.send(f"\x15\x0bclear; echo fre''sh-{self._lines}\r")  # the line is deleted, left and right
        while self.until(f"fresh-{self._lines}")[-1] != PROMPT.strip():
            self._read()
        self.send(line.replace("<", "\x1b[D"))
        return self.until(*texts)


@contextmanager
def shell(arguments: Sequence[str], home: Path) -> Iterator[Shell]:
    """Start a shell with its home here and this lbctl on its PATH, and hang up at the end; skip where there is none."""
    program = shutil.which(arguments[0])
    if program is None:
        pytest.skip(f"there is no {arguments[0]} on this machine")
    known = {name: value for name, value in os.environ.items() if name.startswith("LBCTL_")}
    env = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execve(program, list(arguments), env | known)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    try:
        user = Shell(descriptor)
        user.until(PROMPT.strip())
        yield user
    finally:
        os.close(descriptor)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def furnish(home: Path) -> None:
    """Put this lbctl on the PATH of the shells, and some files beside it."""
    for name in ("run one.json", "run2.json", "notes.txt"):
        (home / name).touch()
    (home / "bin").mkdir()
    script = home / "bin" / "lbctl"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={Path(__file__).parents[2]} exec {sys.executable} -m lbctl "$@"\n')
    script.chmod(0o755)
