"""An etcd behind a proxy that passes calls on, but refuses watches, or says that all leases have run out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import grpc
import grpc.aio

from lbctl.etcd.stubs import pb

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class _Forwarder(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    def __init__(self, channel: grpc.aio.Channel, *, leases_are_over: bool) -> None:
        self._channel = channel
        self._leases_are_over = leases_are_over

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        path = str(handler_call_details.method)
        if path.endswith("/Watch"):
            return grpc.stream_stream_rpc_method_handler(self._refuse)

        async def forward(request: bytes, _: object) -> bytes:
            answer = bytes(await self._channel.unary_unary(path)(request, timeout=10))
            return _over(answer) if self._leases_are_over and path.endswith("/LeaseTimeToLive") else answer

        return grpc.unary_unary_rpc_method_handler(forward)

    @staticmethod
    async def _refuse(_: object, context: Context) -> AsyncIterator[bytes]:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "no streams here")
        yield b""


def _over(answer: bytes) -> bytes:
    reply = pb.LeaseTimeToLiveResponse.FromString(answer)
    reply.TTL = -1
    return bytes(reply.SerializeToString())


@asynccontextmanager
async def forwarding(etcd: str, *, leases_are_over: bool = False) -> AsyncIterator[str]:
    """Run the proxy for a block; gives its address."""
    async with grpc.aio.insecure_channel(etcd) as channel:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((_Forwarder(channel, leases_are_over=leases_are_over),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(None)
