"""The terminal while a live view is on it: taken over, asked for its size, and always given back."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import termios
from typing import Any

from lbctl.leaving import forget, put_back
from lbctl.view.painter import write_within

# alternate screen, no cursor, no wrapping
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
LEAVE = b"\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_LFLAG, _IFLAG, _CC = 3, 0, 6
_GIVE_UP_S = 0.3  # how long to wait for a terminal that does not read

# Stands by in a session of its own, so that the terminal's signals do not reach it. If our end of the pipe closes
# before a line came, we died with the screen taken over.
# Stdin is the pipe, stderr the terminal (dash takes no descriptors beyond 9).
_WATCHDOG = r"""
saved=$(stty -g <&2 2>/dev/null) && echo ready && { read -r line || {
  stty "$saved" <&2
  printf '\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049llbctl was killed; terminal restored\r\n' >&2; }; }
"""


class Terminal:
    """One terminal opened anew, so that its non-blocking flag is ours alone; ``keys_fd`` is None without keys."""

    def __init__(self, out_fd: int, keys_fd: int | None) -> None:
        self.out_fd = out_fd
        self.keys_fd = keys_fd
        self._modes: list[Any] | None = None
        self._entered = False

    @classmethod
    def open(cls, keys: str) -> Terminal:
        """Open the terminal behind stderr, with keys from ``stdin``, from the terminal (``tty``), or ``none``.

        Raises OSError if there is no terminal.
        """
        flags = os.O_NOCTTY | os.O_NONBLOCK
        try:
            out_fd = os.open(os.ttyname(2), os.O_RDWR | flags)
        except OSError:
            out_fd = os.open("/dev/tty", os.O_RDWR | flags)
        if keys == "none":
            return cls(out_fd, None)
        return cls(out_fd, 0 if keys == "stdin" else out_fd)

    def enter(self) -> None:
        """Take the terminal over, or once more after someone else changed it.

        Ctrl-C stays a signal, Ctrl-S does not freeze anything, keys typed before are kept.
        """
        if self.keys_fd is not None:
            if not self._entered:
                self._modes = termios.tcgetattr(self.keys_fd)
            termios.tcsetattr(self.keys_fd, termios.TCSANOW, _key_modes(self.keys_fd))
        if not self._entered:
            atexit.register(self.leave)
            put_back(self.leave)
        self._entered = True
        write_within(self.out_fd, ENTER, _GIVE_UP_S)

    def leave(self) -> None:
        """Give the terminal back; safe to call at any time and any number of times."""
        if not self._entered:
            return
        with contextlib.suppress(OSError):
            write_within(self.out_fd, LEAVE, _GIVE_UP_S)
        if self.keys_fd is not None and self._modes is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self.keys_fd, termios.TCSANOW, self._modes)
        self._entered = False  # only now: a signal may come in between, after which the process leaves at once
        atexit.unregister(self.leave)
        forget(self.leave)

    def close(self) -> None:
        """Leave, and close what was opened."""
        self.leave()
        os.close(self.out_fd)

    @property
    def entered(self) -> bool:
        return self._entered

    def size(self) -> tuple[int, int]:
        """Columns and lines now."""
        try:
            size = os.get_terminal_size(self.out_fd)
        except OSError:
            return 80, 24
        return size.columns or 80, size.lines or 24

    def foreground(self) -> bool:
        """Whether this process may change the terminal's modes without being stopped for it."""
        try:
            return os.tcgetpgrp(self.out_fd) == os.getpgrp()
        except OSError:
            return False

    def say(self, text: str) -> None:
        """Write text to the terminal as it is now."""
        with contextlib.suppress(OSError):
            write_within(self.out_fd, text.replace("\n", "\r\n").encode("utf-8", "replace"), _GIVE_UP_S)


def _key_modes(fd: int) -> list[Any]:
    modes: list[Any] = termios.tcgetattr(fd)
    modes[_LFLAG] &= ~(termios.ECHO | termios.ICANON)
    modes[_IFLAG] &= ~termios.IXON
    modes[_CC][termios.VMIN], modes[_CC][termios.VTIME] = 1, 0
    return modes


class Watchdog:
    """A sleeping shell that restores the terminal if this process dies without doing so (SIGKILL, a crash in C).

    A shell and not a fork: it starts in two milliseconds at any time, also next to running threads.
    """

    def __init__(self, terminal_fd: int) -> None:
        try:
            self._child: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHDOG],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=terminal_fd,
                start_new_session=True,
            )
        except OSError:  # no shell: then without
            self._child = None
        if self._child is not None and self._child.stdout is not None:
            self._child.stdout.read(1)  # it has seen the modes to restore
            self._child.stdout.close()
            put_back(self.dismiss)  # after the terminal, which is taken later

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def dismiss(self) -> None:
        """All is well: let it go."""
        child, self._child = self._child, None
        forget(self.dismiss)
        if child is None or child.stdin is None:
            return
        with contextlib.suppress(OSError):
            child.stdin.write(b"off\n")
            child.stdin.flush()
        with contextlib.suppress(OSError):
            child.stdin.close()
        child.wait()
