"""The engine row of engine.py: a run of lbctl without command line, registry, reflection or view.

With --profile it prints where the time goes, in front of any server: its ports are given.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import importlib.util
from pathlib import Path

from lbctl.clock import SystemClock
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Endpoint, Instance
from lbctl.wire.request import Request


async def main(method: str, body: bytes, calls: int, in_flight: int, ports: list[int]) -> None:
    """Make ``calls`` calls; raises SystemExit unless all are OK."""
    plan = Plan(concurrency=in_flight, requests=calls, duration_s=None, timeout_s=20)

    def request_for(instance: Instance) -> Request:
        return Request(f"/{method}", body, instance.address, plan.timeout_ns)

    run = Run(Task("bench", method, "smooth_wrr", 7, plan, request_for), SystemClock())
    endpoints = [Endpoint("127.0.0.1", port) for port in ports]
    run.apply([Instance(str(endpoint), "bench", "bench", endpoint) for endpoint in endpoints])
    await run.backends.settled()
    await run.drive()
    await run.aclose()
    report = run.report()
    if report.ok != calls:
        raise SystemExit(f"{report.ok} of {calls} calls were OK: {report.error_groups}")


def start(args: argparse.Namespace) -> None:
    """Run on uvloop where there is one, as lbctl does."""
    work = main(args.method, args.body_file.read_bytes(), args.calls, args.in_flight, args.ports)
    if args.loop == "uvloop" and importlib.util.find_spec("uvloop"):
        uvloop = importlib.import_module("uvloop")
        uvloop.run(work)
    else:
        asyncio.run(work)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_client")
    parser.add_argument("method")
    parser.add_argument("body_file", type=Path)
    parser.add_argument("calls", type=int)
    parser.add_argument("in_flight", type=int)
    parser.add_argument("ports", type=int, nargs="+")
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.profile:
        cProfile.run("start(given)", sort="tottime")
    else:
        start(given)
