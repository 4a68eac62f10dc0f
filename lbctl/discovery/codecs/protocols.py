"""What is spoken where a scheme says so."""

from __future__ import annotations

from typing import Final

_SECURE: Final = {"grpcs": "grpc", "https": "http", "wss": "ws", "tls": "tcp"}


def spoken(scheme: str) -> tuple[str, bool]:
    """Return the protocol of a scheme, and whether it is spoken inside of TLS."""
    return _SECURE.get(scheme, scheme), scheme in _SECURE
