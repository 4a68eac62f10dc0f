"""A scripted HTTP/2 server: one coroutine per connection decides every byte, and every byte of the client is judged.

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(okh(request.stream), msg(request.stream), trailers(request.stream, 5))

    async with ScriptedServer(behave) as server:
        ...  # dial server.endpoint

The server sends its SETTINGS, acknowledges the client's and gives flow-control credit unless told not to. Waits are
bounded. Leaving the block raises what a behaviour raised, and what the strict checker noted.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar, cast

from lbctl.model import Endpoint
from tests.wire import frames as h2
from tests.wire.checker import Ledger
from tests.wire.frames import Frame, ReplyBytes
from tests.wire.request_head import Head

Behaviour = Callable[["Connection"], Awaitable[None]]
T = TypeVar("T")

WAIT_S = float(os.environ.get("LBCTL_TEST_WAIT_S", "2"))


class ClientGone(Exception):
    """The client closed the connection before it did what the script waits for."""


class NoMoreRequests(ClientGone):
    """The client closed the connection instead of sending another request: a script may end that way."""


@dataclass(slots=True)
class Request:
    """One request as far as it has arrived."""

    stream: int
    head: Head
    block: bytes = b""
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False

    def header(self, name: bytes) -> bytes | None:
        return dict(self.head).get(name)

    @property
    def message(self) -> bytes:
        """The body without its gRPC prefix."""
        return bytes(self.body[5:])


class Connection:
    """The server's end of one connection."""

    def __init__(
        self, index: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, auto: bool, credit: bool
    ) -> None:
        self.index = index
        self.frames: list[Frame] = []
        self.requests: dict[int, Request] = {}
        self.preface = b""
        self.ledger = Ledger()
        self.closed = False
        self._reader, self._writer = reader, writer
        self._auto, self._credit = auto, credit
        self._finished = False
        self._pulse = asyncio.Event()
        self._unparsed_out = bytearray()
        self._block = b""
        self._taken: set[int] = set()
        self._pings = itertools.count(1)

    # ---- saying ------------------------------------------------------------------------------------------------------

    def send(self, *parts: bytes) -> None:
        """Write all parts at once, and keep the books."""
        whole = b"".join(parts)
        self._unparsed_out += whole
        sent, used = h2.split(self._unparsed_out)
        del self._unparsed_out[:used]
        for frame in sent:
            self.ledger.sent(frame)
        self._writer.write(whole)

    def _answer(self, frame: bytes) -> None:
        """Say what the protocol demands, unless the script has said its last word."""
        if not self._finished:
            self.send(frame)

    def send_raw(self, raw: bytes) -> None:
        """Write bytes that need not be frames, unnoticed by the books."""
        self._writer.write(raw)

    async def send_bytewise(self, *parts: bytes, size: int = 1) -> None:
        """Write in pieces of ``size`` bytes, each handed to the kernel on its own."""
        whole = b"".join(parts)
        for at in range(0, len(whole), size):
            self.send(whole[at : at + size])
            await asyncio.sleep(0)

    async def drain(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def close(self) -> None:
        """Say FIN, after everything written; what the client still says is read."""
        self._finished = True
        self._writer.write_eof()

    def abort(self) -> None:
        """Say RST at the TCP level."""
        handle: socket.socket = self._writer.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def deaf(self, *, deaf: bool) -> None:
        """Stop reading, so that the client's bytes pile up in the kernels and then in the client; or go on."""
        transport = cast(asyncio.Transport, self._writer.transport)  # uvloop's is one only in shape
        if deaf:
            transport.pause_reading()
        else:
            transport.resume_reading()

    # ---- waiting -----------------------------------------------------------------------------------------------------

    async def until(self, what: str, ready: Callable[[], T | None]) -> T:
        """The first true value of ``ready``, asked again after each read."""
        try:
            async with asyncio.timeout(WAIT_S):
                return await self._until(what, ready)
        except TimeoutError:
            seen = "\n  ".join(map(str, self.frames[-12:])) or "nothing"
            raise AssertionError(f"connection {self.index}: waited in vain for {what}; seen:\n  {seen}") from None

    async def _until(self, what: str, ready: Callable[[], T | None]) -> T:
        while True:
            pulse = self._pulse
            value = ready()
            if value:
                return value
            if self.closed:
                raise ClientGone(f"connection {self.index}: the client closed while the script waited for {what}")
            await pulse.wait()

    async def _next(self, *, complete: bool) -> Request:
        def ready() -> Request | None:
            fresh = (request for request in self.requests.values() if request.stream not in self._taken)
            return next((request for request in fresh if request.complete or not complete), None)

        try:
            request = await self._until("a request", ready)
        except ClientGone as gone:
            raise NoMoreRequests(str(gone)) from None
        self._taken.add(request.stream)
        return request

    async def request(self) -> Request:
        """The next complete request nobody took; as long as it may take."""
        return await self._next(complete=True)

    def pending(self) -> list[Request]:
        """All further complete requests that nobody took."""
        fresh = [
            request for request in self.requests.values() if request.complete and request.stream not in self._taken
        ]
        self._taken.update(request.stream for request in fresh)
        return fresh

    async def opened(self) -> Request:
        """The next request whose head has arrived."""
        return await self._next(complete=False)

    async def body(self, request: Request, size: int) -> None:
        """At least ``size`` bytes of DATA payload have arrived for the request."""
        await self.until(f"{size} body bytes on stream {request.stream}", lambda: len(request.body) >= size)

    async def whole(self, request: Request) -> Request:
        await self.until(f"the end of stream {request.stream}", lambda: request.complete)
        return request

    def all_seen(self, kind: int, *, stream: int | None = None, ack: bool | None = None) -> list[Frame]:
        """Every frame of that kind so far."""
        return [
            frame
            for frame in self.frames
            if frame.kind == kind
            and (stream is None or frame.stream == stream)
            and (ack is None or bool(frame.flags & h2.ACK) == ack)
        ]

    async def seen(self, kind: int, *, stream: int | None = None, ack: bool | None = None, count: int = 1) -> Frame:
        """The ``count``-th frame of that kind."""
        what = f"{h2.KINDS[kind]} (stream {stream}, ack {ack}, number {count})"
        found = await self.until(what, lambda: self.all_seen(kind, stream=stream, ack=ack)[count - 1 : count])
        return found[0]

    async def barrier(self) -> None:
        """Two PING round trips: whatever earlier frames of ours made the client say has arrived."""
        for _ in range(2):
            payload = b"barr" + next(self._pings).to_bytes(4, "big")
            self.send(h2.ping(payload))
            await self.until("a PING ACK", lambda payload=payload: self._echoed(payload))  # type: ignore[misc]

    def _echoed(self, payload: bytes) -> bool:
        return any(frame.payload == payload for frame in self.all_seen(h2.PING, ack=True))

    async def acknowledged(self, count: int) -> None:
        """The client acknowledged ``count`` SETTINGS frames in all, the first one included."""
        await self.seen(h2.SETTINGS, ack=True, count=count)

    async def room(self, stream: int, size: int) -> None:
        """The client's windows take ``size`` more bytes; stream 0 asks for the connection alone."""

        def ready() -> bool:
            on_stream = size if stream == 0 else self.ledger.streams[stream].may_send
            return min(self.ledger.may_send, on_stream) >= size

        await self.until(f"{size} bytes of window on stream {stream}", ready)

    async def gone(self) -> None:
        """The client closed the connection."""
        with contextlib.suppress(ClientGone):
            await self.until("the client to close", lambda: self.closed)

    # ---- listening ---------------------------------------------------------------------------------------------------

    async def listen(self) -> None:
        """Read until the client closes."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            self.preface = await self._reader.readexactly(len(h2.PREFACE))
            if self.preface != h2.PREFACE:
                self.ledger.violations.append(f"bad preface {self.preface!r}")
            await self._read_frames()
        self.closed = True
        self._wake()

    async def _read_frames(self) -> None:
        buffer = bytearray()
        while chunk := await self._reader.read(256 * 1024):
            buffer += chunk
            received, used = h2.split(buffer)
            del buffer[:used]
            for frame in received:
                self._take(frame)
            self._wake()

    def _wake(self) -> None:
        self._pulse.set()
        self._pulse = asyncio.Event()

    def _take(self, frame: Frame) -> None:
        self.frames.append(frame)
        head = self.ledger.received(frame)
        if frame.kind in (h2.HEADERS, h2.CONTINUATION):
            self._block = frame.payload if frame.kind == h2.HEADERS else self._block + frame.payload
            if head is not None:
                complete = self.ledger.streams[frame.stream].client_ended
                self.requests.setdefault(frame.stream, Request(frame.stream, head, self._block, complete=complete))
        elif frame.kind == h2.DATA and frame.stream in self.requests:
            self._take_data(self.requests[frame.stream], frame)
        elif frame.kind == h2.SETTINGS and not frame.flags & h2.ACK and self._auto:
            self._answer(h2.settings_ack())
        elif frame.kind == h2.PING and not frame.flags & h2.ACK and self._auto:
            self._answer(h2.ping(frame.payload, ack=True))

    def _take_data(self, request: Request, frame: Frame) -> None:
        request.body += frame.payload
        request.complete |= bool(frame.flags & h2.END_STREAM)
        if self._credit and self.ledger.may_receive < h2.DEFAULT_WINDOW // 2:
            self._answer(h2.window_update(0, h2.DEFAULT_WINDOW - self.ledger.may_receive))
        if self._credit and not request.complete and self.ledger.streams[frame.stream].may_receive < h2.LARGEST_FRAME:
            self._answer(h2.window_update(frame.stream, h2.DEFAULT_WINDOW))


class ScriptedServer:
    """Listens on a free port; runs ``behave`` for each connection.

    ``handshake=False`` leaves SETTINGS and its ACK to the script; ``credit=False`` never opens a window by itself;
    ``strict=False`` keeps the checker's notes to itself. A host may be a unix socket as an Endpoint names it.
    """

    def __init__(
        self,
        behave: Behaviour,
        *,
        settings: Mapping[int, int] | None = None,
        handshake: bool = True,
        credit: bool = True,
        strict: bool = True,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.connections: list[Connection] = []
        self.endpoint = Endpoint(host, 0)
        self._behave = behave
        self._settings = settings
        self._tls = tls
        self._handshake, self._credit, self._strict = handshake, credit, strict
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._server: asyncio.Server | None = None

    @property
    def served(self) -> list[Connection]:
        """The connections that carried a request."""
        return [peer for peer in self.connections if peer.requests]

    @property
    def violations(self) -> list[str]:
        """Every rule the client broke, by connection."""
        return [f"connection {peer.index}: {text}" for peer in self.connections for text in peer.ledger.violations]

    async def __aenter__(self) -> Self:
        host = self.endpoint.host
        if self.endpoint.is_unix:
            kind, _, name = host.partition(":")
            path = f"\0{name}" if kind == "unix-abstract" else name
            self._server = await asyncio.start_unix_server(self._accept, path, ssl=self._tls)
        else:
            self._server = await asyncio.start_server(self._accept, host.partition("%")[0], 0, ssl=self._tls)
            self.endpoint = Endpoint(host, self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._finish()
        problems = [str(failure) or repr(failure) for failure in self._failures]
        problems += self.violations if self._strict else []
        if error is not None:
            for problem in problems:
                error.add_note(f"scripted server: {problem}")
        elif problems:
            raise AssertionError("\n".join(problems)) from (self._failures[0] if self._failures else None)

    async def _finish(self) -> None:
        """Let scripts end by themselves, since clients are expected to have closed; then end them."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=WAIT_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = Connection(len(self.connections), reader, writer, auto=self._handshake, credit=self._credit)
        self.connections.append(peer)
        listening = asyncio.create_task(peer.listen())
        try:
            if self._handshake:
                peer.send(h2.settings(self._settings))
            await self._behave(peer)
            await peer.gone()
        except NoMoreRequests:
            pass
        except Exception as failure:
            self._failures.append(failure)
        finally:
            writer.close()
            listening.cancel()
            (heard,) = await asyncio.gather(listening, return_exceptions=True)
            if isinstance(heard, Exception):
                self._failures.append(heard)
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self._tasks.discard(task)


def answering(*replies: ReplyBytes) -> Behaviour:
    """Answer the k-th request of the server with the k-th reply, and later ones with the last; one write each."""
    numbers = itertools.count()

    async def behave(peer: Connection) -> None:
        while True:
            request = await peer.request()
            peer.send(replies[min(next(numbers), len(replies) - 1)](request.stream))

    return behave
