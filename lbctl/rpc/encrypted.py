"""TLS between a socket and a link, without the event loops' own: they take whole writes in and say they are gone.

Here what the kernel did not take is seen, as it is without TLS, and errors are the same on every event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Any, Final, Protocol, cast

from lbctl.rpc.direct import DirectTransport
from lbctl.rpc.options import Secure

_READ: Final = 256 << 10


class Beyond(Protocol):
    """Who speaks through the encryption."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...

    def data_received(self, data: bytes) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


class Cipher:
    """One connection's TLS as bytes in and out: no sockets."""

    def __init__(self, secure: Secure) -> None:
        self.ended = False  # the peer said goodbye
        self.shows_certificate = secure.shows_certificate
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = secure.context.wrap_bio(self._in, self._out, server_hostname=secure.server_name)

    async def shake_hands(self, sock: socket.socket) -> None:
        """Agree with the peer; raises ssl.SSLError, after telling the peer why, and OSError."""
        loop = asyncio.get_running_loop()
        over = False
        while not over:
            try:
                self.tls.do_handshake()
                over = True
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    await loop.sock_sendall(sock, self._out.read())
                raise
            if self._out.pending:
                await loop.sock_sendall(sock, self._out.read())
            if not over:
                self.take(await loop.sock_recv(sock, _READ))

    def take(self, data: bytes) -> None:
        """What the peer sent; nothing more will come after b""."""
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()

    def plain(self) -> bytes:
        """All that has been taken in, decrypted; raises ssl.SSLError."""
        pieces: list[bytes] = []
        try:
            while piece := self.tls.read(_READ):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError:
            if not pieces:
                raise  # else at the next read: what came before it counts
        return b"".join(pieces)

    def sealed(self, data: bytes = b"") -> bytes:
        """The data encrypted, behind what TLS itself has to say."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.tls.write(rest) :]
        return self._out.read()

    def goodbye(self) -> bytes:
        """Our close_notify."""
        with contextlib.suppress(ssl.SSLError):
            self.tls.unwrap()
        return self._out.read()


class Encrypted(asyncio.Transport, asyncio.Protocol):
    """The transport of who speaks through it, and the protocol of the event loop's own."""

    def __init__(self, beyond: Beyond, cipher: Cipher, sock: socket.socket) -> None:
        super().__init__()
        self._beyond = beyond
        self._cipher = cipher
        self._sock = sock
        self._raw: DirectTransport
        self._error: Exception | None = None
        self._closing = False

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = DirectTransport(cast(asyncio.Transport, transport), self._sock)
        self._beyond.connection_made(self)
        self._read()  # what came with the end of the handshake

    def data_received(self, data: bytes) -> None:
        self._cipher.take(data)
        self._read()

    def pause_writing(self) -> None:
        self._beyond.pause_writing()

    def resume_writing(self) -> None:
        self._beyond.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        beyond, self._beyond = self._beyond, _Nobody()
        beyond.connection_lost(self._error or error)

    def _read(self) -> None:
        more = True
        while more and not self._closing:
            try:
                plain = self._cipher.plain()
            except ssl.SSLError as error:
                self._error = error
                return self.abort()
            more = bool(plain)
            if plain:
                self._beyond.data_received(plain)
        if self._cipher.ended:
            return self.close()
        reply = b"" if self._closing else self._cipher.sealed()
        if reply:
            self._raw.write(reply)
        return None

    # What the link asks.

    def write(self, data: Any) -> None:  # noqa: ANN401  # whatever asyncio calls bytes
        if not self._closing:
            self._raw.write(self._cipher.sealed(data))

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._raw.write(self._cipher.goodbye())
            self._raw.close()

    def abort(self) -> None:
        self._closing = True
        self._raw.abort()

    def is_closing(self) -> bool:
        return self._closing or self._raw.is_closing()

    def pause_reading(self) -> None:
        self._raw.pause_reading()

    def resume_reading(self) -> None:
        self._raw.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._raw.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._raw.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # as asyncio's own
        if name == "ssl_object":
            return self._cipher.tls
        if name == "shows_certificate":
            return self._cipher.shows_certificate
        return self._raw.get_extra_info(name, default)


class _Nobody(asyncio.Protocol):
    """In the place of who has heard of the end."""
