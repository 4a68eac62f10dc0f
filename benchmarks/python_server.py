"""The stand-in server where there is no Go: grpcio backends with health and the same echoes, in one process.

It is slower than its clients and answers in small batches, so every figure is worse than in front of the Go server:
they compare with each other only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import grpc
import grpc.aio
from google.protobuf.wrappers_pb2 import BytesValue

Say = Callable[[bytes, "grpc.aio.ServicerContext[bytes, bytes]"], Awaitable[bytes]]

ACCOUNT = {"calls": 0, "octets": 0}
SERVING = b"\x08\x01"  # HealthCheckResponse{status: SERVING}


async def check(_request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """grpc.health.v1.Health/Check, always well."""
    return SERVING


async def say(request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """lbctl.bench.Echo/Say: the message itself."""
    ACCOUNT["calls"] += 1
    ACCOUNT["octets"] += len(BytesValue.FromString(request).value)
    return request


async def say_dated(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """The same with a trailer that differs from reply to reply."""
    context.set_trailing_metadata((("date", datetime.now(UTC).isoformat()),))
    return await say(request, context)


def _server(method: Say) -> grpc.aio.Server:
    handlers = [
        grpc.method_handlers_generic_handler(service, {name: grpc.unary_unary_rpc_method_handler(handler)})
        for service, name, handler in (("grpc.health.v1.Health", "Check", check), ("lbctl.bench.Echo", "Say", method))
    ]
    return grpc.aio.server(handlers=handlers, options=[("grpc.so_reuseport", 0)])


async def main(backends: int) -> None:
    """Serve until stdin closes, and answer as the Go server does to lines on it."""
    methods = {"plain": say, "dated": say_dated}
    servers = {kind: [_server(method) for _ in range(backends)] for kind, method in methods.items()}
    ports = {kind: [server.add_insecure_port("127.0.0.1:0") for server in servers[kind]] for kind in servers}
    running = [server for kind in servers for server in servers[kind]]
    await asyncio.gather(*(server.start() for server in running))
    print(json.dumps({"description": f"grpcio {grpc.__version__} (asyncio)", "ports": ports, "ca": ""}), flush=True)
    while await asyncio.to_thread(sys.stdin.buffer.readline):
        print(json.dumps(ACCOUNT), flush=True)
        ACCOUNT.update(calls=0, octets=0)
    await asyncio.gather(*(server.stop(0) for server in running))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
