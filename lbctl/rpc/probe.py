"""What stands at an address that gRPC could not use: found by looking at the first bytes it answers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lbctl.model import Endpoint

# The HTTP/2 client preface and an empty SETTINGS frame: what every gRPC connection starts with.
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
FRAME_HEADER: Final = 9
SETTINGS: Final = 4
TLS_ALERT: Final = b"\x15\x03"
TLS_HANDSHAKE: Final = b"\x16\x03"


class Kind(StrEnum):
    """Why a backend cannot be called, as one word."""

    REFUSED = "REFUSED"
    TIMEOUT = "TIMEOUT"
    TLS = "TLS"
    HTTP1 = "HTTP1"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a backend cannot be called; ``text`` continues a sentence that begins with its address."""

    kind: Kind
    text: str


REFUSED: Final = Obstacle(Kind.REFUSED, "refused the connection")
TLS: Final = Obstacle(Kind.TLS, "speaks TLS, and lbctl sends plaintext")
HTTP1: Final = Obstacle(Kind.HTTP1, "speaks HTTP/1.1, not HTTP/2")
NO_ADDRESS: Final = Obstacle(Kind.ERROR, "does not resolve to an address")
CLOSED: Final = Obstacle(Kind.ERROR, "closed the connection without an answer")
NOT_HTTP2: Final = Obstacle(Kind.ERROR, "speaks neither HTTP/2 nor TLS")


def silent(timeout_s: float) -> Obstacle:
    """Describe a backend that took longer than we wait."""
    return Obstacle(Kind.TIMEOUT, f"did not answer within {timeout_s:g}s")


async def probe(endpoint: Endpoint, timeout_s: float) -> Obstacle | None:
    """Say what is wrong at an address, or None where an HTTP/2 server answers plaintext."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _look(endpoint)
    except TimeoutError:
        return silent(timeout_s)
    except OSError as error:
        return unreachable(error)
    except (UnicodeError, OverflowError):  # a host no name server would take, a port above 65535
        return NO_ADDRESS


def unreachable(error: OSError) -> Obstacle:
    """Put a failed connect into words."""
    if isinstance(error, ConnectionRefusedError):
        return REFUSED
    if isinstance(error, socket.gaierror):
        return NO_ADDRESS
    # asyncio wraps the errors of several addresses into one text; all refused is still refused.
    if "Multiple exceptions" in str(error) and "refused" in str(error):
        return REFUSED
    reason = error.strerror or type(error).__name__
    return Obstacle(Kind.ERROR, f"cannot be reached ({reason[:1].lower()}{reason[1:]})")


async def _look(endpoint: Endpoint) -> Obstacle | None:
    answer = await _first_bytes(endpoint, PREFACE)
    if answer[3:4] == bytes([SETTINGS]) and not answer.startswith(b"HTTP/"):
        return None
    if answer.startswith(TLS_ALERT):
        return TLS
    # Go's TLS servers close without a word, or answer in HTTP/1 on the TLS port: only a handshake tells.
    if (await _first_bytes(endpoint, _client_hello())).startswith((TLS_HANDSHAKE, TLS_ALERT)):
        return TLS
    if answer.startswith(b"HTTP/"):
        return HTTP1
    return NOT_HTTP2 if answer else CLOSED


async def _first_bytes(endpoint: Endpoint, opening: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    answer = b""
    try:
        writer.write(opening)
        while len(answer) < FRAME_HEADER and (more := await reader.read(FRAME_HEADER)):
            answer += more
    except ConnectionError:
        return answer
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return answer


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
