"""Addresses as people type them: of etcd, of backends, and the names backends go by."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lbctl.redaction import masked_text

if TYPE_CHECKING:
    from lbctl.model import Endpoint

_UNIX: Final = ("unix:", "unix-abstract:")
_EXAMPLES: Final = {"unix": "/path", "unix-abstract": "name"}
_LONGEST_SOCKET: Final = 107  # what sockaddr_un holds on Linux, beside its final or first NUL
_AUTHORITY: Final = re.compile(r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?")
_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9._-]+|(?=.*:.*:)[0-9A-Fa-f:.]+")


def parse_endpoint(text: str, default_port: int | None = None) -> Endpoint:
    """``host:port`` or ``[v6]:port``; the port may be left out where a default is given."""
    given = text.strip()
    host, port = _split_host(text, given)
    if not host:
        raise ValueError(f"{text!r} has no host (write host:port)")
    if re.search(r"[\s/@\[\]]", host):
        raise ValueError(f"{text!r} is not host:port")
    if port is None:
        if default_port is None:
            raise ValueError(f"{text!r} has no port (write host:port)")
        return _endpoint(host, default_port)
    return _endpoint(host, _port(text, port))


def _endpoint(host: str, port: int) -> Endpoint:
    from lbctl.model import Endpoint

    return Endpoint(host, port)


def parse_listening(text: str) -> Endpoint:
    """``host:port`` to listen on; port 0 for any that is free, and no host for every address of this machine."""
    given = text.strip()
    host, port = _split_host(text, given)
    if not host and port is not None:
        given = f"0.0.0.0:{port}"
    if port is None or not re.fullmatch(r"0{1,5}", port):
        return parse_endpoint(given)
    return _endpoint(parse_endpoint(given.removesuffix(port) + "1").host, 0)


def parse_collector(text: str) -> str:
    """The URL to post OTLP metrics to; without a path it is the one that collectors have."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text.strip())
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"{masked_text(text)!r} is not http://host:port")
    return parts._replace(path="/v1/metrics").geturl() if parts.path in ("", "/") else parts.geturl()


def _split_host(text: str, given: str) -> tuple[str, str | None]:
    """Host without brackets, and the port's text where there is one."""
    if given.startswith("["):
        match = re.fullmatch(r"\[([0-9A-Fa-f:.%\w]+)\](?::(.*))?", given)
        if match is None:
            raise ValueError(f"{text!r} is not [IPv6]:port")
        return match[1], match[2]
    if given.count(":") > 1:
        raise ValueError(f"{text!r}: an IPv6 address needs brackets{_bracketed(given)}")
    head, colon, tail = given.partition(":")
    return head, tail if colon else None


def _bracketed(given: str) -> str:
    """Spell what may have been meant by an IPv6 address without brackets, with or without a port."""
    from ipaddress import AddressValueError, IPv6Address

    host, _, port = given.rpartition(":")
    meant = []
    for address, spelled in ((host, f"[{host}]:{port}"), (given, f"[{given}]:PORT")):
        try:
            IPv6Address(address)
        except AddressValueError:
            continue
        meant.append(spelled)
    return f" (did you mean {' or '.join(meant)}?)" if meant else ""


def _port(text: str, port: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", port):
        raise ValueError(f"{text!r}: port {port!r} is not a number")
    number = int(port)
    if not 1 <= number <= 65535:
        raise ValueError(f"{text!r}: port {number} is not in 1..65535")
    return number


def parse_endpoints(text: str) -> tuple[Endpoint, ...]:
    """Read ``--endpoints``: comma-separated host:port, each with or without http:// (port 2379 if left out)."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ValueError("no etcd endpoint given (for example 127.0.0.1:2379)")
    if len({part.partition("://")[0] for part in parts if "://" in part}) > 1:
        raise ValueError(f"{text!r} mixes http and https")
    return tuple(parse_endpoint(_without_scheme(part), 2379) for part in parts)


def _without_scheme(text: str) -> str:
    scheme, found, rest = text.partition("://")
    if not found:
        return text
    if scheme not in ("http", "https"):
        raise ValueError(f"{text!r}: unknown scheme {scheme!r} (use http or https, or none)")
    return rest.rstrip("/")


def names_https(text: str) -> bool:
    """Whether any of the comma-separated endpoints asks for TLS by its scheme."""
    return any(part.strip().startswith("https://") for part in text.split(","))


def parse_weighted_endpoints(text: str) -> tuple[tuple[Endpoint, int], ...]:
    """Read ``--backends``: comma-separated addresses, each with or without ``=weight`` (1 if left out).

    An address is host:port, unix:/path or unix-abstract:name.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ValueError("no backend given (for example 127.0.0.1:50051=5,127.0.0.1:50052)")
    return tuple(_weighted(part) for part in parts)


def _weighted(part: str) -> tuple[Endpoint, int]:
    if part.startswith(_UNIX):
        match = re.fullmatch(r"(.*)=([0-9]{1,9})", part)  # any other = is part of the name
        return (_unix(match[1]), int(match[2])) if match else (_unix(part), 1)
    address, found, weight = part.partition("=")
    endpoint = parse_endpoint(address)
    if not found:
        return endpoint, 1
    if not re.fullmatch(r"[0-9]{1,9}", weight):
        raise ValueError(f"{part!r}: weight {weight!r} is not a whole number of at most 9 digits")
    return endpoint, int(weight)


def _unix(text: str) -> Endpoint:
    """A unix socket: unix:PATH, unix:///absolute/path, or unix-abstract:NAME."""
    kind, _, name = text.partition(":")
    if kind == "unix" and name.startswith("//"):
        name = name.removeprefix("//")
        if not name.startswith("/"):
            raise ValueError(f"{text!r}: after unix:// the path begins with / (write unix:///path or unix:path)")
    if not name or "\0" in name:
        raise ValueError(f"{text!r} has no {'path' if kind == 'unix' else 'name'} (write {kind}:{_EXAMPLES[kind]})")
    if kind == "unix":
        name = str(Path(name).absolute())
    if len(os.fsencode(name)) > _LONGEST_SOCKET:
        raise ValueError(f"{text!r} is too long for a unix socket (at most {_LONGEST_SOCKET} bytes)")
    return _endpoint(f"{kind}:{name}", 0)


def parse_authority(text: str) -> str:
    """Read ``--authority``: a host name, or a host name and a port."""
    if not _AUTHORITY.fullmatch(text):
        raise ValueError(f"{text!r} is not a host name, or a host name and a port")
    return text


def parse_server_name(text: str) -> str:
    """Read ``--tls-server-name``: a host name or an IP address, as a certificate states it."""
    if not _SERVER_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a host name or an IP address")
    return text
