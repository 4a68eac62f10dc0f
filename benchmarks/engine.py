"""What a call costs: `lbctl hammer` against h2load and grpc.aio, in front of the same server.

    python -m benchmarks.engine [--calls 300000] [--rounds 5] [--size 0] [--json]

The server (benchmarks/echo_server, grpc-go) has one core and the client the other. Every round runs every client
once, in a rotating order, because single runs on a shared machine differ by tens of percent; the figures are medians
over the rounds and the ratios are medians of the ratios within a round. A client runs as the user would start it, as
a process of its own; each round runs it twice, with few and with many calls, and the difference is what the
calls cost: neither start-up nor shutdown is in it. CPU is user + system time from the kernel, not the
client's own account.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import grpc
from google.protobuf.wrappers_pb2 import BytesValue

from benchmarks.clients import CLIENTS, Client, Task
from benchmarks.measured import ClientFailed, run
from benchmarks.server import ECHO, HEALTH, NoGoServer, Server, serving

SUBJECT = "lbctl"
BUDGETS = {"h2load": 2.0}  # the most CPU per call that lbctl may take, as a multiple of a peer's


@dataclass(frozen=True, slots=True)
class Figure:
    """One client in one round."""

    cpu_us: float  # per call
    rps: float
    start_s: float  # CPU before and after the calls


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core each side has; None where the system cannot pin or has only one."""

    client: int | None
    server: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was measured, and what was not and why."""

    server: Server
    cores: Cores
    settings: dict[str, int]
    figures: dict[str, list[Figure]]
    left_out: dict[str, str]
    failed: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; status 1 when a client that is here failed."""
    args = _arguments(argv)
    cores = _cores()
    try:
        result = _measure("go" if args.server == "auto" else args.server, args, cores)
    except NoGoServer as error:
        if args.server == "go":
            _say(f"{error}; nothing measured")
            return 1
        _say(f"{error}: using the Python stand-in server, whose speed bounds every client's throughput")
        result = _measure("python", args, cores)
    print(json.dumps(_document(result), indent=1) if args.json else "\n".join(_table(result)))
    return 1 if result.failed else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=300_000, help="calls of the fast clients in a round (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything runs, interleaved (%(default)s)")
    parser.add_argument("--in-flight", type=int, default=96, help="calls in flight over all backends (%(default)s)")
    parser.add_argument("--backends", type=int, default=3, help="ports that the server listens on (%(default)s)")
    parser.add_argument("--size", type=int, default=0, help="bytes in a message; 0 calls health's Check (%(default)s)")
    parser.add_argument(
        "--server", choices=("auto", "go", "python"), default="auto", help="auto: go where there is one"
    )
    names = [client.name for client in CLIENTS]
    parser.add_argument("--client", action="append", choices=names, help="only this client; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    return parser.parse_args(argv)


def _cores() -> Cores:
    """Give the client the first core, and the last one to the server and to this process, which only waits."""
    if not hasattr(os, "sched_setaffinity"):
        return Cores(None, None)
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 2:
        return Cores(None, None)
    os.sched_setaffinity(0, {have[-1]})
    return Cores(have[0], have[-1])


def _measure(kind: str, args: argparse.Namespace, cores: Cores) -> Result:
    chosen = [client for client in CLIENTS if not args.client or client.name in args.client]
    left_out = {client.name: reason for client in chosen if (reason := client.missing())}
    figures: dict[str, list[Figure]] = {}
    clients = [client for client in chosen if client.name not in left_out]
    with (
        tempfile.TemporaryDirectory(prefix="lbctl-bench-") as scratch,
        serving(kind, args.backends, cores.server) as server,
    ):
        task = _task(server, Path(scratch), args.size, args.in_flight)
        failed = _rounds(task, clients, args, cores, figures, left_out)
    settings = {key: getattr(args, key) for key in ("calls", "rounds", "in_flight", "backends", "size")}
    return Result(server, cores, settings, figures, left_out, failed)


def _rounds(
    task: Task,
    clients: list[Client],
    args: argparse.Namespace,
    cores: Cores,
    figures: dict[str, list[Figure]],
    left_out: dict[str, str],
) -> bool:
    """Fill ``figures``, one per client and round; a client that fails is left out from then on."""
    failed = False
    for number in range(args.rounds):
        shift = number % max(1, len(clients))
        for client in clients[shift:] + clients[:shift]:
            if client.name in left_out:
                continue
            try:
                figure = _figure(task, client, args.calls, cores.client)
            except ClientFailed as error:
                left_out[client.name], failed = str(error), True
                figures.pop(client.name, None)
                continue
            figures.setdefault(client.name, []).append(figure)
            _say(
                f"round {number + 1}/{args.rounds}  {client.name:<15}{figure.cpu_us:8.2f} us{figure.rps:11,.0f} calls/s"
            )
    return failed


def _task(server: Server, scratch: Path, size: int, in_flight: int) -> Task:
    """Write the message down for every client, and make sure that the call works before anything is timed."""
    method = ECHO if size else HEALTH
    message = BytesValue(value=bytes(size)).SerializeToString() if size else b""
    body, framed = scratch / "message.bin", scratch / "framed.bin"
    body.write_bytes(message)
    framed.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
    for port in server.ports:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            channel.unary_unary(f"/{method}", None, None)(message, timeout=10, wait_for_ready=True)
    return Task(server, method, body, framed, in_flight)


def _figure(task: Task, client: Client, calls: int, cpu: int | None) -> Figure:
    many = max(int(calls * client.share), 10 * task.in_flight)
    few = many // 20
    costs = []
    for count in (few, many):
        cost = run(client.command(task, count), cpu=cpu, terminal=client.terminal)
        client.check(cost, count)
        costs.append(cost)
    low, high = costs
    cpu_s = (high.cpu_s - low.cpu_s) / (many - few)
    return Figure(cpu_s * 1e6, (many - few) / (high.wall_s - low.wall_s), low.cpu_s - few * cpu_s)


def _ratios(result: Result) -> dict[str, dict[str, float]]:
    """Divide our CPU and throughput by each peer's, round by round."""
    ours = result.figures.get(SUBJECT, [])
    ratios = {}
    for name, theirs in result.figures.items():
        pairs = list(zip(ours, theirs, strict=False))
        if name != SUBJECT and pairs:
            ratios[name] = {
                "cpu": median(our.cpu_us / their.cpu_us for our, their in pairs),
                "throughput": median(our.rps / their.rps for our, their in pairs),
            }
    return ratios


def _document(result: Result) -> dict[str, object]:
    return {
        "schema": "lbctl.bench.engine/v1",
        "server": {"kind": result.server.kind, "description": result.server.description, "core": result.cores.server},
        "client_core": result.cores.client,
        "settings": result.settings,
        "clients": {
            name: {
                "cpu_us": [round(figure.cpu_us, 3) for figure in figures],
                "rps": [round(figure.rps, 1) for figure in figures],
                "start_cpu_s": [round(figure.start_s, 3) for figure in figures],
                "median": {"cpu_us": median(f.cpu_us for f in figures), "rps": median(f.rps for f in figures)},
            }
            for name, figures in result.figures.items()
        },
        "ratios": _ratios(result),
        "budgets": {"cpu": BUDGETS},
        "left_out": result.left_out,
    }


def _table(result: Result) -> list[str]:
    s = result.settings
    pinned = (
        "not pinned"
        if result.cores.client is None
        else f"core {result.cores.server}, client on core {result.cores.client}"
    )
    lines = [
        f"server   {result.server.description}; {pinned}",
        f"load     {s['in_flight']} in flight over {s['backends']} backends, {s['size']}-byte messages, "
        f"{s['rounds']} interleaved rounds of {s['calls']:,} calls",
        "",
        f"{'client':<16}{'CPU us/call':>12}{'low-high':>17}{'calls/s':>10}{'low-high':>19}{'start-up CPU s':>16}",
    ]
    lines += [_row(name, result.figures[name]) for name in _names(result)]
    ratios = _ratios(result)
    if ratios:
        lines += ["", f"{'lbctl against':<16}{'CPU per call':>14}{'throughput':>14}"]
    for name, ratio in ratios.items():
        budget = f"   CPU budget {BUDGETS[name]:.1f}x" if name in BUDGETS else ""
        lines.append(f"{name:<16}{ratio['cpu']:>13.2f}x{ratio['throughput']:>13.2f}x{budget}")
    lines += ["", *(f"{client.name}: {client.note}" for client in CLIENTS if client.name in result.figures)]
    lines += [f"left out: {name}: {reason}" for name, reason in result.left_out.items()]
    return lines


def _names(result: Result) -> list[str]:
    return [client.name for client in CLIENTS if client.name in result.figures]


def _row(name: str, figures: list[Figure]) -> str:
    cpu, rps = sorted(f.cpu_us for f in figures), sorted(f.rps for f in figures)
    start = median(f.start_s for f in figures)
    spread, speeds = f"{cpu[0]:.2f}-{cpu[-1]:.2f}", f"{rps[0]:,.0f}-{rps[-1]:,.0f}"
    return f"{name:<16}{median(cpu):>12.2f}{spread:>17}{median(rps):>10,.0f}{speeds:>19}{start:>16.2f}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
