"""Hosts that mean another machine to everybody who reads them, or no machine at all."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_EXAMPLES: Final = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")))


def host_of(endpoint: str) -> str:
    """The host of a ``host:port`` text, without brackets."""
    return endpoint.rpartition(":")[0].strip("[]")


def is_loopback(host: str) -> bool:
    """Whether a host means the machine of whoever reads it."""
    address = _address(host)
    return address.is_loopback if address is not None else host.lower().rstrip(".") == "localhost"


def why_unroutable(host: str) -> str:
    """Why no packet finds its way to a host; nothing where it may."""
    address = _address(host)
    if address is None:
        return ""
    if address.is_multicast:
        return "is a multicast address"
    if address.is_link_local and "%" not in host:
        return "is a link-local address, which means something else on every network"
    if any(address in network for network in _EXAMPLES):
        return "is an address for examples in documents"
    if isinstance(address, IPv4Address) and address.packed[0] >= 240:
        return "is no address of a machine"
    return ""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
