"""The values that travel between the layers: no behaviour beyond arithmetic and spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple


class Endpoint(NamedTuple):
    """One place to dial: a host name or IP literal without brackets, and a TCP port.

    A unix socket is ``unix:/path`` or ``unix-abstract:name`` as the host, and port 0.
    """

    host: str
    port: int

    def __str__(self) -> str:
        if self.is_unix:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_unix(self) -> bool:
        return self.host.startswith(("unix:", "unix-abstract:"))

    @property
    def authority(self) -> str:
        """What a server is told it was called by: without an IPv6 zone, and localhost for a unix socket."""
        if self.is_unix:
            return "localhost"
        return str(Endpoint(self.host.partition("%")[0], self.port))


class Code(IntEnum):
    """The gRPC status codes (google.rpc.Code)."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Origin(StrEnum):
    """Who decided a call's status: a bare UNAVAILABLE does not tell an overloaded server from a cut cable."""

    SERVER = "server"  # a valid grpc-status was received
    HTTP = "http"  # made from an HTTP response without a usable grpc-status
    TRANSPORT = "transport"  # RST_STREAM, GOAWAY, connection loss or failure
    CLIENT = "client"  # deadline, shutdown, local validation, no backend


class Entry(NamedTuple):
    """One key of the registry as etcd stores it; ``lease`` is 0 for a permanent key."""

    key: bytes
    value: bytes
    lease: int = 0
    create_revision: int = 0
    mod_revision: int = 0


class Identity(NamedTuple):
    """What makes two descriptions the same backend: a key whose address changed is another backend."""

    key: str
    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Instance:
    """One registered copy of a service, as the registry last described it.

    ``weight``, ``protocol``, ``secure`` and ``status`` are None where the layout does not state them.
    """

    key: str
    service: str
    layout: str
    endpoint: Endpoint
    weight: int | None = None
    protocol: str | None = None
    secure: bool | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    status: str | None = None
    lease: int = 0
    create_revision: int = 0
    mod_revision: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.key, self.endpoint)

    @property
    def address(self) -> str:
        return str(self.endpoint)

    @property
    def speaks_grpc(self) -> bool:
        """Whether gRPC may be spoken there: False where the registration states another protocol."""
        return self.protocol in (None, "grpc", "tri")

    @property
    def effective_weight(self) -> int:
        """The weight a balancer uses: 1 where the layout has none."""
        return 1 if self.weight is None else self.weight


@dataclass(frozen=True, slots=True)
class Invalid:
    """A key that claims to be an instance and cannot be used; ``code`` is stable, ``reason`` is for people."""

    key: str
    layout: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Service:
    """All instances under one prefix, in key order.

    ``prefix`` is the raw key prefix with its separator, or the key itself where a service is one key.
    """

    name: str
    layout: str
    prefix: str
    instances: tuple[Instance, ...]

    def has_room_for(self, key: str) -> bool:
        """Whether a key stands where those of the service do, usable or not."""
        return key.startswith(self.prefix) if self.prefix.endswith("/") else key == self.prefix


@dataclass(frozen=True, slots=True)
class Registry:
    """What one consistent read of etcd held: every service, and every claimed key that is unusable.

    ``large`` are keys among them whose values are large, with how many bytes those have.
    """

    revision: int
    services: tuple[Service, ...]
    invalid: tuple[Invalid, ...] = ()
    foreign: int = 0  # keys that no layout claims
    notes: tuple[str, ...] = ()  # what could not be read or is elsewhere than usual, in words
    large: Mapping[str, int] = field(default_factory=dict, hash=False)


class Reply(NamedTuple):
    """How one attempt ended. ``message`` is the first response message where the caller asked to keep them."""

    code: Code
    origin: Origin = Origin.SERVER
    reason: str = ""
    message: bytes = b""
    raw_code: int | None = None  # the number sent, when it is above 16
    messages: tuple[bytes, ...] = ()  # every response message of a stream, where the caller asked to keep them
    sent: int = 0  # messages of a stream that were written
    received: int = 0  # messages of a stream that came back
    headed: bool = False  # response headers came before its end, other than those of a Trailers-Only response
    metadata: tuple[tuple[bytes, bytes], ...] = ()  # of its end: a pushback, a load report, or all of it
    headers: tuple[tuple[bytes, bytes], ...] = ()  # of its beginning, where the caller asked to keep them

    @property
    def is_ok(self) -> bool:
        """Whether the call counts as OK; one whose reply failed a check of ours keeps the server's code."""
        return self.code is Code.OK and self.origin is Origin.SERVER


class Event(NamedTuple):
    """Something worth telling during a run or a watch; seconds since its start.

    ``kind`` is one of joined left weight health ejected restored breaker policy rate drain resync log.
    """

    t_s: float
    kind: str
    backend: str | None
    text: str
    level: str = "info"  # good, change, bad, info
