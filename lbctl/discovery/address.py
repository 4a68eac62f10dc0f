"""The one strict reader of ``host:port`` texts from the registry: what it accepts can be dialled."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?", re.ASCII)
_MAX_HOST = 253
_DOTTED = re.compile(r"[0-9.]+", re.ASCII)
_BLANK = " \t\r\n\v\f"


@lru_cache(maxsize=4096)  # a registration has its address twice, and is looked at by several layouts
def parse_address(text: str) -> Endpoint:
    """Read ``host:port`` or ``[ipv6]:port``, or raise Unusable with the reason; nothing is guessed into shape."""
    check_text(text)
    if not text:
        raise Unusable("no_address", "address is empty")
    if "," in text or ";" in text:
        raise Unusable("multi_address", "a list of addresses where one belongs")
    if text.startswith(("/", "unix:", "unix@")):
        raise Unusable("not_tcp", "a unix socket, not host:port")
    if "://" in text:
        raise Unusable("bad_address", "a URL where host:port belongs")
    host, port = _bracketed(text) if text.startswith("[") else _plain(text)
    return Endpoint(_checked_host(host), _port(port))


def is_address(text: str) -> bool:
    """Tell whether a text is a usable address."""
    try:
        parse_address(text)
    except Unusable:
        return False
    return True


def check_text(text: str) -> None:
    """Raise Unusable for white space and for control characters (a newline counts as white space)."""
    if text.isprintable() and " " not in text:
        return
    if any(char in _BLANK for char in text):
        raise Unusable("whitespace", "white space in the value (a trailing newline?)")
    check_control(text)


def check_control(text: str) -> None:
    """Raise Unusable for characters that would steer a terminal or are not text at all."""
    if any(not char.isprintable() and char != " " for char in text):
        raise Unusable("control_chars", "control characters")


def _bracketed(text: str) -> tuple[str, str]:
    host, closed, rest = text[1:].partition("]")
    if not closed or not _is_ipv6(host):
        raise Unusable("bad_address", "not an IPv6 address in brackets")
    if not rest:
        raise Unusable("no_port", "no port")
    if not rest.startswith(":"):
        raise Unusable("bad_address", "text after the bracket")
    return host, rest[1:]


def _plain(text: str) -> tuple[str, str]:
    host, colon, port = text.rpartition(":")
    if not colon:
        raise Unusable("no_port", "no port")
    if ":" in host:
        if _is_ipv6(text) or _is_ipv6(host):
            raise Unusable("ipv6_unbracketed", f"IPv6 without brackets; [{host}]:{port}?")
        raise Unusable("bad_address", "more than one colon")
    return host, port


def _port(text: str) -> int:
    if not text:
        raise Unusable("no_port", "no port")
    if not text.isascii() or not text.isdigit():
        raise Unusable("bad_port", "port is not a number")
    if len(text) > 5 or not 0 < int(text) < 65536:
        raise Unusable("bad_port", f"port {text[:20]} is not in 1-65535")
    return int(text)


def _checked_host(host: str) -> str:
    if not host:
        raise Unusable("no_host", "no host")
    ip = _ip(host)
    if host == "*" or (ip is not None and ip.is_unspecified):
        raise Unusable("wildcard_address", f"{host} is a wildcard: it would reach the caller's own machine")
    if ip is not None:
        return host
    if len(host) > _MAX_HOST or not _HOST_NAME.fullmatch(host) or _DOTTED.fullmatch(host):
        raise Unusable("bad_address", "neither a host name nor an IP address")
    return host


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
