"""What every call of a run sends: the method that was meant, its messages, and what is expected of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lbctl.errors import UsageError
from lbctl.load.requests.content import Content
from lbctl.load.requests.given import Given, Written
from lbctl.model import Reply
from lbctl.rpc.schemas.schema import Method
from lbctl.wire.request import Headers, Stream, fitting, framed

if TYPE_CHECKING:
    from lbctl.load.requests.feed import Feed

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
    """The message as JSON text, which errors call ``source``, or as bytes (``raw``); and what goes with it.

    ``given`` says how requests differ, if they do: its text is ``data``. ``mix`` are methods to be called instead of
    one, each with what its calls send.
    """

    data: str | None = None
    source: str = "request"
    raw: bytes | None = None
    metadata: Headers = field(default=(), repr=False)
    sensitive: frozenset[bytes] = frozenset()
    gzip: bool = False
    streaming: Streaming = Streaming()
    check: str | None = None
    check_is: str = "--check"  # what errors call it
    given: Given = field(default_factory=Given)
    mix: tuple[Share, ...] = ()

    def with_text(self, text: str, source: str) -> Payload:
        """The same with this JSON, which errors call ``source``."""
        return replace(self, data=text, source=source, given=replace(self.given, text=text, source=source))


@dataclass(frozen=True, slots=True)
class Share:
    """One method of a mix as it was asked for: as many of all calls as its ``weight`` is of all weights.

    ``timeout_s`` is its deadline, None for that of the run.
    """

    name: str
    method: str
    weight: float
    payload: Payload
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Calling:
    """A call ready to be made; ``judge`` turns a reply that was not expected into an error.

    Where calls differ ``feed`` makes what each sends; of a mix every share has a call of its own in ``mix``.
    """

    method: str  # pkg.Service/Method
    message: bytes
    stream: Stream | None = None
    judge: Callable[[Reply], Reply] | None = None
    schema: Method | None = None  # of the method, where somebody described it
    feed: Feed | None = None
    mix: tuple[tuple[Share, Calling], ...] = ()

    @property
    def content(self) -> Content:
        """What every call sends where calls do not differ."""
        return Content((self.message,) if self.stream is None else self.stream.messages)

    @property
    def path(self) -> str:
        """The method that is called, of a mix the first."""
        return self.mix[0][1].method if self.mix else self.method

    def outgrows(self, octets: int) -> bool:
        """Whether a call may come to send more than so many octets of messages."""
        stream = self.stream
        messages = (self.message,) if stream is None else stream.messages
        most = 1 if stream is None else stream.most
        return bool(messages) and most > fitting([len(framed(each, compress=False)) for each in messages], octets)


def kind_of(calling: Calling) -> str:
    """Which sides of a call stream, in words."""
    stream = calling.stream
    return _WORDS[(False, False) if stream is None else (stream.client, stream.server)]


def undescribed(payload: Payload, method: str | None) -> Calling | None:
    """The call where the command line says it all, so that nobody has to describe the method; else None."""
    full = FULL_METHOD.fullmatch(method or "")
    series = payload.given.written is Written.SERIES
    if full is None or payload.check is not None or payload.mix or (payload.raw is None and not series):
        return None
    name = f"{full['service']}/{full['method']}"
    sides = KINDS.get(payload.streaming.kind or "", (False, False))
    if series or payload.given.drawn:
        return _varied(payload, name, sides, None)
    message = payload.raw or b""
    return Calling(name, message, _stream(name, sides, payload.streaming, (message,)))


def described(payload: Payload, method: Method) -> Calling:
    """The call of a method whose schema is known. Raises UsageError for what does not fit it."""
    from lbctl.load.requests.feed import varies
    from lbctl.rpc.messages.check import compile_check

    name, sides = method.full_name, (method.client_streaming, method.server_streaming)
    judge = compile_check(payload.check, method, payload.check_is) if payload.check is not None else None
    if varies(payload.given, payload.data, method):
        return replace(_varied(payload, name, sides, method), judge=judge)
    messages = _messages(payload, method)
    stream = _stream(name, sides, payload.streaming, messages)
    return Calling(name, messages[0] if messages else b"", stream, judge, method)


def _varied(payload: Payload, name: str, sides: Sides, method: Method | None) -> Calling:
    """The call of a method whose calls differ, or turn out not to."""
    from lbctl.load.requests.feed import Feed

    feed = Feed(replace(payload.given, raw=payload.raw), name, method)
    only = feed.only
    if only is not None and not only.metadata:
        stream = _stream(name, sides, payload.streaming, only.messages)
        return Calling(name, only.messages[0] if only.messages else b"", stream, schema=method)
    stream = _stream(name, sides, payload.streaming, (b"",))
    if stream is not None and payload.streaming.messages is None:
        stream = replace(stream, each_once=stream.client)
    return Calling(name, b"", stream, schema=method, feed=feed)


def described_in_mix(share: Share, method: Method) -> Calling:
    """The call of a method of a mix; raises UsageError for what does not fit it."""
    with about(share.name or method.full_name):
        return described(share.payload, method)


@contextmanager
def about(name: str) -> Iterator[None]:
    """What an option means for a method of a mix: a UsageError that begins with the option names the method, too."""
    try:
        yield
    except UsageError as error:
        if not str(error).startswith("--"):  # it has its place in the file
            raise
        raise UsageError(f"{name}: {error}", error.hint) from None


def mix_of(parts: Sequence[tuple[Share, Calling]]) -> Calling:
    """The calls of several methods as one; each share has a name of its own then."""
    named: list[tuple[Share, Calling]] = []
    for share, calling in parts:
        name = share.name or calling.method
        others = sum((other.name or each.method) == name for other, each in parts)
        place = sum(taken.name.partition(" #")[0] == name for taken, _ in named) + 1
        named.append((replace(share, name=f"{name} #{place}" if others > 1 else name), calling))
    first = named[0][1]
    methods = ", ".join(dict.fromkeys(calling.method for _, calling in named))
    return Calling(methods, first.message, first.stream, mix=tuple(named))


def _messages(payload: Payload, method: Method) -> tuple[bytes, ...]:
    """The messages that are given for one call."""
    from lbctl.rpc.messages.message import encode, encode_all

    if payload.raw is not None:
        return (payload.raw,)
    if method.client_streaming:
        return encode_all(method, payload.data, source=payload.source)
    return (encode(method, payload.data, source=payload.source),)


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
