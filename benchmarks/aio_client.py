"""The grpc.aio peer: channels of their own to every backend, round robin, a fixed number of calls in flight.

usage: python -m benchmarks.aio_client METHOD BODY_FILE CALLS IN_FLIGHT CONNECTIONS CA_OR_- PORT...
It prints its latencies as one line of JSON, and ends with status 1 and says what failed when any call does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from pathlib import Path

import grpc
import grpc.aio

from benchmarks.scenario import TIMEOUT_S

# Channels to one address share a connection unless told not to.
OPTIONS = (("grpc.use_local_subchannel_pool", 1),)


def _channels(connections: int, ca: str, ports: list[int]) -> list[grpc.aio.Channel]:
    addresses = [f"127.0.0.1:{port}" for port in ports] * connections
    if ca == "-":
        return [grpc.aio.insecure_channel(address, OPTIONS) for address in addresses]
    trust = grpc.ssl_channel_credentials(Path(ca).read_bytes())
    return [grpc.aio.secure_channel(address, trust, OPTIONS) for address in addresses]


async def main(method: str, body: bytes, calls: int, in_flight: int, channels: list[grpc.aio.Channel]) -> list[int]:
    """Make ``calls`` calls and return how long each took in ns; raises the first failure."""
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    stubs = itertools.cycle([channel.unary_unary(f"/{method}", None, None) for channel in channels])
    left = iter(range(calls))
    took: list[int] = []

    async def worker() -> None:
        for _ in left:
            began = time.perf_counter_ns()
            await next(stubs)(body, timeout=TIMEOUT_S)
            took.append(time.perf_counter_ns() - began)

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(worker())
    await asyncio.gather(*(channel.close(None) for channel in channels))
    return took


if __name__ == "__main__":
    method, body_file, calls, in_flight, connections, ca, *ports = sys.argv[1:]

    async def run() -> list[int]:
        """Channels belong to the loop that they are made in."""
        channels = _channels(int(connections), ca, [int(port) for port in ports])
        return await main(method, body, int(calls), int(in_flight), channels)

    body = Path(body_file).read_bytes()
    times = sorted(asyncio.run(run()))
    p50, p99 = (times[int(len(times) * share)] / 1e6 for share in (0.5, 0.99))
    print(json.dumps({"latency_ms": {"p50": p50, "p99": p99}}))
