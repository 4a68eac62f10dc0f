"""The clients that are compared: lbctl as a user starts it, its engine alone, and the peers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import lbctl
from benchmarks.client import Client, Latency, Task
from benchmarks.measured import ClientFailed, Cost
from benchmarks.peers import AS_LBCTL, BARE, Aio, Fortio, Ghz, H2load
from benchmarks.scenario import METHOD, TIMEOUT_S

SUBJECT = "lbctl"


class Lbctl(Client):
    """The whole program."""

    name = SUBJECT
    terminal = True
    note = "`lbctl hammer --policy smooth_wrr` as a user starts it, with the live view on a 140x45 terminal."

    def missing(self) -> str:
        return ""

    def version(self) -> str:
        return lbctl.__version__

    def command(self, task: Task, calls: int) -> Sequence[str]:
        backends = ",".join(f"127.0.0.1:{port}" for port in task.ports)
        trust = ("--tls-ca", task.ca) if task.scenario.secure else ()
        connections = task.scenario.connections
        return (
            *(sys.executable, "-m", "lbctl", "hammer", "bench", METHOD, "--backends", backends, *trust),
            *(("--connections", str(connections)) if connections > 1 else ()),
            *("--binary-file", str(task.body), "-n", str(calls), "-c", str(task.in_flight), "-t", f"{TIMEOUT_S}s"),
            *("--policy", "smooth_wrr", "-o", "json"),
        )

    def check(self, cost: Cost, calls: int) -> None:
        run = json.loads(cost.output)
        if (run["ok"], run["requests"]) != (calls, calls):
            raise ClientFailed(f"lbctl: {run['ok']} of {run['requests']} calls were OK, {calls} wanted: {run['codes']}")
        if self.terminal and not cost.drew:
            raise ClientFailed("lbctl drew no live view on its terminal")

    def latency(self, cost: Cost, task: Task) -> Latency:
        found = json.loads(cost.output)["latency_ms"]
        return Latency(found["p50"], found["p99"])


class Engine(Client):
    """What is left without the command line and the screen."""

    name = "lbctl engine"
    note = "the engine alone: the same policy and histograms, no command line, no view."

    def missing(self) -> str:
        return ""

    def version(self) -> str:
        return lbctl.__version__

    def command(self, task: Task, calls: int) -> Sequence[str]:
        trust = ("--ca", task.ca) if task.scenario.secure else ()
        return (
            *(sys.executable, "-m", "benchmarks.engine_client", METHOD, str(task.body), str(calls)),
            *(str(task.in_flight), *(str(port) for port in task.ports), *trust),
            *("--connections", str(task.scenario.connections)),
        )

    def latency(self, cost: Cost, task: Task) -> Latency:
        return Latency(**json.loads(cost.output)["latency_ms"])


H2LOAD_NOTE = (
    "C. The same request with the same headers. As many connections, all to one of the backends: it knows no others. "
    "It looks at HTTP status alone, and keeps no deadline. p50 and p99 are those of a run with a log of every call, "
    "which is not in the other figures."
)
BARE_NOTE = (
    "the same without grpc-timeout and grpc-accept-encoding: each call is less work for the server, which keeps a "
    "timer for every deadline."
)
NAMES = (Lbctl.name, Engine.name, "h2load", "h2load, bare", Ghz.name, Fortio.name, Aio.name)


def clients(scratch: Path, names: Sequence[str] = NAMES) -> list[Client]:
    """Every client of these names, in the order of the tables; programs that have to be built go to ``scratch``."""
    h2load, bare = H2load("h2load", H2LOAD_NOTE, AS_LBCTL), H2load("h2load, bare", BARE_NOTE, BARE)
    known = (Lbctl(), Engine(), h2load, bare, Ghz(scratch), Fortio(scratch), Aio())
    return [client for client in known if client.name in names]
