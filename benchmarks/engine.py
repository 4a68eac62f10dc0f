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
from pathlib import Path

import grpc
from google.protobuf.wrappers_pb2 import BytesValue

from benchmarks.clients import CLIENTS, Client, Task
from benchmarks.figures import Cores, Figure, Result, document, table
from benchmarks.measured import ClientFailed, run
from benchmarks.server import ECHO, HEALTH, NoGoServer, Server, serving


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
    print(json.dumps(document(result), indent=1) if args.json else "\n".join(table(result)))
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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
