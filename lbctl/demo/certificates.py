"""TLS for a demo: certificates that are made for it alone, and whose keys are no secret."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent / "certs"
CA: Final = _HERE / "ca.pem"
CLIENT: Final = (_HERE / "client.pem", _HERE / "client.key")
SERVER: Final = (_HERE / "server.pem", _HERE / "server.key")


class Tls(StrEnum):
    """How a demo's backends speak: in the clear, by TLS, or by TLS with clients that show a certificate too."""

    OFF = "off"
    SERVER = "server"
    MUTUAL = "mutual"


def client_environment(tls: Tls) -> dict[str, str]:
    """The settings that lbctl reaches such backends with."""
    if tls is Tls.OFF:
        return {}
    found: dict[str, Path] = {"LBCTL_TLS_CA": CA}
    if tls is Tls.MUTUAL:
        found |= {"LBCTL_TLS_CERT": CLIENT[0], "LBCTL_TLS_KEY": CLIENT[1]}
    return {"LBCTL_TLS": "true"} | {name: str(path) for name, path in found.items()}
