"""What ``lbctl ls`` takes over a big registry: ``python -m benchmarks.listing [--rounds 5]``.

Whole processes on a real etcd of their own: 10,000 instances of 50 services, alone and among 100,000 other keys.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.machine import Cores, share_out
from benchmarks.measured import run
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

BUDGET_S: Final = 1.5
BUDGET_MIB: Final = 150
INSTANCES: Final = 10_000
OTHERS: Final = 100_000
_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Listed:
    """One command line over one registry: the middle of its wall times, and its greatest memory."""

    what: str
    wall_s: float
    peak_mib: float

    @property
    def kept(self) -> bool:
        return self.wall_s <= BUDGET_S and self.peak_mib <= BUDGET_MIB


async def measure(rounds: int, cores: Cores) -> list[Listed]:
    """Fill an etcd and list it."""
    async with await EtcdServer.start() as server, Etcd(EtcdConfig((server.endpoint,))) as etcd:
        await _fill(etcd, {f"/services/{_service(n)}/{_address(n)}": f"{_address(n)}|5" for n in range(INSTANCES)})
        names = [f"ls of {INSTANCES:,} instances", f"ls of one service of {INSTANCES:,} instances"]
        found = [
            await _list(names[0], server.endpoint, (), rounds, cores),
            await _list(names[1], server.endpoint, ("svc1",), rounds, cores),
        ]
        await _fill(etcd, {f"app/data/{n % 100}/item{n}": "x" * 200 for n in range(OTHERS)})
        among = f"{names[0]} among {OTHERS:,} other keys"
        return [*found, await _list(among, server.endpoint, (), rounds, cores)]


async def _list(what: str, endpoint: str, arguments: Sequence[str], rounds: int, cores: Cores) -> Listed:
    command = (sys.executable, "-m", "lbctl", "ls", *arguments, "--endpoints", endpoint)
    costs = [await asyncio.to_thread(run, command, cpu=cores.client, terminal=False) for _ in range(rounds)]
    return Listed(what, median(cost.wall_s for cost in costs), max(cost.peak_mib for cost in costs))


async def _fill(etcd: Etcd, keys: dict[str, str]) -> None:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def put(key: str, value: str) -> None:
        async with slots:
            await etcd.put(key.encode(), value.encode())

    async with asyncio.TaskGroup() as group:
        for key, value in keys.items():
            group.create_task(put(key, value))


def _service(number: int) -> str:
    return f"svc{number % 50}"


def _address(number: int) -> str:
    return f"10.1.{number // 250}.{number % 250}:50051"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.listing")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    for listed in asyncio.run(measure(args.rounds, share_out())):
        print(f"{listed.what:<60}{listed.wall_s:>6.2f} s{listed.peak_mib:>6.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
