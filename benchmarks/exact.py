"""Runs lbctl's open loop, as a user starts it, in front of the exact server."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import Cores, pin
from benchmarks.measured import ROOT, ClientFailed, run


@dataclass(slots=True)
class Exact:
    """A running exact server; the last three are known once it has ended."""

    port: int
    replies: int = 0
    late_us: dict[str, float] = field(default_factory=dict)  # of its writes: p50, p99, max
    arrivals: array[int] = field(default_factory=lambda: array("q"))  # ns


@contextmanager
def serving(delay_us: float, cores: Cores, stall_ms: tuple[int, int] = (0, 0)) -> Iterator[Exact]:
    """Run the server for as long as the block lasts; it stalls so long after the first request, for so long."""
    with TemporaryDirectory(prefix="lbctl-bench-") as directory:
        record = Path(directory) / "arrivals"
        command = (
            *(sys.executable, "-m", "benchmarks.exact_server", str(delay_us), "--record", str(record)),
            *("--stall", f"{stall_ms[0]},{stall_ms[1]}"),
        )
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, preexec_fn=pin(cores.server))
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            try:
                exact = Exact(json.loads(process.stdout.readline())["port"])
                yield exact
                process.stdin.close()
                summary = json.loads(process.stdout.readline())
                exact.replies, exact.late_us = summary["replies"], summary["late_us"]
                process.wait(10)
                exact.arrivals.frombytes(record.read_bytes())
            finally:
                process.kill()
                process.wait()


def hammer(exact: Exact, *options: str) -> tuple[str, ...]:
    """The command of a run against the server, as a user types it."""
    return (
        *(sys.executable, "-m", "lbctl", "hammer", "bench", "bench.Exact/Answer"),
        *("--backends", f"127.0.0.1:{exact.port}", "--binary-file", "/dev/null", "-o", "json", *options),
    )


def open_loop(exact: Exact, rps: int, calls: int, cores: Cores) -> dict[str, dict[str, float]]:
    """Run `lbctl hammer -r` with its live view, and return its own account: ``latency_ms`` and ``start_ms``."""
    command = hammer(exact, "-r", str(rps), "-n", str(calls))
    found = json.loads(run(command, cpu=cores.client, terminal=True).output)
    if found["ok"] != calls:
        raise ClientFailed(f"lbctl: {found['ok']} of {calls} calls were OK: {found['codes']}")
    return {"latency_ms": found["latency_ms"], "start_ms": found["generator"]["start_ms"]}


def probe(exact: Exact, calls: int, cores: Cores) -> dict[str, float]:
    """The round trip's min, p50 and p99 of a bare socket, one call at a time, in microseconds."""
    command = (sys.executable, "-m", "benchmarks.exact_probe", str(exact.port), str(calls))
    found: dict[str, float] = json.loads(run(command, cpu=cores.client, terminal=False).output)
    return found
