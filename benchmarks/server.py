"""Starts the server that every client is measured against, and takes it down again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measured import ROOT, pin

HEALTH = "grpc.health.v1.Health/Check"
ECHO = "lbctl.bench.Echo/Say"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: what it is, and one port per backend."""

    kind: str  # go | python
    description: str
    ports: tuple[int, ...]


class NoGoServer(Exception):
    """The Go server cannot be had here; the message says why."""


@contextmanager
def serving(kind: str, backends: int, cpu: int | None) -> Iterator[Server]:
    """Run a server of ``kind`` with ``backends`` ports on core ``cpu`` for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="lbctl-bench-") as scratch:
        command = _go_command(Path(scratch), backends) if kind == "go" else _python_command(backends)
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, cwd=ROOT, start_new_session=True, preexec_fn=pin(cpu)
        )
        try:
            yield _greet(process, kind)
        finally:
            _end(process)


def _go_command(scratch: Path, backends: int) -> list[str]:
    go = shutil.which("go")
    if go is None:
        raise NoGoServer("there is no go on PATH")
    binary = scratch / "echo_server"
    source = Path(__file__).with_name("echo_server")
    built = subprocess.run(
        [go, "build", "-buildvcs=false", "-o", str(binary), "."], cwd=source, capture_output=True, text=True
    )
    if built.returncode != 0:
        raise NoGoServer(f"go build failed: {built.stderr.strip().splitlines()[-1]}")
    return [str(binary), "-ports", str(backends), "-procs", "1"]


def _python_command(backends: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.python_server", str(backends)]


def _greet(process: subprocess.Popen[bytes], kind: str) -> Server:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"the {kind} server ended before it said its ports (status {process.wait()})")
    hello = json.loads(line)
    return Server(kind, hello["description"], tuple(hello["ports"]))


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
