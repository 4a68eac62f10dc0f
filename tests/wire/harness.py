"""A scripted server and a client dialled to it, in one ``async with``; and the words the tests judge results with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from lbctl.model import Code, Endpoint, Origin
from lbctl.rpc.caller import Caller
from lbctl.rpc.options import ConnectionOptions
from tests.scripted import Behaviour, Connection, ScriptedServer
from tests.wire.clients import CallResult, Client, GrpcioClient, NullClient
from tests.wire.frames import reply
from tests.wire.hot_client import HotClient

PATH = "/pkg.Svc/Method"
CALL_S = 1.5  # long enough never to decide a test that is not about deadlines


DOOR = "LBCTL_TEST_CLIENT"
TEST_S = 6.0 if DOOR in os.environ else 20.0  # nothing here may hang; stand-ins do


def doors() -> list[str]:
    """The clients to test: lbctl's two, unless the environment names a stand-in."""
    return [os.environ[DOOR]] if DOOR in os.environ else ["caller", "hot"]


def _caller(endpoint: Endpoint, *, authority: str, connect_timeout_s: float) -> Client:
    return Caller(endpoint, authority=authority, options=ConnectionOptions(connect_timeout_s=connect_timeout_s))


def dial(endpoint: Endpoint, *, authority: str = "echo", connect_timeout_s: float = 1.0) -> Client:
    """Make the client that the environment names."""
    makers: dict[str, Callable[..., Client]] = {
        "caller": _caller,
        "hot": HotClient,
        "null": NullClient,
        "grpcio": GrpcioClient,
    }
    return makers[os.environ[DOOR]](endpoint, authority=authority, connect_timeout_s=connect_timeout_s)


@asynccontextmanager
async def meeting(
    behave: Behaviour,
    *,
    settings: Mapping[int, int] | None = None,
    handshake: bool = True,
    credit: bool = True,
    strict: bool = True,
    connect_timeout_s: float = 1.0,
) -> AsyncIterator[tuple[ScriptedServer, Client]]:
    """A server that follows the script, and a client for it; the client leaves first."""
    server = ScriptedServer(behave, settings=settings, handshake=handshake, credit=credit, strict=strict)
    async with asyncio.timeout(TEST_S), server, dial(server.endpoint, connect_timeout_s=connect_timeout_s) as client:
        yield server, client


async def call(client: Client, body: bytes = b"request", *, path: str = PATH, timeout_s: float = CALL_S) -> CallResult:
    return await client.unary(path, body, timeout_s=timeout_s)


async def calls(client: Client, count: int, body: bytes = b"request", *, timeout_s: float = CALL_S) -> list[CallResult]:
    """``count`` calls at once, in order of their start."""
    return list(await asyncio.gather(*(call(client, body, timeout_s=timeout_s) for _ in range(count))))


async def greet(peer: Connection) -> None:
    """Answer the first request: see ``greeted``."""
    peer.send(reply((await peer.request()).stream))


async def greeted(client: Client, *, timeout_s: float = CALL_S) -> None:
    """A first call, so that a short deadline cannot pass before the next one is on the wire."""
    succeeded(await call(client, timeout_s=timeout_s))


def verdict(result: CallResult) -> tuple[Code, Origin, int]:
    """What most tests compare: code, origin, attempts."""
    return result.reply.code, result.reply.origin, result.attempts


def keeps_messages() -> bool:
    """Whether the client under test keeps what it receives; the load engine does not."""
    return os.environ.get(DOOR) in ("caller", "grpcio")


def succeeded(result: CallResult, message: bytes = b"reply", *, attempts: int = 1) -> None:
    """The call is OK by the server's word, with exactly this message."""
    assert verdict(result) == (Code.OK, Origin.SERVER, attempts), result.reply
    if keeps_messages():
        assert result.reply.message == message


def failed(result: CallResult, code: Code, origin: Origin, *words: str, attempts: int = 1) -> str:
    """The call failed that way and its reason holds the words; the reason."""
    assert verdict(result) == (code, origin, attempts), result.reply
    missing = [word for word in words if word.lower() not in result.reply.reason.lower()]
    assert not missing, f"{missing} not in {result.reply.reason!r}"
    return result.reply.reason


def anomalies(client: Client) -> int:
    """How many oddities were counted, whatever their names."""
    return sum(count for name, count in client.counters.items() if name.startswith("anomal"))


def counted(client: Client, kind: str) -> int:
    """How often that was counted, whatever the detail."""
    return sum(count for name, count in client.counters.items() if name.partition(":")[0] == kind)
