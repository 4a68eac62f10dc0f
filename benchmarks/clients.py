"""The clients that engine.py compares: how each is started, and how to tell that all its calls succeeded."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measured import ClientFailed, Cost
from benchmarks.server import Server


@dataclass(frozen=True, slots=True)
class Task:
    """What every client has to do: the same bytes to the same method, with the same number of calls in flight."""

    server: Server
    method: str  # pkg.Svc/Method
    body: Path  # the request message, serialized
    framed: Path  # the same behind gRPC's five-byte prefix
    in_flight: int


@dataclass(frozen=True, slots=True)
class Client:
    """One row of the table. ``check`` raises ClientFailed unless the run made exactly so many successful calls."""

    name: str
    note: str
    missing: Callable[[], str]  # why it cannot run here; "" when it can
    command: Callable[[Task, int], Sequence[str]]
    check: Callable[[Cost, int], None]
    terminal: bool = False
    share: float = 1.0  # of the calls that the fastest client makes, so that slow ones take no longer


def _lbctl(task: Task, calls: int) -> Sequence[str]:
    backends = ",".join(f"127.0.0.1:{port}" for port in task.server.ports)
    return (
        *(sys.executable, "-m", "lbctl", "hammer", "bench", task.method, "--backends", backends),
        *("--binary-file", str(task.body), "-n", str(calls), "-c", str(task.in_flight)),
        *("--policy", "smooth_wrr", "-o", "json"),
    )


def _check_lbctl(cost: Cost, calls: int) -> None:
    run = json.loads(cost.output)
    if (run["ok"], run["requests"]) != (calls, calls):
        raise ClientFailed(f"lbctl: {run['ok']} of {run['requests']} calls were OK, {calls} wanted: {run['codes']}")


def _check_live(cost: Cost, calls: int) -> None:
    _check_lbctl(cost, calls)
    if not cost.drew:
        raise ClientFailed("lbctl drew no live view on its terminal")


def _h2load(task: Task, calls: int) -> Sequence[str]:
    backends = len(task.server.ports)
    return (
        *("h2load", "-t", "1", "-c", str(backends), "-m", str(task.in_flight // backends), "-n", str(calls)),
        *("-H", "content-type: application/grpc", "-H", "te: trailers", "-d", str(task.framed)),
        f"http://127.0.0.1:{task.server.ports[0]}/{task.method}",
    )


def _check_h2load(cost: Cost, calls: int) -> None:
    found = re.search(r"(\d+) succeeded", cost.output)
    if found is None or int(found[1]) != calls:
        raise ClientFailed(f"h2load: {found[0] if found else 'no result'}, {calls} wanted")


def _engine(task: Task, calls: int) -> Sequence[str]:
    return _script("benchmarks.engine_client", task, calls)


def _aio(task: Task, calls: int) -> Sequence[str]:
    return _script("benchmarks.aio_client", task, calls)


def _script(module: str, task: Task, calls: int) -> Sequence[str]:
    """Call a client of ours; it ends with an error unless every call was OK."""
    ports = [str(port) for port in task.server.ports]
    return (sys.executable, "-m", module, task.method, str(task.body), str(calls), str(task.in_flight), *ports)


CLIENTS = (
    Client(
        "lbctl",
        "hammer --policy smooth_wrr, live view on a 140x45 terminal",
        missing=lambda: "",
        command=_lbctl,
        check=_check_live,
        terminal=True,
    ),
    Client(
        "lbctl, no view",
        "the same without a terminal",
        missing=lambda: "",
        command=_lbctl,
        check=_check_lbctl,
    ),
    Client(
        "lbctl engine",
        "the engine alone: same policy, no command line, no view",
        missing=lambda: "",
        command=_engine,
        check=lambda cost, calls: None,
    ),
    Client(
        "h2load",
        "as many connections to one of the backends: it has no notion of several",
        missing=lambda: "" if shutil.which("h2load") else "not on PATH (Debian: apt-get install nghttp2-client)",
        command=_h2load,
        check=_check_h2load,
    ),
    Client(
        "grpc.aio",
        "one channel per backend, round robin",
        missing=lambda: "" if importlib.util.find_spec("grpc") else "no grpcio in this Python",
        command=_aio,
        check=lambda cost, calls: None,
        share=0.1,
    ),
)
