"""Runs the clients over the scenarios, interleaved, and works out what a call cost each of them.

Every round runs every client once in every scenario, in a rotating order, because single runs on a shared machine
differ by tens of percent. A client runs as a process of its own, twice, with few and with many calls, and the
difference is what the calls cost: neither start-up nor shutdown is in it. CPU is user + system time from the kernel,
not the client's own account.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import grpc
from google.protobuf.wrappers_pb2 import BytesValue

from benchmarks.client import Client, Task
from benchmarks.clients import NAMES, clients
from benchmarks.figures import Figure, Result
from benchmarks.machine import Cores
from benchmarks.measured import ClientFailed, Cost, run
from benchmarks.scenario import BACKENDS, CALLS, IN_FLIGHT, METHOD, Scenario
from benchmarks.server import NoGo, Server, serving

FEWER: Final = 20  # the few calls are so many times fewer than the many


@dataclass(frozen=True, slots=True)
class Matrix:
    """What to run: ``scale`` times the usual number of calls, ``server`` is go, python, or auto: go where it is."""

    scenarios: Sequence[Scenario]
    rounds: int
    names: Sequence[str] = NAMES
    scale: float = 1.0
    server: str = "auto"


def measure(matrix: Matrix, cores: Cores) -> Result:
    """Run everything; raises NoGo where only the Go server will do and there is none."""
    with TemporaryDirectory(prefix="lbctl-bench-") as directory:
        scratch = Path(directory)
        with _server(matrix.server, cores, scratch) as server:
            settings = {"rounds": matrix.rounds, "scale": matrix.scale, "in_flight": IN_FLIGHT, "backends": BACKENDS}
            result = Result(server.description, cores, settings)
            able = _able(clients(scratch, matrix.names), result)
            cells = [scenario for scenario in matrix.scenarios if _served(scenario, server, result)]
            tasks = [_task(server, scenario, scratch) for scenario in cells]
            for number in range(matrix.rounds):
                for task in tasks:
                    shift = number % max(1, len(able))
                    for client in able[shift:] + able[:shift]:
                        _add(task, client, matrix.scale, result, f"{number + 1}/{matrix.rounds}")
    return result


@contextmanager
def _server(kind: str, cores: Cores, scratch: Path) -> Iterator[Server]:
    try:
        with serving("go" if kind == "auto" else kind, BACKENDS, cores.server, scratch) as server:
            yield server
    except NoGo as error:
        if kind == "go":
            raise
        say(f"{error}: using the Python stand-in server, whose speed bounds every client's throughput")
        with serving("python", BACKENDS, cores.server, scratch) as server:
            yield server


def _able(wanted: list[Client], result: Result) -> list[Client]:
    """The clients that can run here."""
    able = []
    for client in wanted:
        reason = client.missing()
        if reason:
            result.left_out[client.name] = reason
            continue
        able.append(client)
        result.notes[client.name] = client.note
        result.versions[client.name] = client.version()
    return able


def _served(scenario: Scenario, server: Server, result: Result) -> bool:
    if scenario.replies in server.ports:
        return True
    result.left_out[str(scenario)] = f"not with {server.description}"
    return False


def _task(server: Server, scenario: Scenario, scratch: Path) -> Task:
    """Write the message down for every client, and make sure that the call works before anything is timed."""
    message = BytesValue(value=b"x" * scenario.size).SerializeToString()
    body, framed, delimited = (scratch / f"{form}-{scenario.size}" for form in ("body", "framed", "delimited"))
    body.write_bytes(message)
    framed.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
    # A message with a single field of octets, number 1, begins with 0x0a: as a field around it that is its length.
    delimited.write_bytes(BytesValue(value=message).SerializeToString()[1:])
    task = Task(scenario, server, body, framed, delimited, scratch / "log")
    for port in task.ports:
        with _channel(port, task) as channel:
            channel.unary_unary(f"/{METHOD}", None, None)(message, timeout=10, wait_for_ready=True)
    server.asked()
    return task


def _channel(port: int, task: Task) -> grpc.Channel:
    address = f"127.0.0.1:{port}"
    if not task.scenario.secure:
        return grpc.insecure_channel(address)
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(Path(task.ca).read_bytes()))


def _add(task: Task, client: Client, scale: float, result: Result, where: str) -> None:
    """Measure one client once; a client that fails is left out of the scenario from then on."""
    key = f"{client.name}: {task.scenario}"
    if key in result.left_out:
        return
    cell = result.figures.setdefault(task.scenario, {})
    try:
        figure = _figure(task, client, int(CALLS[task.scenario.size] * scale * client.share), result.cores.client)
    except ClientFailed as error:
        result.left_out[key], result.failed = str(error), True
        cell.pop(client.name, None)
        say(f"{where}  {key}: {error}")
        return
    cell.setdefault(client.name, []).append(figure)
    say(f"{where}  {task.scenario!s:<44}{client.name:<14}{figure.cpu_us:8.2f} us{figure.rps:11,.0f} calls/s")


def _figure(task: Task, client: Client, calls: int, cpu: int | None) -> Figure:
    many = max(calls, FEWER * task.in_flight)
    few = many // FEWER
    low = _run(client.command(task, few), task, client, few, cpu)
    before = task.server.cpu_s()
    high = _run(client.command(task, many), task, client, many, cpu)
    server_s = task.server.cpu_s() - before
    latest = high
    if client.logged:
        some = int(many * client.logged)
        latest = _run(client.latency_command(task, some), task, client, some, cpu)
    latency = client.latency(latest, task)
    if high.cpu_s <= low.cpu_s or high.wall_s <= low.wall_s:
        raise ClientFailed(f"{few} calls took as long as {many}: something else runs here, or they are too few")
    return Figure(
        cpu_us=(high.cpu_s - low.cpu_s) / (many - few) * 1e6,
        rps=(many - few) / (high.wall_s - low.wall_s),
        server_us=server_s / many * 1e6,
        peak_mib=high.peak_mib,
        p50_ms=latency.p50,
        p99_ms=latency.p99,
    )


def _run(command: Sequence[str], task: Task, client: Client, calls: int, cpu: int | None) -> Cost:
    """Run a client, and hear from both sides that it made these calls with this message and no others."""
    task.server.asked()
    cost = run(command, cpu=cpu, terminal=client.terminal)
    client.check(cost, calls)
    seen, octets = task.server.asked()
    least = calls * task.scenario.size
    if seen != calls or not least <= octets <= least + calls * client.more_octets:
        raise ClientFailed(f"the server saw {seen} calls with {octets} octets, not {calls} with {least}")
    return cost


def say(line: str) -> None:
    """Tell whoever waits how far it is."""
    print(line, file=sys.stderr, flush=True)
