"""``scheme://host:port`` texts: the schemes that calls are made by, and what each says."""

from __future__ import annotations

from typing import Final, NamedTuple

from lbctl.discovery.address import parse_address
from lbctl.model import Endpoint

_SCHEMES: Final = {
    "http": ("http", False),
    "https": ("http", True),
    "grpc": ("grpc", False),
    "grpcs": ("grpc", True),
    "tcp": ("tcp", False),
    "tri": ("tri", False),
    "dubbo": ("dubbo", False),
    "ws": ("ws", False),
    "wss": ("ws", True),
}
_LONGEST: Final = max(map(len, _SCHEMES)) + len("://")


class Url(NamedTuple):
    """Where a URL leads, and how one talks there, where it says so; ``path`` is what follows the slash."""

    endpoint: Endpoint
    protocol: str | None = None
    secure: bool | None = None
    path: str = ""


def has_scheme(text: str) -> bool:
    """Whether a text is a URL of one of the schemes: those of databases and the like are not."""
    scheme, mark, _ = text[:_LONGEST].partition("://")
    return bool(mark) and scheme.lower() in _SCHEMES


def parse_url(text: str) -> Url:
    """Read a URL that has one of the schemes, or raise Unusable with the reason."""
    scheme, _, rest = text.partition("://")
    protocol, secure = _SCHEMES[scheme.lower()]
    authority, _, path = rest.partition("?")[0].partition("/")
    return Url(parse_address(authority), protocol, secure, path)
