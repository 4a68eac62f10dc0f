"""Where etcd is and how to talk to it: plain values, checked when they are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lbctl.errors import UsageError

DEFAULT_PORT = 2379
DEFAULT_ENDPOINT = f"127.0.0.1:{DEFAULT_PORT}"


@dataclass(frozen=True, slots=True)
class EtcdConfig:
    """One etcd cluster; ``cacert``, ``cert`` and ``key`` are file names, and any of them means TLS."""

    endpoints: tuple[str, ...] = (DEFAULT_ENDPOINT,)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    tls: bool = False  # TLS with the system's authorities: an https:// endpoint
    skip_verify: bool = False  # take every certificate that etcd shows
    server_name: str | None = None  # the name the certificate must have, where it is not the endpoint's
    dial_timeout_s: float = 2.0
    command_timeout_s: float = 5.0
    keepalive_s: float = 10.0  # how long a stream is silent before etcd is asked whether it lives
    keepalive_timeout_s: float = 5.0
    max_answer: int = 32 * 2**20  # bytes of one answer to a read; longer ones are asked for in parts

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise UsageError("no etcd endpoint was given", "for example: --endpoints 127.0.0.1:2379")
        if (self.cert is None) != (self.key is None):
            raise UsageError("--cert and --key belong together", "give both, or neither")

    @property
    def secure(self) -> bool:
        return self.tls or bool(self.cacert or self.cert)


def parse_endpoints(items: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Turn what people write (``http://h:1,h2``) into ``host:port`` targets and whether they ask for TLS."""
    parsed = [_parse_endpoint(word.strip()) for item in items for word in item.split(",") if word.strip()]
    schemes = {secure for _, secure in parsed if secure is not None}
    if len(schemes) > 1:
        raise UsageError("etcd endpoints mix http:// and https://", "use one scheme for all of them")
    return tuple(dict.fromkeys(target for target, _ in parsed)), schemes == {True}


def read_file(name: str | None) -> bytes | None:
    """Read a certificate or key; a file that cannot be read is a UsageError that names it."""
    if name is None:
        return None
    try:
        return Path(name).expanduser().read_bytes()
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"cannot read {name}: {why}", "check --cacert, --cert and --key") from error


def _parse_endpoint(word: str) -> tuple[str, bool | None]:
    scheme, found, rest = word.rpartition("://")
    if found and scheme not in {"http", "https"}:
        raise UsageError(
            f'etcd endpoint "{word}" has the unknown scheme {scheme}', "use host:port, http:// or https://"
        )
    host, port = _split(rest.rstrip("/"))
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f'etcd endpoint "{word}" is not host:port', "for example: 127.0.0.1:2379 or [::1]:2379")
    return f"{host}:{port}", (scheme == "https") if found else None


def _split(rest: str) -> tuple[str, str]:
    if rest.endswith("]") or ":" not in rest:
        return rest, str(DEFAULT_PORT)
    host, _, port = rest.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        return "", ""
    return host, port
