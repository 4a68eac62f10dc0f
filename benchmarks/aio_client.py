"""The grpc.aio peer of engine.py: one channel per backend, round robin, a fixed number of calls in flight.

usage: python -m benchmarks.aio_client METHOD BODY_FILE CALLS IN_FLIGHT PORT...
Ends with status 1 and says what failed when any call does.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

import grpc
import grpc.aio


async def main(method: str, body: bytes, calls: int, in_flight: int, ports: list[int]) -> None:
    """Make ``calls`` calls; raises the first failure."""
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}") for port in ports]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    stubs = itertools.cycle([channel.unary_unary(f"/{method}", None, None) for channel in channels])
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await next(stubs)(body, timeout=20)

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(worker())
    await asyncio.gather(*(channel.close(None) for channel in channels))


if __name__ == "__main__":
    method, body_file, calls, in_flight, *ports = sys.argv[1:]
    asyncio.run(main(method, Path(body_file).read_bytes(), int(calls), int(in_flight), [int(port) for port in ports]))
