"""The outside world of a subchannel: opening one connection, why that failed, and waiting before the next.

Sockets are made here, so that a link can hand its bytes to the kernel itself: an event loop may do so only at the end
of its turn.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol, cast

from lbctl.model import Endpoint
from lbctl.rpc import tls
from lbctl.rpc.direct import DirectTransport
from lbctl.rpc.encrypted import Beyond, Cipher, Encrypted
from lbctl.rpc.options import Secure

_USER_TIMEOUT_MS: Final = 20_000  # how long the kernel waits for what it sent to be acknowledged


class Dialled(Beyond, Protocol):
    """What a connection is opened for: asyncio's protocol, and what it has to wait for next, for the report."""

    stage: str


Dial = Callable[[Endpoint, Dialled, Secure | None], Awaitable[None]]


async def dial_socket(endpoint: Endpoint, protocol: Dialled, secure: Secure | None = None) -> None:
    """Connect the protocol to the endpoint; raises OSError, ValueError or OverflowError."""
    cipher = None if secure is None else Cipher(secure)
    sock = await _connected(endpoint)
    if secure is None or cipher is None:
        await _attach(endpoint, sock, _Plain(protocol, sock))
        return
    try:
        protocol.stage = "TLS handshake"
        await _agree(endpoint, sock, cipher, secure)
    except BaseException:
        sock.close()
        raise
    await _attach(endpoint, sock, Encrypted(protocol, cipher, sock))


async def _agree(endpoint: Endpoint, sock: socket.socket, cipher: Cipher, secure: Secure) -> None:
    """Shake hands; raises an OSError that says in plain words what is wrong."""
    try:
        await cipher.shake_hands(sock)
    except ssl.SSLError as error:
        names = await _names_shown(endpoint, secure) if tls.is_wrong_name(error) else ""
        reason = tls.describe(error, secure.server_name, shows_certificate=secure.shows_certificate)
        raise _TlsFailure(reason + names) from None
    except ConnectionError:
        raise _TlsFailure(tls.CLOSED) from None
    flaw = tls.alpn_flaw(cipher.tls.selected_alpn_protocol())
    if flaw:
        raise _TlsFailure(flaw)


async def _names_shown(endpoint: Endpoint, secure: Secure) -> str:
    """Which names the peer's certificate has, from a handshake of its own that compares none."""
    if secure.nameless is None:
        return ""
    try:
        cipher = Cipher(Secure(secure.nameless, secure.server_name))
        with await _connected(endpoint) as sock:
            await cipher.shake_hands(sock)
    except OSError:
        return ""
    return f" but for {tls.names_in(cipher.tls.getpeercert() or {})}"


@dataclass(frozen=True, slots=True)
class Network:
    """How connections are opened, and how a number of seconds is let pass; ``dial`` raises as ``dial_socket`` does."""

    dial: Dial = dial_socket
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


TCP: Final = Network()


def describe_failure(error: Exception) -> str:
    """Why a connect failed, in the words of the report."""
    return str(error) if isinstance(error, _TlsFailure) else _words(error).lower()


class _TlsFailure(OSError):
    """A connection came up, and TLS on it did not."""


class _Plain(asyncio.Protocol):
    """Replaced by the protocol as soon as there is a connection; it then writes to the socket itself."""

    def __init__(self, protocol: Dialled, sock: socket.socket) -> None:
        self._protocol = protocol
        self._sock = sock

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's is one only in shape
        transport.set_protocol(cast(asyncio.Protocol, self._protocol))
        self._protocol.connection_made(DirectTransport(transport, self._sock))


async def _connected(endpoint: Endpoint) -> socket.socket:
    """A connected socket; every address of a name is tried, in the resolver's order."""
    failures: list[str] = []  # not the errors: they refer to this call, and the collector does not run during a load
    for family, address in await _addresses(endpoint):
        try:
            return await _connect(family, address)
        except OSError as error:
            failures.append(_words(error))
    # The failures of all addresses of one name; mostly they are the same.
    raise OSError("; ".join(dict.fromkeys(failures)) or "the name has no address")


async def _addresses(endpoint: Endpoint) -> list[tuple[int, object]]:
    if endpoint.is_unix:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no unix sockets")
        return [(socket.AF_UNIX, _unix_address(endpoint.host))]
    if "%" in endpoint.host:
        # Resolvers take the name of a zone for link-local addresses only.
        address, _, zone = endpoint.host.partition("%")
        index = int(zone) if zone.isdecimal() else socket.if_nametoindex(zone)
        return [(socket.AF_INET6, (address, endpoint.port, 0, index))]
    found = await asyncio.get_running_loop().getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def _unix_address(name: str) -> str | bytes:
    kind, _, rest = name.partition(":")
    return b"\0" + rest.encode() if kind == "unix-abstract" else rest


async def _connect(family: int, address: object) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if family in (socket.AF_INET, socket.AF_INET6):
            _tune(sock)
        await asyncio.get_running_loop().sock_connect(sock, address)  # type: ignore[arg-type]  # also abstract names
    except BaseException:
        sock.close()
        raise
    return sock


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)


def _words(error: Exception) -> str:
    """What happened without to whom: event loops put the address into it."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error)


async def _attach(endpoint: Endpoint, sock: socket.socket, protocol: asyncio.Protocol) -> None:
    """Give a connected socket to the event loop, which closes it from here on."""
    loop = asyncio.get_running_loop()
    open_it = loop.create_unix_connection if endpoint.is_unix else loop.create_connection
    await open_it(lambda: protocol, sock=sock)
