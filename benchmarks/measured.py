"""Runs one client process to its end, pinned and watched, and says what it cost."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 45, 140
ENTER_SCREEN = b"\x1b[?1049h"
LIMIT_S = 180.0  # a client that hangs is killed
OURS = ("LBCTL_", "ETCDCTL_", "GRPC_")  # settings of whoever runs this must not change what is measured


class ClientFailed(Exception):
    """A client ended with an error, or some of its calls failed: its figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a whole process took: user + system seconds as the kernel counted them, and wall time."""

    cpu_s: float
    wall_s: float
    output: str
    drew: bool  # it opened a full screen on its terminal


def run(command: Sequence[str], *, cpu: int | None, terminal: bool) -> Cost:
    """Run ``command`` on core ``cpu``; with ``terminal`` its stdin and stderr are a 140x45 terminal of its own."""
    ours, theirs = _open_terminal() if terminal else os.pipe()
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=theirs if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        env=_environment(),
        start_new_session=True,
        preexec_fn=pin(cpu, theirs if terminal else None),
    )
    os.close(theirs)
    talk = bytearray()
    drain = threading.Thread(target=_drain, args=(ours, talk))
    watchdog = threading.Timer(LIMIT_S, process.kill)
    drain.start()
    watchdog.start()
    output, cpu_s = _finish(process)
    wall_s = time.perf_counter() - began
    watchdog.cancel()
    drain.join()
    os.close(ours)
    if process.returncode != 0:
        raise ClientFailed(
            f"ended with {process.returncode}: {_last_words(bytes(talk).decode(errors='replace') or output)}"
        )
    return Cost(cpu_s, wall_s, output, ENTER_SCREEN in talk)


def _finish(process: subprocess.Popen[bytes]) -> tuple[str, float]:
    """Read stdout to its end and reap the process here, because only wait4 tells its CPU time apart from others'."""
    assert process.stdout is not None
    with process.stdout as stdout:
        output = stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, usage.ru_utime + usage.ru_stime


def _open_terminal() -> tuple[int, int]:
    """Make a terminal and return its two ends: ours and the client's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return ours, theirs


def pin(cpu: int | None, terminal: int | None = None) -> Callable[[], None]:
    """Return what a child does after fork: stay on one core, and own its terminal so that it is in the foreground."""

    def prepare() -> None:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    return prepare


def _last_words(text: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return " | ".join(line.strip() for line in plain.splitlines() if line.strip())[-300:]


def _drain(fd: int, into: bytearray) -> None:
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:  # Linux says EIO when the last process has left a terminal
            return
        if not data:
            return
        into += data


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k not in ("CI", "NO_COLOR")}
    return kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
