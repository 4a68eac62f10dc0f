"""Endpoints written as URLs, ``grpcs://10.0.0.1:9000?key=value``: the scheme may be any, and the query counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from lbctl.discovery.address import check_text, parse_address
from lbctl.discovery.codecs.protocols import spoken
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII | re.IGNORECASE)
_END_OF_HOST = re.compile(r"[/?#]")
_SHOWN: Final = 80


class TransportUrl(NamedTuple):
    """Where one transport of a process listens; ``query`` is as it is spelled."""

    endpoint: Endpoint
    protocol: str
    secure: bool
    query: str


def parse_transport_url(text: str) -> TransportUrl:
    """Read one endpoint, or raise Unusable with the reason."""
    check_text(text)
    scheme, mark, rest = text.partition("://")
    if not mark or not _SCHEME.fullmatch(scheme):
        raise _schemeless(text)
    scheme = scheme.lower()
    if scheme.startswith("unix"):
        raise Unusable("not_tcp", "a unix socket, not host:port")
    authority = _END_OF_HOST.split(rest, maxsplit=1)[0]
    if not authority:
        raise Unusable("no_host", f"endpoint {_shown(text)} has no host")
    query = rest.partition("?")[2].partition("#")[0]
    return TransportUrl(parse_address(authority), *spoken(scheme), query)


def usable_urls(texts: Sequence[str], fatal: Collection[str] = ()) -> tuple[tuple[TransportUrl, ...], tuple[str, ...]]:
    """Read the endpoints of one process, and warn of those that are left out; raises Unusable where none is left.

    A flaw whose code is ``fatal`` fails all of them.
    """
    urls, warnings, flaws = [], [], []
    for text in texts:
        try:
            urls.append(parse_transport_url(text))
        except Unusable as flaw:
            if flaw.code in fatal:
                raise
            flaws.append(flaw)
            warnings.append(f"endpoint {_shown(text)} is left out: {flaw.reason}")
    if not urls:
        raise flaws[0] if flaws else Unusable("no_address", "no endpoints")
    return tuple(urls), tuple(warnings)


def _schemeless(text: str) -> Unusable:
    if not text:
        return Unusable("no_address", "endpoint is empty")
    if text.endswith(":") and _SCHEME.fullmatch(text[:-1]):
        return Unusable("no_host", f"endpoint {_shown(text)} has no host")
    return Unusable("scheme_missing", f"endpoint {_shown(text)} has no scheme")


def _shown(text: str) -> str:
    """As much as people need to find it, and nothing of who logs in there."""
    return text.rpartition("@")[2].partition("?")[0][:_SHOWN]
