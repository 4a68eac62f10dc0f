"""Reflection and health checks come to a backend the way a load does: TLS, names, metadata, unix sockets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from lbctl.errors import CannotCall
from lbctl.model import Endpoint
from lbctl.rpc import health
from lbctl.rpc.access import Access
from lbctl.rpc.health import Prober, Status
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.schemas.reflection import load_method
from lbctl.rpc.tls import Credentials, TlsOptions
from lbctl.wire.limits import Limits
from tests.rpc.servers import (
    CERTS,
    V1,
    Reflection,
    checking,
    credentials,
    echo_files,
    health_of,
    reflecting,
    serving,
)
from tests.scripted import ScriptedServer
from tests.scripted import answering as scripted
from tests.wire import frames as h2

ECHO = Reflection(echo_files(), ["test.Echo"])


def secure(host: str = "127.0.0.1", *, client: bool = False, ca: bool = True) -> Secure:
    own = TlsOptions(cert=CERTS / "client.pem", key=CERTS / "client.key") if client else TlsOptions()
    return Credentials(replace(own, ca=CERTS / "ca.pem" if ca else None)).secure(host)


class Guarded(Reflection):
    """Reflection for those who show the token."""

    async def converse(self, questions: Any, context: Any) -> AsyncIterator[Any]:  # noqa: ANN401 # grpc's own types
        if ("authorization", "token") not in context.invocation_metadata():
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        async for answer in super().converse(questions, context):
            yield answer


@asynccontextmanager
async def on_socket(path: Path) -> AsyncIterator[Endpoint]:
    """A server on a unix socket."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(tuple(reflecting(ECHO, V1)))
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield Endpoint(f"unix:{path}", 0)
    finally:
        await server.stop(None)


async def test_methods_are_found_over_mutual_tls() -> None:
    async with serving(reflecting(ECHO, V1), tls=credentials(mutual=True)) as endpoint:
        found = await load_method(
            [endpoint], "Say", timeout_s=5, access_for=lambda _: Access(secure=secure(client=True))
        )
    assert found.method.full_name == "test.Echo/Say"


async def test_each_backend_is_asked_in_its_own_way() -> None:
    async with AsyncExitStack() as stack:
        plaintext = await stack.enter_async_context(serving())
        encrypted = await stack.enter_async_context(serving(reflecting(ECHO, V1), tls=True))
        ways = {plaintext: Access(), encrypted: Access(secure=secure())}
        found = await load_method([plaintext, encrypted], "Say", timeout_s=5, access_for=ways.__getitem__)
    assert found.backend == encrypted


async def test_a_certificate_that_nobody_vouches_for_is_said_with_what_to_do() -> None:
    async with serving(reflecting(ECHO, V1), tls=True) as endpoint:
        with pytest.raises(CannotCall) as raised:
            await load_method([endpoint], "Say", timeout_s=5, access_for=lambda _: Access(secure=secure(ca=False)))
    assert str(raised.value).endswith(
        f"{endpoint} cannot be trusted: the certificate is signed by an unknown authority"
    )
    assert raised.value.hint == (
        "give --tls-ca FILE: the authority that signed it; or --tls-skip-verify to accept any certificate"
    )


async def test_metadata_goes_with_every_question() -> None:
    async with serving(reflecting(Guarded(echo_files(), ["test.Echo"]), V1)) as endpoint:
        with pytest.raises(CannotCall, match=r"answered UNAUTHENTICATED: who are you\?"):
            await load_method([endpoint], "Say", timeout_s=5)
        access = Access(metadata=((b"authorization", b"token"),), sensitive=frozenset({b"authorization"}))
        found = await load_method([endpoint], "Say", timeout_s=5, access_for=lambda _: access)
    assert found.method.full_name == "test.Echo/Say"


async def test_methods_are_found_on_a_unix_socket(tmp_path: Path) -> None:
    async with on_socket(tmp_path / "echo.sock") as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
        answer = await health.check(endpoint, timeout_s=5)
    assert found.backend == endpoint
    assert answer.status is Status.UNIMPLEMENTED


async def test_a_unix_socket_that_is_not_there_is_said() -> None:
    answer = await health.check(Endpoint("unix:/nonexistent/echo.sock", 0), timeout_s=5)
    assert (answer.status, answer.detail) == (Status.ERROR, "cannot be reached (no such file or directory)")


async def test_a_schema_may_be_larger_than_the_messages_of_a_load() -> None:
    files = echo_files()
    files["test/echo.proto"].source_code_info.location.add(leading_comments="x" * (5 << 20))
    access = Access(options=ConnectionOptions(limits=Limits(max_message=1000)))
    async with serving(reflecting(Reflection(files, ["test.Echo"]), V1)) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5, access_for=lambda _: access)
    assert found.method.full_name == "test.Echo/Say"


async def test_a_backend_is_called_by_the_name_it_goes_by() -> None:
    access = Access(authority="echo.example", metadata=((b"x-key", b"7"),))
    async with ScriptedServer(scripted(lambda stream: h2.reply(stream, b"\x08\x01"))) as server:
        assert (await health.check(server.endpoint, access, timeout_s=2)).status is Status.SERVING
    request = server.connections[0].requests[1]
    assert (request.header(b":authority"), request.header(b"x-key")) == (b"echo.example", b"7")
    assert request.header(b":scheme") == b"http"


async def test_health_is_checked_over_tls() -> None:
    async with serving(healthy=health_of(1), tls=True) as endpoint:
        answer = await health.check(endpoint, Access(secure=secure()), timeout_s=5)
        assert (answer.status, answer.detail) == (Status.SERVING, "")
        assert (await health.check(endpoint, Access(secure=secure("elsewhere")), timeout_s=5)).status is (
            Status.CERTIFICATE
        )


async def test_health_of_a_backend_without_tls_says_so() -> None:
    async with serving(healthy=health_of(1)) as endpoint:
        answer = await health.check(endpoint, Access(secure=secure()), timeout_s=5)
    assert (answer.status, answer.rtt_s, answer.detail) == (Status.PLAINTEXT, None, "does not speak TLS")


async def test_a_backend_that_is_called_otherwise_from_now_on_gets_another_connection() -> None:
    peers: list[str] = []

    async def answer(context: Any) -> bytes:  # noqa: ANN401 # grpc's context has no public type
        peers.append(context.peer())
        return b"\x08\x01"

    async with serving([checking(answer)]) as endpoint, Prober() as prober:
        for name in ("one", "one", "other"):
            await prober.check(endpoint, Access(authority=name), timeout_s=5)
    assert peers[0] == peers[1] != peers[2]


def test_nothing_of_it_needs_grpcio() -> None:
    modules = "lbctl.rpc.access, lbctl.rpc.health, lbctl.rpc.schemas.reflection, lbctl.rpc.probe"
    code = f"import sys, {modules}; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
