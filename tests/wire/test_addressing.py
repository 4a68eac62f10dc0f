"""Where a backend is: addresses, unix sockets, and what the server is told it was called by."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest
import uvloop

from lbctl.model import Code, Endpoint, Origin
from lbctl.rpc.caller import Caller
from lbctl.rpc.dial import dial_socket
from tests.scripted import ScriptedServer, answering
from tests.wire.frames import reply
from tests.wire.harness import call, dial, failed, succeeded

pytestmark = pytest.mark.usefixtures("door")

LINUX = sys.platform == "linux"


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as trial:
            trial.bind(("::1", 0))
    except OSError:
        return False
    return True


async def answered_as(server: ScriptedServer) -> bytes | None:
    """The :authority of a call by the endpoint's own name."""
    async with server, dial(server.endpoint, authority=server.endpoint.authority) as client:
        succeeded(await call(client))
    return server.connections[0].requests[1].header(b":authority")


async def test_an_ipv4_address_is_the_authority_with_its_port() -> None:
    server = ScriptedServer(answering(reply))
    assert await answered_as(server) == f"127.0.0.1:{server.endpoint.port}".encode()


async def test_a_name_is_resolved_and_every_address_of_it_is_tried() -> None:
    server = ScriptedServer(answering(reply), host="127.0.0.1")
    async with server, dial(Endpoint("localhost", server.endpoint.port)) as client:
        succeeded(await call(client))


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 loopback here")
async def test_an_ipv6_address_stands_in_brackets() -> None:
    server = ScriptedServer(answering(reply), host="::1")
    assert await answered_as(server) == f"[::1]:{server.endpoint.port}".encode()


@pytest.mark.skipif(not (LINUX and has_ipv6()), reason="needs an interface called lo")
async def test_a_zone_is_dialled_and_not_told() -> None:
    server = ScriptedServer(answering(reply), host="::1%lo")
    assert await answered_as(server) == f"[::1]:{server.endpoint.port}".encode()


async def test_a_unix_socket_is_dialled_and_the_server_is_told_localhost(tmp_path: Path) -> None:
    server = ScriptedServer(answering(reply), host=f"unix:{tmp_path / 'echo.sock'}")
    assert await answered_as(server) == b"localhost"


@pytest.mark.skipif(not LINUX, reason="abstract names are Linux's")
async def test_an_abstract_unix_socket_is_dialled(tmp_path: Path) -> None:
    server = ScriptedServer(answering(reply), host=f"unix-abstract:lbctl-test-{os.getpid()}-{tmp_path.name}")
    assert await answered_as(server) == b"localhost"


async def test_a_zone_that_is_none_is_named_as_such() -> None:
    async with asyncio.timeout(2), dial(Endpoint("fe80::1%nowhere", 1)) as client:
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "no interface with this name")


@pytest.mark.parametrize(
    ("name", "words"),
    [("unix:{}/none.sock", "no such file or directory"), ("unix:{}", "refused"), ("unix:{}/" + "x" * 200, "too long")],
    ids=["missing", "no_socket", "too_long"],
)
async def test_a_unix_socket_that_nobody_listens_on_is_named_as_such(name: str, words: str, tmp_path: Path) -> None:
    async with asyncio.timeout(2), dial(Endpoint(name.format(tmp_path), 0)) as client:
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, words)


HOSTS = ["127.0.0.1", "localhost", "unix:"]
HOSTS += ["unix-abstract:"] if LINUX else []
HOSTS += ["::1", "::1%lo"] if LINUX and has_ipv6() else []


@pytest.mark.parametrize("host", HOSTS)
def test_uvloop_reaches_the_same_places(host: str, tmp_path: Path) -> None:
    names = {"unix:": f"unix:{tmp_path}/echo", "unix-abstract:": f"unix-abstract:lbctl-{os.getpid()}-{tmp_path.name}"}

    async def converse() -> None:
        server = ScriptedServer(answering(reply), host=names.get(host, host))
        async with asyncio.timeout(5), server, Caller(server.endpoint) as caller:
            succeeded(await caller.unary("/pkg.Svc/Method", b"", timeout_s=3))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(converse())


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_failed_attempts_leave_no_descriptor_open(loop: object, tmp_path: Path) -> None:
    class Nobody(asyncio.Protocol):
        stage = ""

    async def fail() -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            for endpoint in (
                Endpoint("127.0.0.1", bound.getsockname()[1]),
                Endpoint(f"unix:{tmp_path}/none", 0),
                Endpoint("127.0.0.1", 70_000),
            ):
                with pytest.raises((OSError, OverflowError)):
                    await dial_socket(endpoint, Nobody())

    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(fail())  # what the loop opens for itself
        before = len(os.listdir("/proc/self/fd")) if LINUX else 0
        for _ in range(10):
            runner.run(fail())
        assert (len(os.listdir("/proc/self/fd")) if LINUX else 0) == before
