"""The stand-in server where there is no Go: grpcio backends with health and the same echo, in one process.

It is slower than its clients and answers in small batches, so every figure is worse than in front of the Go server:
they compare with each other only.
"""

from __future__ import annotations

import asyncio
import json
import sys

import grpc
import grpc.aio

SERVING = b"\x08\x01"  # HealthCheckResponse{status: SERVING}


async def check(_request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """grpc.health.v1.Health/Check, always well."""
    return SERVING


async def say(request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """lbctl.bench.Echo/Say: the message itself."""
    return request


async def main(backends: int) -> None:
    """Serve until stdin closes."""
    handlers = [
        grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(handler)})
        for service, method, handler in (("grpc.health.v1.Health", "Check", check), ("lbctl.bench.Echo", "Say", say))
    ]
    servers = [grpc.aio.server(handlers=handlers, options=[("grpc.so_reuseport", 0)]) for _ in range(backends)]
    ports = [server.add_insecure_port("127.0.0.1:0") for server in servers]
    await asyncio.gather(*(server.start() for server in servers))
    print(json.dumps({"description": f"grpcio {grpc.__version__} (asyncio)", "ports": ports}), flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    await asyncio.gather(*(server.stop(0) for server in servers))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
