"""Backends that cannot be asked: each is said with its own reason, and none keeps the others from being asked."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lbctl.errors import CannotCall, NotFound
from lbctl.model import Endpoint
from lbctl.rpc.schemas.reflection import load_method
from tests.rpc.servers import (
    V1,
    V1ALPHA,
    Reflection,
    answering,
    black_hole,
    echo_files,
    hanging,
    http2_not_found,
    reflecting,
    refused_port,
    serving,
)

ECHO = Reflection(echo_files(), ["test.Echo"])
RAW_HINT = (
    "turn reflection on in the server, give --protoset FILE or --proto FILE, or the "
    "full method and raw bytes: "
    "lbctl hammer echo pkg.Service/Method --binary-file FILE"
)


async def refusal(*endpoints: Endpoint, timeout_s: float = 5) -> CannotCall:
    with pytest.raises(CannotCall) as raised:
        await load_method(endpoints, "Say", timeout_s=timeout_s, service="echo")
    assert raised.value.exit_code == 5
    return raised.value


async def test_a_server_without_reflection_is_said_with_what_to_do() -> None:
    async with serving() as endpoint:
        error = await refusal(endpoint)
    assert str(error) == (
        f'the only backend of "echo" does not answer gRPC server reflection: {endpoint} answered UNIMPLEMENTED'
    )
    assert error.hint == RAW_HINT


async def test_an_http2_server_that_knows_no_grpc_is_one_without_reflection() -> None:
    async with http2_not_found() as endpoint:
        error = await refusal(endpoint)
    assert str(error) == (
        f'the only backend of "echo" does not answer gRPC server reflection: {endpoint} '
        "answered with something that is not gRPC: HTTP status 404 without grpc-status: <p>not found</p>"
    )
    assert error.hint == RAW_HINT


async def test_a_refused_port_is_said() -> None:
    with refused_port() as endpoint:
        error = await refusal(endpoint)
    assert str(error) == (
        f'the only backend of "echo" cannot be asked for its methods: {endpoint} refused the connection'
    )
    assert error.hint == "is it running? lbctl ls echo shows what is registered"


async def test_a_tls_server_is_said() -> None:
    async with serving(reflecting(ECHO, V1), tls=True) as endpoint:
        error = await refusal(endpoint)
    assert str(error).endswith(f"{endpoint} speaks TLS, not plaintext HTTP/2")
    assert error.hint == "give --tls, and --tls-ca FILE where its certificate is not from a public authority"


async def test_an_http1_server_is_said() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as endpoint:
        error = await refusal(endpoint)
    assert str(error).endswith(f"{endpoint} speaks HTTP/1.x, not HTTP/2")
    assert error.hint == "is this the port of the gRPC server?"


async def test_a_silent_port_is_said_when_time_is_up() -> None:
    with black_hole() as endpoint:
        error = await refusal(endpoint, timeout_s=0.05)
    assert str(error).endswith(f"{endpoint} did not answer within 0.05s")


async def test_reflection_that_hangs_is_said_when_time_is_up() -> None:
    async with serving([hanging(V1)]) as endpoint:
        error = await refusal(endpoint, timeout_s=0.2)
    assert str(error).endswith(f"{endpoint} did not answer within 0.2s")


async def test_every_backend_is_said_in_order_with_its_own_reason() -> None:
    async with serving() as bare, answering(b"") as closing:
        with refused_port() as refused:
            error = await refusal(refused, bare, closing)
    assert str(error) == (
        'none of the 3 backends of "echo" answers gRPC server reflection: '
        f"{refused} refused the connection; {bare} answered UNIMPLEMENTED; "
        f"{closing} closed the connection before its HTTP/2 SETTINGS"
    )
    assert error.hint == RAW_HINT


async def test_of_many_backends_a_few_are_tried() -> None:
    async with AsyncExitStack() as stack:
        error = await refusal(*[await stack.enter_async_context(answering(b"")) for _ in range(7)])
    assert str(error).startswith('none of the 5 backends tried (of 7) of "echo" can be asked for its methods: ')


async def test_stale_keys_that_sort_first_do_not_hide_a_live_backend() -> None:
    async with AsyncExitStack() as stack:
        stale = [stack.enter_context(refused_port()) for _ in range(12)]
        good = await stack.enter_async_context(serving(reflecting(ECHO, V1)))
        found = await load_method([*stale, good], "Say", timeout_s=5)
    assert found.backend == good


async def test_where_all_refuse_that_is_said_once_and_the_backends_counted() -> None:
    with ExitStack() as stack:
        first, second, *more = (stack.enter_context(refused_port()) for _ in range(7))
        error = await refusal(first, second, *more)
    assert str(error) == (
        'none of the 7 backends of "echo" can be asked for its methods: '
        f"refused the connection ({first}, {second} and 5 more)"
    )


async def test_an_address_under_two_keys_is_asked_once() -> None:
    with refused_port() as refused:
        error = await refusal(refused, refused)
    assert str(error).startswith('the only backend of "echo" cannot')


async def test_backends_after_a_bad_one_are_asked() -> None:
    async with AsyncExitStack() as stack:
        refused = stack.enter_context(refused_port())
        silent = stack.enter_context(black_hole())
        bare = await stack.enter_async_context(serving())
        good = await stack.enter_async_context(serving(reflecting(ECHO, V1ALPHA)))
        found = await load_method([refused, bare, silent, good], "Say", timeout_s=5)
    assert (found.backend, found.protocol) == (good, "v1alpha")


async def test_a_method_is_found_at_whichever_backend_has_it() -> None:
    old = {name: FileDescriptorProto.FromString(file.SerializeToString()) for name, file in echo_files().items()}
    del old["test/echo.proto"].service[0].method[:]
    half = {name: file for name, file in echo_files().items() if name == "test/echo.proto"}
    async with AsyncExitStack() as stack:
        older = await stack.enter_async_context(serving(reflecting(Reflection(old, ["test.Echo", V1]), V1)))
        lacking = await stack.enter_async_context(serving(reflecting(Reflection(half, ["test.Echo", V1]), V1)))
        bare = [await stack.enter_async_context(serving()) for _ in range(7)]
        good = await stack.enter_async_context(serving(reflecting(ECHO, V1)))
        found = await load_method([older, lacking, *bare, good], "Echo/Say", timeout_s=5)
        with pytest.raises(NotFound, match='no method "Echo/Sya"'):
            await load_method([older, *bare, good], "Echo/Sya", timeout_s=5)
        with pytest.raises(CannotCall, match=r"needs test\.Text, which"):
            await load_method([bare[0], lacking, older], "Echo/Say", timeout_s=5)
    assert found.backend == good
