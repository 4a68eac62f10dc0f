"""The programs of others that lbctl is compared with: how each is had, started, and read.

None is required: one that cannot be had here is left out, and said. Each has the configuration that is best for it
with the same number of calls in flight.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.wrappers_pb2 import DESCRIPTOR, BytesValue

from benchmarks.client import Client, Latency, Task
from benchmarks.measured import ClientFailed, Cost
from benchmarks.scenario import METHOD, TIMEOUT_S
from benchmarks.server import SOURCES, NoGo, build, go
from lbctl.wire.request import Request

TIMEOUT_NS: Final = TIMEOUT_S * 1_000_000_000
GHZ: Final = "github.com/bojand/ghz/cmd/ghz"
GHZ_VERSION: Final = "v0.120.0"  # fortio's is in fortio_runner/go.mod


_ASKED: Final = Request(f"/{METHOD}", b"", "", TIMEOUT_NS)
_SENT: Final = {name.decode(): value.decode() for name, value in (*_ASKED.headers(), *_ASKED.varying(TIMEOUT_NS))}
# What lbctl sends with every call, and what the protocol demands. A deadline is work for the server: a timer.
AS_LBCTL: Final = {name: value for name, value in _SENT.items() if not name.startswith(":")}
BARE: Final = {name: AS_LBCTL[name] for name in ("te", "content-type")}


def described() -> FileDescriptorSet:
    """What reflection would say of METHOD: both its messages are BytesValue."""
    files = FileDescriptorSet()
    DESCRIPTOR.CopyToProto(files.file.add())
    package, _, service = METHOD.partition("/")[0].rpartition(".")
    echo = files.file.add(name="echo.proto", package=package, syntax="proto3", dependency=[DESCRIPTOR.name])
    value = f".{BytesValue.DESCRIPTOR.full_name}"
    echo.service.add(name=service).method.add(name=METHOD.rpartition("/")[2], input_type=value, output_type=value)
    return files


class H2load(Client):
    """Counts HTTP status, not gRPC status. Its latencies come from a log, in a run of their own."""

    logged = 0.2  # of the calls

    def __init__(self, name: str, note: str, headers: Mapping[str, str]) -> None:
        self.name = name
        self.note = note
        self._headers = [word for field in headers.items() for word in ("-H", ": ".join(field))]

    def missing(self) -> str:
        return "" if shutil.which("h2load") else "not on PATH (Debian: apt-get install nghttp2-client)"

    def version(self) -> str:
        said = subprocess.run(("h2load", "--version"), capture_output=True, text=True).stdout
        return said.strip().rpartition("/")[2]

    def command(self, task: Task, calls: int) -> Sequence[str]:
        scheme = "https" if task.scenario.secure else "http"
        return (
            *("h2load", "-t", "1", "-c", str(task.sockets), "-m", str(task.per_socket), "-n", str(calls)),
            *(*self._headers, "-d", str(task.framed)),
            f"{scheme}://127.0.0.1:{task.ports[0]}/{METHOD}",
        )

    def latency_command(self, task: Task, calls: int) -> Sequence[str]:
        task.log.unlink(missing_ok=True)
        first, *rest = self.command(task, calls)
        return (first, f"--log-file={task.log}", *rest)

    def check(self, cost: Cost, calls: int) -> None:
        found = re.search(r"(\d+) succeeded", cost.output)
        if found is None or int(found[1]) != calls:
            raise ClientFailed(f"h2load: {found[0] if found else 'no result'}, {calls} wanted")

    def latency(self, cost: Cost, task: Task) -> Latency:
        times = sorted(int(line.split("\t")[2]) for line in task.log.read_text().splitlines())
        return Latency(times[len(times) // 2] / 1e3, times[len(times) * 99 // 100] / 1e3)


class Ghz(Client):
    """Its status is 0 also when calls fail."""

    name = "ghz"
    share = 0.4
    note = (
        "Go. As many connections, all to one of the backends: it takes one address. Binary data, no templates, the "
        "method from a descriptor file, GOMAXPROCS 1; it decodes replies and keeps a record of each call."
    )

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._program = Path()

    def missing(self) -> str:
        try:
            self._program = go(("install", "-buildvcs=false", f"{GHZ}@{GHZ_VERSION}"), self._scratch / "ghz")
        except NoGo as error:
            return str(error)
        return ""

    def version(self) -> str:
        return GHZ_VERSION

    def _described(self) -> Path:
        """The description of the method, as a file."""
        path = self._scratch / "echo.protoset"
        if not path.exists():
            path.write_bytes(described().SerializeToString())
        return path

    def command(self, task: Task, calls: int) -> Sequence[str]:
        trust = ("--cacert", task.ca) if task.scenario.secure else ("--insecure",)
        return (
            *(
                str(self._program),
                *trust,
                "--protoset",
                str(self._described()),
                "--call",
                METHOD,
                "-B",
                str(task.delimited),
                "--skipFirst",
                "0",
            ),
            *("--connections", str(task.sockets), "-c", str(task.in_flight), "-n", str(calls), "--cpus", "1"),
            *("--timeout", f"{TIMEOUT_S}s"),
            *("--disable-template-functions", "--disable-template-data", "-O", "json"),
            f"127.0.0.1:{task.ports[0]}",
        )

    def check(self, cost: Cost, calls: int) -> None:
        codes = json.loads(cost.output)["statusCodeDistribution"]
        if codes != {"OK": calls}:
            raise ClientFailed(f"ghz: {codes}, {calls} wanted")

    def latency(self, cost: Cost, task: Task) -> Latency:
        found = {row["percentage"]: row["latency"] / 1e6 for row in json.loads(cost.output)["latencyDistribution"]}
        return Latency(found[50], found[99])


class Fortio(Client):
    """Started by a small program of ours, see fortio_runner/main.go."""

    name = "fortio"
    share = 0.6
    more_octets = 20
    note = (
        "Go. As many connections, all to one of the backends: it takes one address. Its own ping method, for which it "
        "has generated code; the message is some 12 bytes longer, and there is no deadline. GOMAXPROCS 1, as it has "
        "one core."
    )

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._program = Path()

    def missing(self) -> str:
        try:
            self._program = build("fortio_runner", self._scratch)
        except NoGo as error:
            return str(error)
        return ""

    def version(self) -> str:
        text = (SOURCES / "fortio_runner" / "go.mod").read_text()
        found = re.search(r"fortio\.org/fortio (v\S+)", text)
        assert found is not None
        return found[1]

    def command(self, task: Task, calls: int) -> Sequence[str]:
        trust = ("-cacert", task.ca) if task.scenario.secure else ()
        return (
            *(str(self._program), *trust, "-n", str(calls), "-c", str(task.sockets), "-s", str(task.per_socket)),
            *("-payload-size", str(task.scenario.size), f"127.0.0.1:{task.ports[0]}"),
        )

    def check(self, cost: Cost, calls: int) -> None:
        codes = json.loads(cost.output)["RetCodes"]
        if codes != {"SERVING": calls}:
            raise ClientFailed(f"fortio: {codes}, {calls} wanted")

    def latency(self, cost: Cost, task: Task) -> Latency:
        rows = json.loads(cost.output)["DurationHistogram"]["Percentiles"]
        found = {row["Percentile"]: row["Value"] * 1e3 for row in rows}
        return Latency(found[50], found[99])


class Aio(Client):
    """What a load generator would be that is written with grpcio."""

    name = "grpc.aio"
    share = 0.1
    note = "grpcio in Python. As many channels to each backend, taken in turn; replies are not decoded."

    def missing(self) -> str:
        return "" if importlib.util.find_spec("grpc") else "no grpcio in this Python"

    def version(self) -> str:
        return importlib.metadata.version("grpcio")

    def command(self, task: Task, calls: int) -> Sequence[str]:
        return (
            *(sys.executable, "-m", "benchmarks.aio_client", METHOD, str(task.body), str(calls)),
            *(str(task.in_flight), str(task.scenario.connections), task.ca if task.scenario.secure else "-"),
            *(str(port) for port in task.ports),
        )

    def latency(self, cost: Cost, task: Task) -> Latency:
        return Latency(**json.loads(cost.output)["latency_ms"])
