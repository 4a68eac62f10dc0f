"""What every call of a run sends: the method that was meant, its messages, and what is expected of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lbctl.errors import UsageError
from lbctl.model import Reply
from lbctl.rpc.schema import Method
from lbctl.wire.request import Headers, Stream, fitting, framed

FULL_METHOD: Final = re.compile(r"/?(?P<service>[\w.]+)/(?P<method>\w+)")
# What --stream says, as (client streams, server streams).
KINDS: Final = {"client": (True, False), "server": (False, True), "bidi": (True, True)}
_WORDS: Final = {
    (False, False): "unary",
    (True, False): "client streaming",
    (False, True): "server streaming",
    (True, True): "bidirectional streaming",
}

Sides = tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Streaming:
    """What the user said of streams; ``flag`` is the first option that did, for errors, "" for none.

    ``messages`` None sends each of the given ones once; 0 sends them in turn until ``duration_s`` has passed.
    """

    flag: str = ""
    kind: str | None = None
    messages: int | None = None
    interval_s: float = 0.0
    limit: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Payload:
    """The message as JSON text, which errors call ``source``, or as bytes (``raw``); and what goes with it."""

    data: str | None = None
    source: str = "request"
    raw: bytes | None = None
    metadata: Headers = field(default=(), repr=False)
    sensitive: frozenset[bytes] = frozenset()
    gzip: bool = False
    streaming: Streaming = Streaming()
    check: str | None = None


@dataclass(frozen=True, slots=True)
class Calling:
    """A call ready to be made; ``judge`` turns a reply that was not expected into an error."""

    method: str  # pkg.Service/Method
    message: bytes
    stream: Stream | None = None
    judge: Callable[[Reply], Reply] | None = None
    schema: Method | None = None  # of the method, where somebody described it

    def outgrows(self, octets: int) -> bool:
        """Whether a call may come to send more than so many octets of messages."""
        stream = self.stream
        messages = (self.message,) if stream is None else stream.messages
        most = 1 if stream is None else stream.most
        return bool(messages) and most > fitting([len(framed(each, compress=False)) for each in messages], octets)


def undescribed(payload: Payload, method: str | None) -> Calling | None:
    """The call where the command line says it all, so that nobody has to describe the method; else None."""
    full = FULL_METHOD.fullmatch(method or "")
    if payload.raw is None or full is None or payload.check is not None:
        return None
    name = f"{full['service']}/{full['method']}"
    sides = KINDS.get(payload.streaming.kind or "", (False, False))
    return Calling(name, payload.raw, _stream(name, sides, payload.streaming, (payload.raw,)))


def described(payload: Payload, method: Method) -> Calling:
    """The call of a method whose schema is known. Raises UsageError for what does not fit it."""
    from lbctl.rpc.check import compile_check

    name, sides = method.full_name, (method.client_streaming, method.server_streaming)
    messages = _messages(payload, method)
    stream = _stream(name, sides, payload.streaming, messages)
    judge = compile_check(payload.check, method) if payload.check is not None else None
    return Calling(name, messages[0] if messages else b"", stream, judge, method)


def _messages(payload: Payload, method: Method) -> tuple[bytes, ...]:
    """The messages that are given for one call."""
    from lbctl.rpc.message import encode, encode_all

    if payload.raw is not None:
        return (payload.raw,)
    if method.client_streaming:
        return encode_all(method, payload.data, source=payload.source)
    try:
        return (encode(method, payload.data, source=payload.source),)
    except UsageError as error:
        if (payload.data or "").lstrip().startswith("["):
            sides = (method.client_streaming, method.server_streaming)
            error.hint = f"several messages are for clients that stream, and {method.full_name} is {_WORDS[sides]}"
        raise


def _stream(method: str, sides: Sides, wish: Streaming, messages: tuple[bytes, ...]) -> Stream | None:
    """What one call of a streaming method does; None for a unary one."""
    client, server = sides
    if wish.kind is not None and KINDS[wish.kind] != sides:
        raise UsageError(f"--stream {wish.kind}, but {method} is {_WORDS[sides]}", "leave --stream out")
    if not (client or server):
        if wish.flag:
            raise UsageError(f"{wish.flag} is for streaming methods, and {method} is unary")
        return None
    _refuse_misfits(method, sides, wish)
    count = len(messages) if wish.messages is None else wish.messages
    if not messages and wish.messages is not None:
        raise UsageError("--stream-messages: the array of messages is empty", "write [{}] for an empty message")
    return Stream(
        client=client,
        server=server,
        messages=messages,
        count=count if client else 1,
        interval_ns=int(wish.interval_s * 1e9),
        limit=wish.limit,
        duration_ns=int(wish.duration_s * 1e9),
    )


def _refuse_misfits(method: str, sides: Sides, wish: Streaming) -> None:
    client, server = sides
    sending = "--stream-messages" if wish.messages is not None else "--stream-interval" if wish.interval_s else ""
    if sending and not client:
        raise UsageError(f"{sending} is for clients that stream, and {method} is {_WORDS[sides]}")
    if wish.limit and not server:
        raise UsageError(f"--stream-limit is for servers that stream, and {method} is {_WORDS[sides]}")
