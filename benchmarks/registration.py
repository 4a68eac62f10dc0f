"""How soon a run calls a backend that registers: ``python -m benchmarks.registration [--rounds 300] [--rps 1000]``.

`lbctl hammer` runs as a user starts it, on a real etcd. Again and again the key of a backend is written, and it is the
backend itself that notes when its first call has come: etcd's write, the watch, the connection and the pick are all in
between, and so is the wait for the next call to be due.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import lbctl.etcd  # noqa: F401  # it settles how gRPC behaves, before gRPC is imported

# isort: split
import grpc.aio

from benchmarks.machine import Cores, pin, share_out
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

BUDGET_MS: Final = 50.0
ROUNDS: Final = 300
RPS: Final = 1_000
_NEWCOMERS: Final = 8
_WITHIN_S: Final = 10.0
_REST_S: Final = 0.03  # between two rounds, so that they do not follow the run's own rhythm


@dataclass(frozen=True, slots=True)
class Delays:
    """From the write of a key to the first call of its backend, in ms, ascending."""

    ms: tuple[float, ...]

    def at(self, share: float) -> float:
        return self.ms[min(int(len(self.ms) * share), len(self.ms) - 1)]

    @property
    def kept(self) -> bool:
        return self.at(0.99) <= BUDGET_MS


class Backend:
    """A server that answers every call with nothing, and knows when the first one since ``await_call`` came."""

    def __init__(self) -> None:
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((_Everything(self),))
        self._called = asyncio.Event()
        self._first_s = 0.0
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    @property
    def key(self) -> bytes:
        return f"/services/bench/{self.address}".encode()

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)

    def expect(self) -> None:
        self._called.clear()

    async def first_call(self) -> float:
        """Return when the first call came, in seconds of the monotonic clock."""
        async with asyncio.timeout(_WITHIN_S):
            await self._called.wait()
        return self._first_s

    async def answer(self, request: bytes, context: object) -> bytes:
        if not self._called.is_set():
            self._first_s = time.perf_counter()
            self._called.set()
        return b""


class _Everything(grpc.GenericRpcHandler):  # type: ignore[misc]  # its stubs do not know it
    def __init__(self, backend: Backend) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(backend.answer)

    def service(self, details: object) -> Any:  # noqa: ANN401
        return self._handler


async def measure(rounds: int, rps: int, cores: Cores) -> Delays:
    """Register a backend so many times in front of one run."""
    async with (
        await EtcdServer.start() as server,
        Etcd(EtcdConfig((server.endpoint,))) as etcd,
        _backends() as backends,
    ):
        steady, *newcomers = backends
        steady.expect()
        await etcd.put(steady.key, f"{steady.address}|1".encode())
        async with _hammering(server.endpoint, rps, cores):
            await steady.first_call()
            delays = [await _round(etcd, newcomers[number % _NEWCOMERS]) for number in range(rounds)]
    return Delays(tuple(sorted(delays)))


async def _round(etcd: Etcd, newcomer: Backend) -> float:
    newcomer.expect()
    began = time.perf_counter()
    await etcd.put(newcomer.key, f"{newcomer.address}|1".encode())
    delay = await newcomer.first_call() - began
    await etcd.delete(newcomer.key)
    await asyncio.sleep(_REST_S)
    return delay * 1e3


@asynccontextmanager
async def _backends() -> AsyncIterator[list[Backend]]:
    async with AsyncExitStack() as stack:
        backends = [Backend() for _ in range(1 + _NEWCOMERS)]
        for backend in backends:
            await backend.start()
            stack.push_async_callback(backend.stop)
        yield backends


@asynccontextmanager
async def _hammering(endpoint: str, rps: int, cores: Cores) -> AsyncIterator[None]:
    command = (
        *("-m", "lbctl", "hammer", "bench", "bench.Any/Call", "--binary-file", "/dev/null", "--endpoints", endpoint),
        *("-r", str(rps), "-z", "1h", "-o", "json", "--quiet"),
    )
    devnull = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=devnull, stdout=devnull, preexec_fn=pin(cores.client)
    )
    try:
        yield
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(_WITHIN_S):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print how long it takes, and the ratio to the budget."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.registration")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rps", type=int, default=RPS)
    args = parser.parse_args(argv)
    cores = share_out()
    print(cores)
    delays = asyncio.run(measure(args.rounds, args.rps, cores))
    shares = "   ".join(f"{name} {delays.at(share):.2f}" for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)))
    print(
        f"registration to first call at {args.rps:,}/s, {args.rounds} times, ms:   {shares}   max {delays.ms[-1]:.2f}"
    )
    print(f"budget: p99 {BUDGET_MS:g} ms; used {delays.at(0.99) / BUDGET_MS:.2f} of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
