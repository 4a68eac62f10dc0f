"""The interoperability service on grpc.aio, in a process of its own: prints its port, ends when its input does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from tests.interop.messages import SERVICE, new, payload, read

Context = Any  # grpc.aio.ServicerContext


async def fail_as_told(request: Any, context: Context) -> None:  # noqa: ANN401
    if request.response_status.code:
        status = next(each for each in grpc.StatusCode if each.value[0] == request.response_status.code)
        await context.abort(status, request.response_status.message)


async def empty_call(request: Any, context: Context) -> Any:  # noqa: ANN401
    return request


async def unary_call(request: Any, context: Context) -> Any:  # noqa: ANN401
    await fail_as_told(request, context)
    if request.response_compressed.value:
        context.set_compression(grpc.Compression.Gzip)
    return new("SimpleResponse", payload=payload(request.response_size))


async def streaming_output_call(request: Any, context: Context) -> AsyncIterator[Any]:  # noqa: ANN401
    for parameters in request.response_parameters:
        await asyncio.sleep(parameters.interval_us / 1e6)
        yield new("StreamingOutputCallResponse", payload=payload(parameters.size))


async def streaming_input_call(requests: AsyncIterator[Any], context: Context) -> Any:  # noqa: ANN401
    total = 0
    async for request in requests:
        total += len(request.payload.body)
    return new("StreamingInputCallResponse", aggregated_payload_size=total)


async def full_duplex_call(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
    async for request in requests:
        await fail_as_told(request, context)
        async for response in streaming_output_call(request, context):
            yield response


METHODS = {
    "EmptyCall": (grpc.unary_unary_rpc_method_handler, empty_call, "Empty"),
    "UnaryCall": (grpc.unary_unary_rpc_method_handler, unary_call, "SimpleRequest"),
    "StreamingOutputCall": (
        grpc.unary_stream_rpc_method_handler,
        streaming_output_call,
        "StreamingOutputCallRequest",
    ),
    "StreamingInputCall": (grpc.stream_unary_rpc_method_handler, streaming_input_call, "StreamingInputCallRequest"),
    "FullDuplexCall": (grpc.stream_stream_rpc_method_handler, full_duplex_call, "StreamingOutputCallRequest"),
}


def handler(make: Any, behaviour: Any, request: str) -> Any:  # noqa: ANN401
    return make(behaviour, lambda raw: read(request, raw), lambda message: message.SerializeToString())


async def serve() -> None:
    server = grpc.aio.server()
    methods = {name: handler(*method) for name, method in METHODS.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(serve())
