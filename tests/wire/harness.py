"""A scripted server and a client dialled to it, in one ``async with``; and the words the tests judge results with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from lbctl.model import Code, Endpoint, Origin
from tests.scripted import Behaviour, ScriptedServer
from tests.wire.clients import CallResult, Client, GrpcioClient, NullClient

PATH = "/pkg.Svc/Method"
CALL_S = 1.5  # long enough never to decide a test that is not about deadlines


def dial(endpoint: Endpoint, *, authority: str = "echo", connect_timeout_s: float = 1.0) -> Client:
    """The client under test: lbctl's own, unless LBCTL_TEST_CLIENT names a stand-in."""
    stand_in = os.environ.get("LBCTL_TEST_CLIENT")
    if stand_in == "null":
        return NullClient(endpoint, authority=authority, connect_timeout_s=connect_timeout_s)
    if stand_in == "grpcio":
        return GrpcioClient(endpoint, authority=authority, connect_timeout_s=connect_timeout_s)
    from lbctl.rpc.caller import Caller

    return Caller(endpoint, authority=authority, connect_timeout_s=connect_timeout_s)


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
    async with server, dial(server.endpoint, connect_timeout_s=connect_timeout_s) as client:
        yield server, client


async def call(client: Client, body: bytes = b"request", *, path: str = PATH, timeout_s: float = CALL_S) -> CallResult:
    return await client.unary(path, body, timeout_s=timeout_s)


async def calls(client: Client, count: int, body: bytes = b"request", *, timeout_s: float = CALL_S) -> list[CallResult]:
    """``count`` calls at once, in order of their start."""
    return list(await asyncio.gather(*(call(client, body, timeout_s=timeout_s) for _ in range(count))))


def verdict(result: CallResult) -> tuple[Code, Origin, int]:
    """What most tests compare: code, origin, attempts."""
    return result.reply.code, result.reply.origin, result.attempts


def succeeded(result: CallResult, message: bytes = b"reply", *, attempts: int = 1) -> None:
    """The call is OK by the server's word, with exactly this message."""
    assert verdict(result) == (Code.OK, Origin.SERVER, attempts), result.reply
    assert result.reply.message == message


def failed(result: CallResult, code: Code, origin: Origin, *words: str, attempts: int = 1) -> str:
    """The call failed that way and its reason holds the words; the reason."""
    assert verdict(result) == (code, origin, attempts), result.reply
    missing = [word for word in words if word.lower() not in result.reply.reason.lower()]
    assert not missing, f"{missing} not in {result.reply.reason!r}"
    return result.reply.reason
