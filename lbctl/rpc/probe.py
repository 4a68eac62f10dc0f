"""What stands at an address where a connection ended without a reason: the first bytes it answers tell."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from typing import Final

from lbctl.model import Endpoint
from lbctl.rpc.caller import Caller
from lbctl.rpc.dial import TCP
from lbctl.rpc.obstacle import PLAINTEXT, TLS, Kind, Obstacle, is_late, of_reason, silent
from lbctl.rpc.options import Secure
from lbctl.wire import frames

# What every gRPC connection starts with.
OPENING: Final = frames.PREFACE + frames.settings(())
TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake
_HUNG_UP: Final = re.compile(r"(closed|reset) the connection")
# Below this a look could only repeat that time ran out.
MIN_LOOK_S: Final = 0.05


async def connect(caller: Caller, endpoint: Endpoint, secure: Secure | None, timeout_s: float) -> Obstacle | None:
    """Wait for a caller's connection; where that fails, say what stands at the address."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    failure = await caller.connected(timeout_s=timeout_s)
    if failure is None:
        return None
    if is_late(failure):
        return silent(timeout_s)
    return await explain(endpoint, failure.reason, secure, deadline - asyncio.get_running_loop().time())


async def explain(endpoint: Endpoint, reason: str, secure: Secure | None, timeout_s: float) -> Obstacle:
    """Say why a connection failed; where the reason leaves open whether the peer speaks TLS, look.

    A TLS server may close on plaintext without a word, or answer in HTTP/1 on the TLS port; a plaintext server may
    close on a handshake.
    """
    obstacle = of_reason(reason)
    hung_up = _HUNG_UP.match(obstacle.text) is not None
    if secure is None and (hung_up or obstacle.kind is Kind.HTTP1):
        answer = await _first_bytes(endpoint, _client_hello(), timeout_s)
        return TLS if answer.startswith(TLS_RECORDS) else _without_guess(obstacle)
    if secure is not None and hung_up and obstacle.kind is not Kind.CERTIFICATE:
        answer = await _first_bytes(endpoint, OPENING, timeout_s)
        return PLAINTEXT if answer[3:4] == bytes([frames.SETTINGS]) else obstacle
    return obstacle


def _without_guess(obstacle: Obstacle) -> Obstacle:
    """It might have been TLS, and is not."""
    return Obstacle(obstacle.kind, obstacle.text.partition(": it may ")[0])


async def _first_bytes(endpoint: Endpoint, opening: bytes, timeout_s: float) -> bytes:
    """What an address answers to an opening; nothing where it does not."""
    look = _Look(opening)
    try:
        async with asyncio.timeout(max(timeout_s, MIN_LOOK_S)):
            await TCP.dial(endpoint, look, None)
            await look.over.wait()
    except (OSError, ValueError, OverflowError):
        pass
    finally:
        look.abort()
    return look.answer


class _Look(asyncio.Protocol):
    """Says its opening and hears the first bytes of the answer."""

    def __init__(self, opening: bytes) -> None:
        self.stage = ""
        self.answer = b""
        self.over = asyncio.Event()
        self._opening = opening
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        transport.write(self._opening)  # type: ignore[attr-defined]  # uvloop's is a Transport only in shape

    def data_received(self, data: bytes) -> None:
        self.answer += data[: frames.HEADER_SIZE]
        if len(self.answer) >= frames.HEADER_SIZE:
            self.over.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()  # type: ignore[attr-defined]


def _client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    outgoing = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()
