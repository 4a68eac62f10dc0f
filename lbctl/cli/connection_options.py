"""The options of commands that connect to backends; each is also a setting (see ``settings``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from lbctl.cli.addresses import parse_weighted_endpoints
from lbctl.cli.completion_sources import backends
from lbctl.cli.completion_values import free
from lbctl.cli.flags import Flags, one_of, option, switch
from lbctl.cli.values import parse_count, parse_duration, parse_size
from lbctl.commands.reach import Reach
from lbctl.errors import UsageError

PANEL: Final = "Backend connections"
ENGINES: Final = ("wire", "grpcio")
DEFAULT_ENGINE: Final = "wire"
SHORTEST_KEEPALIVE_S: Final = 10.0
MOST_CONNECTIONS: Final = 10_000


class BackendOptions:
    """How a backend is reached: in the clear or by TLS, and under which name."""

    tls: Annotated[
        bool | None,
        switch(
            "--tls/--plaintext",
            text="use TLS, or do not (default: what the registration says, else plaintext; env LBCTL_TLS)",
            panel=PANEL,
        ),
    ]
    tls_ca: Annotated[
        str | None,
        option(
            "--tls-ca",
            text="CA certificates that backends are checked by (default: the system's); implies --tls",
            metavar="FILE",
            panel=PANEL,
        ),
    ]
    tls_cert: Annotated[
        str | None,
        option("--tls-cert", text="client certificate, for mutual TLS; implies --tls", metavar="FILE", panel=PANEL),
    ]
    tls_key: Annotated[str | None, option("--tls-key", text="private key of --tls-cert", metavar="FILE", panel=PANEL)]
    tls_server_name: Annotated[
        str | None,
        option(
            "--tls-server-name",
            text="the name the certificate has to show (default: that of the authority); implies --tls",
            metavar="NAME",
            panel=PANEL,
            completes=free,
        ),
    ]
    tls_skip_verify: Annotated[
        bool | None,
        switch("--tls-skip-verify", text="accept any certificate; implies --tls", panel=PANEL),
    ]
    authority: Annotated[
        str | None,
        option(
            "--authority",
            text="the :authority sent (default: the TLS server name, else the service's name, else the address)",
            metavar="NAME",
            panel=PANEL,
            completes=free,
        ),
    ]
    connect_timeout: Annotated[
        str | None,
        option(
            "--connect-timeout",
            text="limit of one connect, TLS and the first SETTINGS included (default 10s)",
            metavar="TIME",
            panel=PANEL,
        ),
    ]


def _connections(text: str) -> int:
    count = parse_count(text)
    if count > MOST_CONNECTIONS:
        raise ValueError(f"{text!r}: must be {MOST_CONNECTIONS} or less")
    return count


def _keepalive(text: str) -> float:
    seconds = parse_duration(text)
    if 0 < seconds < SHORTEST_KEEPALIVE_S:
        raise ValueError(f"{text!r}: must be 10s or more (servers close connections that are pinged too often)")
    return seconds


@dataclass(frozen=True, slots=True)
class ReachFlags(Flags):
    """Which backends, and what of their connections matters to a single call."""

    backends: Annotated[
        Any,
        option(
            "--backends",
            text="call these instead of asking etcd: HOST:PORT[=WEIGHT],... also unix:/path, unix-abstract:name",
            metavar="LIST",
            panel=PANEL,
            parse=parse_weighted_endpoints,
            completes=backends,
        ),
    ] = None
    max_msg_size: Annotated[
        int | None,
        option(
            "--max-msg-size",
            text="largest message a backend may send (default 4MiB)",
            metavar="SIZE",
            panel=PANEL,
            parse=parse_size,
        ),
    ] = None
    keepalive: Annotated[
        float | None,
        option(
            "--keepalive",
            text="PING a connection with calls in flight that was silent for this long, 10s or more (default never)",
            metavar="TIME",
            panel=PANEL,
            parse=_keepalive,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ConnectionFlags(ReachFlags):
    """Which backends, by which engine, over how many connections."""

    engine: Annotated[
        str | None,
        option(
            "--engine",
            text="wire, lbctl's own, or grpcio, the gRPC library for comparison (default wire)",
            metavar="NAME",
            panel=PANEL,
            parse=one_of(*ENGINES),
        ),
    ] = None
    connections: Annotated[
        int | None,
        option(
            "--connections",
            text="connections to each backend (default 1)",
            metavar="N",
            panel=PANEL,
            parse=_connections,
        ),
    ] = None
    max_streams: Annotated[
        int | None,
        option(
            "--max-streams",
            text="calls in flight on one connection, fewer where the server says so (default 1000)",
            metavar="N",
            panel=PANEL,
            parse=parse_count,
        ),
    ] = None
    max_requests_per_conn: Annotated[
        int | None,
        option(
            "--max-requests-per-conn",
            text="replace a connection after so many calls",
            metavar="N",
            panel=PANEL,
            parse=parse_count,
        ),
    ] = None
    no_retry: Annotated[
        bool,
        switch("--no-retry", text="send no call again that a backend says it did not process", panel=PANEL),
    ] = False
    no_rst: Annotated[
        bool,
        switch("--no-rst", text="send no RST_STREAM for a call whose deadline passed", panel=PANEL),
    ] = False


_IMPLY_TLS = ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "tls_skip_verify")


def reach_of(values: dict[str, Any], origins: Mapping[str, str]) -> Reach:
    """Take what concerns backends out of the values. A --tls-... flag switches TLS on; variables and files do not."""
    tls = values.pop("tls")
    how = {name: values.pop(name) for name in _IMPLY_TLS}
    implying = [origins[name] for name, value in how.items() if value and origins[name].startswith("--")]
    if implying and origins.get("tls") == "--plaintext":
        raise UsageError(f"--plaintext and {implying[0]} contradict each other", "leave one of them out")
    if (how["tls_cert"] is None) != (how["tls_key"] is None):
        raise UsageError("--tls-cert and --tls-key belong together", "give both, or neither")
    return Reach(
        tls=True if implying else tls,
        ca=_file(how["tls_ca"]),
        cert=_file(how["tls_cert"]),
        key=_file(how["tls_key"]),
        server_name=how["tls_server_name"],
        skip_verify=how["tls_skip_verify"],
        authority=values.pop("authority"),
        connect_timeout_s=values.pop("connect_timeout"),
    )


def _file(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
