"""Connections: how many, for how long, and to what kind of address."""

from __future__ import annotations

import asyncio
import gzip
import socket
from pathlib import Path

import grpc.aio
import pytest

from tests.e2e.runs import Ended, hammer
from tests.scripted import Connection, ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null", "-o", "json")


async def at(server: ScriptedServer, *options: str) -> Ended:
    return await hammer("--backends", str(server.endpoint), *RAW, *options)


async def test_each_backend_gets_as_many_connections_as_asked_for() -> None:
    async with ScriptedServer(answering(h2.reply)) as server:
        done = await at(server, "--connections", "3", "-n", "90", "-c", "9")
    assert done.document["ok"] == 90
    assert [len(peer.requests) > 0 for peer in server.connections] == [True] * 3
    assert sum(len(peer.requests) for peer in server.connections) == 90
    assert done.document["load"]["connections"] == 3
    assert done.document["wire"]["opened"] == 3


async def test_a_connection_carries_no_more_calls_at_once_than_allowed() -> None:
    open_at_once: list[int] = []

    async def behave(peer: Connection) -> None:
        while True:
            requests = [await peer.request(), *peer.pending()]
            await peer.barrier()
            requests += peer.pending()
            open_at_once.append(len(requests))
            peer.send(*(h2.reply(request.stream) for request in requests))

    async with ScriptedServer(behave) as server:
        done = await at(server, "--max-streams", "2", "-n", "12", "-c", "6")
    assert done.document["ok"] == 12
    assert max(open_at_once) == 2
    assert done.document["wire"]["waits"]["slot"]["calls"] > 0


async def test_a_connection_is_replaced_after_so_many_calls() -> None:
    async with ScriptedServer(answering(h2.reply)) as server:
        done = await at(server, "--max-requests-per-conn", "10", "-n", "40", "-c", "2")
    assert (done.document["ok"], done.document["errors"]) == (40, 0)
    assert [len(peer.requests) for peer in server.served] == [10] * 4


async def test_a_message_may_be_larger_than_usual_only_where_that_is_allowed() -> None:
    large = b"x" * (5 << 20)

    def whole(stream: int) -> bytes:
        body = h2.message(large)
        pieces = (body[at : at + h2.LARGEST_FRAME] for at in range(0, len(body), h2.LARGEST_FRAME))
        return h2.okh(stream) + b"".join(h2.data(stream, piece) for piece in pieces) + h2.trailers(stream, 0)

    async with ScriptedServer(answering(whole), strict=False) as server:
        refused = await at(server, "-n", "1")
        allowed = await at(server, "-n", "1", "--max-msg-size", "6MiB")
    assert refused.document["codes"] == {"RESOURCE_EXHAUSTED": 1}
    assert allowed.document["codes"] == {"OK": 1}


async def test_a_refused_call_is_sent_once_more_unless_told_not_to() -> None:
    def refusing(stream: int) -> bytes:
        return h2.rst(stream, 7)

    async with ScriptedServer(answering(refusing, h2.reply)) as server:
        again = await at(server, "-n", "1")
    async with ScriptedServer(answering(refusing, h2.reply)) as server:
        once = await at(server, "-n", "1", "--no-retry")
    assert (again.document["codes"], again.document["retries"]) == ({"OK": 1}, 1)
    assert (once.document["codes"], once.document["retries"]) == ({"UNAVAILABLE": 1}, 0)


@pytest.mark.parametrize("option", [(), ("--no-rst",)])
async def test_a_late_call_is_reset_at_the_server_unless_told_not_to(option: tuple[str, ...]) -> None:
    resets: list[int] = []

    async def behave(peer: Connection) -> None:
        await peer.request()
        await peer.gone()
        resets.append(len(peer.all_seen(h2.RST_STREAM)))

    async with ScriptedServer(behave) as server:
        done = await at(server, "-n", "1", "-t", "100ms", "--grace", "0", *option)
    assert done.document["codes"] == {"DEADLINE_EXCEEDED": 1}
    assert resets == [0 if option else 1]


@pytest.mark.slow
async def test_a_silent_connection_is_pinged_after_the_time_asked_for() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        async with asyncio.timeout(30):
            await peer._until("a PING", lambda: peer.all_seen(h2.PING, ack=False))  # longer than other scripts wait
        peer.send(h2.reply(request.stream))
        await peer.gone()

    async with ScriptedServer(behave) as server:
        done = await at(server, "-n", "1", "--keepalive", "10s", "-t", "40s")
    assert done.document["codes"] == {"OK": 1}
    assert done.document["wire"]["pings_sent"] == 1
    assert done.document["latency_ms"]["min"] >= 5_000  # counted from what was last read, before the call


async def test_messages_are_compressed_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / "message.bin").write_bytes(b"a" * 5000)
    async with ScriptedServer(answering(h2.reply)) as server:
        options = ("--binary-file", "message.bin", "--compress", "gzip", "-n", "3")
        done = await hammer("--backends", str(server.endpoint), "test.Echo/Say", *options, cwd=tmp_path)
        (peer,) = server.served
    assert done.status == 0
    for request in peer.requests.values():
        assert request.header(b"grpc-encoding") == b"gzip"
        assert request.body[0] == 1
        assert gzip.decompress(request.message) == b"a" * 5000


async def answer(request: bytes, context: object) -> bytes:
    return request


@pytest.mark.parametrize("kind", ["unix", "unix-abstract", "unix://"])
async def test_a_backend_may_be_a_unix_socket(kind: str, tmp_path: Path) -> None:
    name = f"lbctl-test-{tmp_path.parent.name}-{tmp_path.name}"
    address = {
        "unix": f"unix:{tmp_path}/s",
        "unix://": f"unix://{tmp_path}/s",
        "unix-abstract": f"unix-abstract:{name}",
    }[kind]
    server = grpc.aio.server()
    echo = grpc.method_handlers_generic_handler("test.Echo", {"Say": grpc.unary_unary_rpc_method_handler(answer)})
    server.add_generic_rpc_handlers((echo,))
    server.add_insecure_port(address)
    await server.start()
    try:
        done = await hammer("--backends", f"{address}=3", *RAW, "-n", "9", "-v")
    finally:
        await server.stop(None)
    (row,) = done.document["backends"]
    assert (row["ok"], row["weight"], row["address"]) == (9, 3, address.replace("unix://", "unix:"))
    assert f"backend {row['address']}: plaintext, authority localhost\n" in done.err


async def test_a_connection_may_not_take_longer_than_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, and nobody says a word
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = await hammer("--backends", address, *RAW, "--connect-timeout", "200ms")
    assert (done.status, done.out) == (5, "")
    assert f"cannot be called: {address} gave no HTTP/2 SETTINGS within 0.2s\n" in done.err


async def test_a_unix_socket_that_is_not_there_is_told() -> None:
    done = await hammer("--backends", "unix:/nowhere/s", *RAW)
    assert (done.status, done.out) == (5, "")
    assert 'error: the only backend of "test.Echo" cannot be called: unix:/nowhere/s ' in done.err


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            ("--keepalive", "9s"),
            "Invalid value for '--keepalive': '9s': must be 10s or more "
            "(servers close connections that are pinged too often)",
            "see: lbctl hammer --help",
        ),
        (
            ("--max-msg-size", "5 tons"),
            "Invalid value for '--max-msg-size': '5 tons': unknown unit 'tons' (use KiB, MiB or GiB)",
            "see: lbctl hammer --help",
        ),
        (
            ("--engine", "netty"),
            "Invalid value for '--engine': 'netty' is not one of wire, grpcio",
            "see: lbctl hammer --help",
        ),
        (
            ("--compress", "br"),
            "Invalid value for '--compress': 'br' is not one of gzip",
            "see: lbctl hammer --help",
        ),
        (
            ("--connections", "1m"),
            "Invalid value for '--connections': '1m': must be 10000 or less",
            "see: lbctl hammer --help",
        ),
        (
            ("--connections", "0"),
            "Invalid value for '--connections': '0': must be 1 or more",
            "see: lbctl hammer --help",
        ),
    ],
)
async def test_what_no_connection_could_do_is_refused(options: tuple[str, ...], message: str, hint: str) -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, *options)
    assert (done.status, done.out, done.err) == (2, "", f"error: {message}\nhint: {hint}\n")
