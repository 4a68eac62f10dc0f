"""The engine alone: a run of lbctl without command line, registry, reflection or view.

It prints what the run measured as one line of JSON, and with --profile also where the time goes. The ports given may
be those of any server.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import importlib.util
import json
import ssl
from pathlib import Path

from benchmarks.scenario import TIMEOUT_S
from lbctl.balance.policies.table import POLICIES
from lbctl.clock import SystemClock
from lbctl.load.pacing.schedule import steady
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Endpoint, Instance
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.wire.request import Request


async def measure(args: argparse.Namespace) -> Report:
    """Make the calls; raises SystemExit unless all are OK."""
    run = Run(_task(args), SystemClock())
    endpoints = [Endpoint("127.0.0.1", port) for port in args.ports]
    run.apply([Instance(str(endpoint), "bench", "bench", endpoint) for endpoint in endpoints])
    await run.backends.settled()
    await run.drive()
    await run.aclose()
    report = run.report()
    if report.ok != args.calls:
        raise SystemExit(f"{report.ok} of {args.calls} calls were OK: {report.error_groups}")
    return report


def _task(args: argparse.Namespace) -> Task:
    body = args.body_file.read_bytes()
    schedule = None if args.rps is None else steady(args.rps)
    plan = Plan(
        concurrency=args.in_flight,
        requests=args.calls,
        duration_s=None,
        timeout_s=TIMEOUT_S,
        schedule=schedule,
    )
    secure = _secure(args.ca) if args.ca else None

    def request_for(instance: Instance) -> Request:
        scheme = "https" if secure else "http"
        return Request(f"/{args.method}", body, str(instance.endpoint), plan.timeout_ns, scheme=scheme)

    return Task(
        "bench",
        args.method,
        POLICIES["smooth_wrr"],
        7,
        plan,
        request_for,
        secure_for=lambda instance: secure,
        connection=ConnectionOptions(connections=args.connections),
    )


def _secure(ca: str) -> Secure:
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    return Secure(context, "127.0.0.1")


def start(args: argparse.Namespace) -> None:
    """Run on uvloop where there is one, as lbctl does."""
    if args.loop == "uvloop" and importlib.util.find_spec("uvloop"):
        report = importlib.import_module("uvloop").run(measure(args))
    else:
        report = asyncio.run(measure(args))
    print(json.dumps({"latency_ms": _quantiles(report.latency), "wait_ms": _quantiles(report.wait)}))


def _quantiles(histogram: Histogram) -> dict[str, float]:
    p50, p99 = histogram.quantiles((0.5, 0.99)) if histogram.total else (0.0, 0.0)
    return {"p50": p50 / 1e3, "p99": p99 / 1e3}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_client")
    parser.add_argument("method")
    parser.add_argument("body_file", type=Path)
    parser.add_argument("calls", type=int)
    parser.add_argument("in_flight", type=int)
    parser.add_argument("ports", type=int, nargs="+")
    parser.add_argument("--connections", type=int, default=1, help="to each port")
    parser.add_argument("--ca", help="use TLS, and trust this authority")
    parser.add_argument("--rps", type=float, help="an open loop at this rate")
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.profile:
        cProfile.run("start(given)", sort="tottime")
    else:
        start(given)
