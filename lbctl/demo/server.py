"""One gRPC server with the demo's services, health and reflection, on a free port of 127.0.0.1."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from lbctl.demo.certificates import CA, SERVER, Tls
from lbctl.demo.latency import Behaviour
from lbctl.demo.protos import echo_pb2, echo_pb2_grpc, math_pb2, math_pb2_grpc
from lbctl.demo.services import Echo, Front, Math
from lbctl.model import Endpoint

# The type stubs of these two modules know only their blocking half.
_health: Any = health
_reflection: Any = reflection

HOST = "127.0.0.1"
ECHO = echo_pb2.DESCRIPTOR.services_by_name["Echo"].full_name
MATH = math_pb2.DESCRIPTOR.services_by_name["MathService"].full_name
REFLECTION = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)
_OPTIONS = (
    ("grpc.so_reuseport", 0),  # two backends must never share a port
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),  # a client under test may probe an idle connection
    ("grpc.keepalive_permit_without_calls", 1),
)


class BackendServer:
    """A server that owns its port from the moment it is made; it serves between start and stop."""

    def __init__(self, tls: Tls = Tls.OFF) -> None:
        self._server = grpc.aio.server(options=_OPTIONS)
        self.endpoint = Endpoint(HOST, _bound(self._server, f"{HOST}:0", tls))
        self._health = _health.aio.HealthServicer()

    async def start(self, behaviour: Behaviour) -> None:
        """Serve Echo, MathService, health (SERVING) and reflection."""
        front = Front(str(self.endpoint), behaviour)
        echo_pb2_grpc.add_EchoServicer_to_server(Echo(front), self._server)
        math_pb2_grpc.add_MathServiceServicer_to_server(Math(front), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in (ECHO, MATH):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._server.add_generic_rpc_handlers(_reflection_handlers((ECHO, MATH, health.SERVICE_NAME, *REFLECTION)))
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Say NOT_SERVING, take no new calls, and let running ones end within the grace period."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)


def _bound(server: grpc.aio.Server, address: str, tls: Tls) -> int:
    """Bind the address and return the port."""
    if tls is Tls.OFF:
        return int(server.add_insecure_port(address))
    mutual = tls is Tls.MUTUAL
    certificate, key = (path.read_bytes() for path in SERVER)
    secret = grpc.ssl_server_credentials([(key, certificate)], CA.read_bytes() if mutual else None, mutual)
    return int(server.add_secure_port(address, secret))


def _reflection_handlers(services: tuple[str, ...]) -> list[grpc.GenericRpcHandler[Any, Any]]:
    """Both versions of the reflection protocol: their messages are the same, the library serves only v1alpha."""
    servicer = _reflection.aio.ReflectionServicer(services)
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method}) for name in REFLECTION]
