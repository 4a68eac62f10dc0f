"""Starts the server that every client is measured against, and takes it down again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import pin
from benchmarks.measured import ROOT

SOURCES = Path(__file__).parent
TICKS_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: what it is, and one port per backend for every kind of replies that it has."""

    kind: str  # go | python
    description: str
    ports: dict[str, list[int]]
    ca: str  # the certificate to trust, a file
    process: subprocess.Popen[bytes] = field(repr=False)

    def asked(self) -> tuple[int, int]:
        """How often it was called since the last time, and how many octets were in the messages."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(b"\n")
        stdin.flush()
        account = json.loads(stdout.readline())
        return account["calls"], account["octets"]

    def cpu_s(self) -> float:
        """User and system seconds that it has taken so far; 0 on a system that does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS_S


class NoGo(Exception):
    """A Go program cannot be had here; the message says why."""


@contextmanager
def serving(kind: str, backends: int, cpu: int | None, scratch: Path) -> Iterator[Server]:
    """Run a server of ``kind`` with ``backends`` ports on core ``cpu`` for as long as the block lasts."""
    command = _go_command(scratch, backends) if kind == "go" else _python_command(backends)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, start_new_session=True, preexec_fn=pin(cpu))
    try:
        yield _greet(process, kind)
    finally:
        _end(process)


def build(name: str, into: Path) -> Path:
    """Build one of the Go programs next to this file; raises NoGo."""
    return go(("build", "-buildvcs=false", "-o", str(into / name), "."), into / name, cwd=SOURCES / name)


def go(arguments: tuple[str, ...], made: Path, cwd: Path | None = None) -> Path:
    """Run Go, one compiler at a time, and return what it has made."""
    program = shutil.which("go")
    if program is None:
        raise NoGo("there is no go on PATH")
    environment = os.environ | {"GOFLAGS": "-p=1", "GOBIN": str(made.parent)}
    done = subprocess.run((program, *arguments), cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise NoGo(f"go {arguments[0]} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return made


def _go_command(scratch: Path, backends: int) -> list[str]:
    ca = scratch / "ca.pem"
    return [str(build("echo_server", scratch)), "-ports", str(backends), "-procs", "1", "-ca", str(ca)]


def _python_command(backends: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.python_server", str(backends)]


def _greet(process: subprocess.Popen[bytes], kind: str) -> Server:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"the {kind} server ended before it said its ports (status {process.wait()})")
    hello = json.loads(line)
    return Server(kind, hello["description"], hello["ports"], hello["ca"], process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its stdin, which asks it to end; kill it if it does not."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
