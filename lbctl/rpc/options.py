"""How the connections to backends are made and kept."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import NamedTuple

from lbctl.wire.limits import Limits


class Pem(NamedTuple):
    """The files that a context was made of, as PEM; None: the system's authorities, no certificate of our own."""

    ca: bytes | None = None
    cert: bytes | None = None
    key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Secure:
    """TLS for one backend: the context (ALPN h2 alone), and the name its certificate has to show.

    With ``nameless``, which trusts the same authorities and compares no name, a certificate of another name can be
    looked at to say which names it has. ``pem`` is for a TLS library other than Python's.
    """

    context: ssl.SSLContext = field(repr=False)
    server_name: str
    nameless: ssl.SSLContext | None = field(default=None, repr=False)
    pem: Pem = field(default=Pem(), repr=False)

    @property
    def shows_certificate(self) -> bool:
        """Whether the peer is given a certificate of our own where it asks for one."""
        return self.pem.cert is not None


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """Seconds, unless said otherwise. ``connections`` are opened to each backend; ``keepalive_s`` 0 sends no PINGs."""

    connections: int = 1
    connect_timeout_s: float = 10.0
    keepalive_s: float = 0.0
    keepalive_timeout_s: float = 20.0
    stall_s: float = 20.0  # how long a peer may not read before the connection is closed
    limits: Limits = field(default_factory=Limits)
