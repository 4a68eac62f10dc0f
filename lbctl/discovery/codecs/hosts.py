"""A host and a port that are written apart."""

from __future__ import annotations

from lbctl.discovery.address import parse_address
from lbctl.model import Endpoint


def endpoint_at(host: str, port: int | str) -> Endpoint:
    """Put host and port together, an IPv6 host with or without brackets; raises Unusable with the reason."""
    is_bare_ipv6 = ":" in host and not host.startswith("[")
    return parse_address(f"[{host}]:{port}" if is_bare_ipv6 else f"{host}:{port}")
