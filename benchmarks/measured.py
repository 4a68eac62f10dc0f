"""Runs one client process to its end, pinned and watched, and says what it cost."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAUNCH = Path(__file__).with_name("launch.py")
ROWS, COLUMNS = 45, 140
ENTER_SCREEN = b"\x1b[?1049h"
LIMIT_S = 180.0  # a client that hangs is killed
OURS = ("LBCTL_", "ETCDCTL_", "GRPC_")  # settings of whoever runs this must not change what is measured


class ClientFailed(Exception):
    """A client ended with an error, or some of its calls failed: its figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a whole process took: user + system seconds and peak memory as the kernel counted them, and wall time."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    output: str
    drew: bool  # it opened a full screen on its terminal


def run(command: Sequence[str], *, cpu: int | None, terminal: bool) -> Cost:
    """Run ``command`` on core ``cpu``; with ``terminal`` its stdin and stderr are a 140x45 terminal of its own."""
    ours, theirs = _open_terminal() if terminal else os.pipe()
    reading, writing = os.pipe()
    where = ("-" if cpu is None else str(cpu), "0" if terminal else "-")
    process = subprocess.Popen(
        (sys.executable, "-I", "-S", str(LAUNCH), str(writing), *where, *command),
        stdin=theirs if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        env=_environment(),
        start_new_session=True,
        pass_fds=(writing,),
    )
    os.close(theirs)
    os.close(writing)
    talk = bytearray()
    drain = threading.Thread(target=_drain, args=(ours, talk))
    watchdog = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    drain.start()
    watchdog.start()
    output = process.communicate()[0].decode(errors="replace")
    watchdog.cancel()
    drain.join()
    os.close(ours)
    with os.fdopen(reading) as report:
        found = json.loads(report.readline() or '{"status": "no report of its launcher"}')
    if found["status"] != 0:
        words = _last_words(bytes(talk).decode(errors="replace") or output)
        raise ClientFailed(f"ended with {found['status']}: {words}")
    cpu_s = found["user_s"] + found["system_s"]
    return Cost(cpu_s, found["wall_s"], found["peak_kib"] / 1024, output, ENTER_SCREEN in talk)


def _open_terminal() -> tuple[int, int]:
    """Make a terminal and return its two ends: ours and the client's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return ours, theirs


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
