"""TLS servers that speak the way OpenSSL does: asyncio's swallow the alert that says why a handshake failed."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from lbctl.model import Endpoint
from tests.wire import frames as h2

CERTS = Path(__file__).parent.parent / "certs"
CA, CLIENT_CERT, CLIENT_KEY = CERTS / "ca.pem", CERTS / "client.pem", CERTS / "client.key"

Talk = Callable[[socket.socket], None]


def context(
    cert: str = "server",
    *,
    alpn: tuple[str, ...] = ("h2",),
    wants_client: bool = False,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> ssl.SSLContext:
    """A server's side, with one of the certificates of the tests."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(CERTS / f"{cert}.pem", CERTS / f"{cert}.key")
    if alpn:
        made.set_alpn_protocols(list(alpn))
    if wants_client:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(CA)
    if newest < ssl.TLSVersion.TLSv1_2:
        made.set_ciphers("ALL:@SECLEVEL=0")
        made.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    made.maximum_version = newest
    return made


def settings_only(peer: socket.socket) -> None:
    """Say SETTINGS and listen."""
    peer.sendall(h2.settings())
    while peer.recv(65536):
        pass


def http1(peer: socket.socket) -> None:
    peer.recv(100)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def hang_up(peer: socket.socket) -> None:
    peer.recv(100)


def silence(peer: socket.socket) -> None:
    while peer.recv(65536):
        pass


@contextlib.contextmanager
def serving(secure: ssl.SSLContext | None, talk: Talk = settings_only, host: str = "127.0.0.1") -> Iterator[Endpoint]:
    """A server on a thread of its own, which ends with the block; clients have to be gone by then."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        thread = threading.Thread(target=_accept, args=(listener, secure, talk))
        thread.start()
        try:
            yield Endpoint(host, listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            assert not thread.is_alive()


def _accept(listener: socket.socket, secure: ssl.SSLContext | None, talk: Talk) -> None:
    while True:
        try:
            raw, _ = listener.accept()
        except OSError:
            return
        raw.settimeout(5)
        with raw, contextlib.suppress(OSError):
            if secure is None:
                talk(raw)
            else:
                with secure.wrap_socket(raw, server_side=True) as peer:
                    talk(peer)
