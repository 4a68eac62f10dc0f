"""One gRPC server with the demo's services, health and reflection, on a free port of 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor_pool import Default
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from lbctl.balance.load_report import encoded
from lbctl.demo.certificates import CA, SERVER, Tls
from lbctl.demo.latency import Behaviour
from lbctl.demo.load_meter import LoadMeter
from lbctl.demo.protos import echo_pb2, echo_pb2_grpc, math_pb2, math_pb2_grpc
from lbctl.demo.services import Context, Echo, Front, Math, trailers
from lbctl.model import Endpoint
from lbctl.rpc import orca

# The type stubs of these two modules know only their blocking half.
_health: Any = health
_reflection: Any = reflection

HOST = "127.0.0.1"
LEAST_PERIOD_S = 0.05  # between two load reports out of band
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
        self._health = _Health()

    async def start(self, behaviour: Behaviour, meter: LoadMeter | None = None) -> None:
        """Serve Echo, MathService, health (SERVING) and reflection; with a meter, reports of its load too."""
        front = Front(str(self.endpoint), behaviour, meter)
        echo_pb2_grpc.add_EchoServicer_to_server(Echo(front), self._server)
        math_pb2_grpc.add_MathServiceServicer_to_server(Math(front), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in (ECHO, MATH):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._server.add_generic_rpc_handlers(_reflection_handlers((ECHO, MATH, health.SERVICE_NAME, *REFLECTION)))
        if meter is not None:
            self._health.meter = meter
            self._server.add_generic_rpc_handlers((_orca_handler(meter),))
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Say NOT_SERVING, take no new calls, and let running ones end within the grace period."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)


class _Health(_health.aio.HealthServicer):  # type: ignore[misc]  # its stubs do not know it
    """Health checks whose answers carry the load, where there is a meter: probes ask for both at once."""

    meter: LoadMeter | None = None

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 - the method's name on the wire
        if self.meter is not None:
            context.set_trailing_metadata(trailers(self.meter))
        return await super().Check(request, context)


def _orca_handler(meter: LoadMeter) -> grpc.GenericRpcHandler[Any, Any]:
    """OpenRcaService: a report at once, and one after each period that the client asked for."""

    async def stream(request: bytes, context: Context) -> AsyncIterator[bytes]:
        period_s = max(orca.period_of(request), LEAST_PERIOD_S)
        while True:
            yield encoded(meter.report())
            await asyncio.sleep(period_s)

    return grpc.method_handlers_generic_handler(
        orca.SERVICE, {orca.METHOD: grpc.unary_stream_rpc_method_handler(stream)}
    )


def _bound(server: grpc.aio.Server, address: str, tls: Tls) -> int:
    """Bind the address and return the port."""
    if tls is Tls.OFF:
        return int(server.add_insecure_port(address))
    mutual = tls is Tls.MUTUAL
    certificate, key = (path.read_bytes() for path in SERVER)
    secret = grpc.ssl_server_credentials([(key, certificate)], CA.read_bytes() if mutual else None, mutual)
    return int(server.add_secure_port(address, secret))


class _Pool:
    """The default pool, which also knows methods by their names: ghz asks for these, and protobuf's finds none."""

    def __init__(self) -> None:
        self._pool = Default()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the library asks of a pool
        return getattr(self._pool, name)

    def FindFileContainingSymbol(self, name: str) -> Any:  # noqa: ANN401, N802 - as that of the pool
        try:
            return self._pool.FindFileContainingSymbol(name)
        except KeyError:
            service, _, method = name.rpartition(".")
            return self._pool.FindServiceByName(service).FindMethodByName(method).containing_service.file


def _reflection_handlers(services: tuple[str, ...]) -> list[grpc.GenericRpcHandler[Any, Any]]:
    """Both versions of the reflection protocol: their messages are the same, the library serves only v1alpha."""
    servicer = _reflection.aio.ReflectionServicer(services, pool=_Pool())
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method}) for name in REFLECTION]
