"""A request and its header list (gRPC over HTTP/2)."""

from __future__ import annotations

import gzip as gzip_format
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from lbctl import __version__
from lbctl.wire.outbox import Outbox

Headers = tuple[tuple[bytes, bytes], ...]

AGENT: Final = b"user-agent"
PREVIOUS: Final = b"grpc-previous-rpc-attempts"

_SENSITIVE: Final = frozenset({b"authorization", b"cookie", b"proxy-authorization", b"set-cookie"})
# Units of grpc-timeout, milliseconds first: a template then reads like what the user typed.
_UNITS: Final = (("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000), ("H", 3_600_000_000_000))


@dataclass(frozen=True, slots=True)
class Stream:
    """A streaming method: which sides stream, what is sent, and when lbctl ends the call by itself.

    ``count`` messages are sent, the given ones in turn (1 unless the client streams; 0: until ``duration_ns``), with a
    pause of ``interval_ns`` between two of them, or all at once. After ``limit`` response messages, or ``duration_ns``
    after its start, the call is ended from our side and counts as OK: a client that streams ends its side, any other
    cancels; 0 leaves the end to the server.

    ``told`` gets every response message while the read that brought it is parsed, and none is kept then; it must not
    touch the connection. ``each_once``: ``count`` is that of the messages, also where a call has others. With
    ``outbox`` the messages are those that are put into it, until it is ended, and there are no others.
    """

    client: bool
    server: bool
    messages: tuple[bytes, ...]
    count: int = 1
    interval_ns: int = 0
    limit: int = 0
    duration_ns: int = 0
    told: Callable[[bytes], None] | None = field(default=None, compare=False)
    each_once: bool = False
    outbox: Outbox | None = field(default=None, compare=False)

    def of(self, messages: tuple[bytes, ...]) -> Stream:
        """The same with other messages."""
        return replace(self, messages=messages, count=len(messages) if self.each_once else self.count)

    @property
    def most(self) -> float:
        """How many messages are sent at most."""
        if self.count or not self.messages:
            return self.count
        return 1 + self.duration_ns // self.interval_ns if self.interval_ns and self.duration_ns else inf


@dataclass(frozen=True, slots=True)
class Request:
    """What every call of a run sends: full path, message bytes, metadata, and the deadline it states.

    ``timeout_ns`` is the whole call's deadline in nanoseconds; 0 states none. ``stream`` is None for a unary method;
    with it, its messages are sent and ``message`` is not. ``gzip`` compresses every message. The values of
    ``sensitive`` names, beside those that always are, never enter a compression table. ``previous`` is how many
    attempts of the call there were before this one (gRFC A6); ``since_ns`` is when its call began, 0 for now: what a
    stream would have sent since then is sent at once. ``own`` is metadata of one call, which no table ever sees.
    """

    path: str
    message: bytes
    authority: str
    timeout_ns: int
    metadata: Headers = ()
    scheme: str = "http"
    stream: Stream | None = None
    gzip: bool = False
    sensitive: frozenset[bytes] = frozenset()
    previous: int = 0
    since_ns: int = 0
    own: Headers = ()

    def of(self, messages: tuple[bytes, ...], own: Headers) -> Request:
        """What a call sends that has messages and metadata of its own beside those of all."""
        if self.stream is not None:
            return replace(self, stream=self.stream.of(messages), own=own)
        return replace(self, message=messages[0], own=own)

    def headers(self) -> Headers:
        """The stable header fields, pseudo-fields first; grpc-timeout is not among them (see ``timeout_value``)."""
        return (
            (b":method", b"POST"),
            (b":scheme", self.scheme.encode()),
            (b":path", self.path.encode()),
            (b":authority", self.authority.encode()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (AGENT, self.agent),
            *(((b"grpc-encoding", b"gzip"),) if self.gzip else ()),
            (b"grpc-accept-encoding", b"identity,gzip"),
            *((name, value) for name, value in self.metadata if name != AGENT and not self.is_secret(name)),
        )

    @property
    def agent(self) -> bytes:
        """What calls itself the client: lbctl, or what metadata of that name says."""
        return next((value for name, value in self.metadata if name == AGENT), f"lbctl/{__version__}".encode())

    def secrets(self) -> Headers:
        """The metadata that must never enter a compression table."""
        return tuple((name, value) for name, value in (*self.metadata, *self.own) if self.is_secret(name))

    def is_secret(self, name: bytes) -> bool:
        """Whether a header's value is a credential, by its name or because the user says so."""
        return is_sensitive(name) or name in self.sensitive

    def varying(self, timeout_ns: int) -> Headers:
        """The fields that differ from call to call: the deadline, the earlier attempts and metadata of its own."""
        deadline = ((b"grpc-timeout", timeout_value(timeout_ns)),) if timeout_ns else ()
        before = ((PREVIOUS, b"%d" % self.previous),) if self.previous else ()
        if not self.own:
            return deadline + before
        return deadline + before + tuple(field for field in self.own if not self.is_secret(field[0]))

    def header_size(self, timeout_ns: int) -> int:
        """Octets of the whole list as SETTINGS_MAX_HEADER_LIST_SIZE counts them."""
        return fields_size(self.headers() + self.varying(timeout_ns) + self.secrets())

    def body(self) -> bytes:
        """The length-prefixed message of a unary call."""
        return framed(self.message, compress=self.gzip)

    def bodies(self) -> tuple[bytes, ...]:
        """The length-prefixed messages of a stream, each once."""
        assert self.stream is not None
        return tuple(framed(message, compress=self.gzip) for message in self.stream.messages)


def fields_size(fields: Headers) -> int:
    """Octets of header fields as SETTINGS_MAX_HEADER_LIST_SIZE counts them (RFC 9113 §6.5.2)."""
    return sum(len(name) + len(value) + 32 for name, value in fields)


def framed(message: bytes, *, compress: bool) -> bytes:
    """A message behind its flag and its four length octets."""
    sent = gzip_format.compress(message, 6, mtime=0) if compress else message
    return bytes((compress,)) + len(sent).to_bytes(4, "big") + sent


def fitting(sizes: Sequence[int], octets: int) -> int:
    """How many messages of these sizes, sent in turn again and again, are no more than so many octets."""
    whole = sum(sizes)
    rounds, left = divmod(octets, whole) if whole else (0, octets)
    count = rounds * len(sizes)
    for size in sizes:
        if size > left:
            break
        left -= size
        count += 1
    return count


def is_sensitive(name: bytes) -> bool:
    """Whether a header's value is a credential."""
    return name in _SENSITIVE or name.endswith(b"-token")


def timeout_value(nanoseconds: int) -> bytes:
    """A grpc-timeout of at least this long: at most eight digits and a unit, rounded up, at least 1 ms."""
    for unit, size in _UNITS:
        amount = max(1, -(-nanoseconds // size))
        if amount < 100_000_000:
            return f"{amount}{unit}".encode()
    return b"99999999H"
