"""A tap: a local port for one backend that passes bytes on untouched, and sees which calls go there.

Where gRPC picks among several addresses it does not tell which one it took. With one tap per backend in its place the
connection tells. A tap connects to its backend, by TLS where that is wanted, when gRPC connects to the tap, and closes
when either side does.

    gRPC (plaintext) -> 127.0.0.1:port -> [reads headers] -> backend (plaintext or TLS)
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import Final, Protocol

from lbctl.model import Endpoint
from lbctl.rpc.dial import Network, describe_failure
from lbctl.rpc.grpcio.sniffer import ClientSide, ServerSide
from lbctl.rpc.link import describe_loss
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.transport import Connectivity

HEADER: Final = "lbctl-call"
_PAUSE_S: Final = 1.0  # in accepting connections
_CALM_S: Final = 0.05  # from gRPC's acknowledgement of the SETTINGS until its balancer surely knows the connection


class Watcher(Protocol):
    """Who is told what a tap sees."""

    def saw(self, tap: Tap, number: int) -> None:
        """The headers of a call pass by."""
        ...

    def moved(self, tap: Tap) -> None:
        """The tap's ``state`` or ``reason`` changed."""
        ...


class Tap:
    """One backend's local port, listening from ``open`` to ``aclose``."""

    def __init__(
        self,
        endpoint: Endpoint,
        secure: Secure | None,
        options: ConnectionOptions,
        network: Network,
        watcher: Watcher,
        seek: bytes = b"",
    ) -> None:
        self.endpoint = endpoint
        self.secure = secure
        self.options = options
        self.network = network
        self.watcher = watcher
        self.seek = seek
        self.found = False  # a reply had the field that is sought
        self.state = Connectivity.IDLE
        self.reason = ""
        self.port = 0
        self.counters: Counter[str] = Counter()
        self.closed = False
        self._socket: socket.socket | None = None
        self._attaching: set[asyncio.Task[object]] = set()
        self._pairs: set[_Pair] = set()

    def open(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._listen()

    def _listen(self) -> None:
        # Not by asyncio's server: closed with a connection just accepted, it leaves that one open for ever.
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._accept, self._socket)

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            connection, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # who connected has gone again
        except OSError:  # out of descriptors
            loop.remove_reader(listening)
            loop.call_later(_PAUSE_S, self._listen)
            return
        pair = _Pair(self)
        self._pairs.add(pair)
        task: asyncio.Task[object] = loop.create_task(loop.connect_accepted_socket(lambda: pair.near, connection))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    @property
    def sockets(self) -> int:
        """Connections to the backend."""
        return sum(pair.is_open for pair in self._pairs)

    def become(self, state: Connectivity, reason: str) -> None:
        """Note what a connection came to; while another one is ready the backend is."""
        if state is not Connectivity.READY and any(pair.ready for pair in self._pairs):
            return
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self.watcher.moved(self)

    def lost(self, pair: _Pair, kind: str, reason: str) -> None:
        """A pair of connections is gone."""
        self._pairs.discard(pair)
        if pair.greeted:
            self.counters[f"closed: {kind}"] += 1
        # One that never was of use is a failure; after one that was it is up to gRPC to connect again.
        self.become(Connectivity.IDLE if pair.greeted else Connectivity.TRANSIENT_FAILURE, reason)

    async def aclose(self) -> None:
        """Stop listening and close every connection."""
        self.closed = True
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        if self._attaching:
            await asyncio.wait(self._attaching)
        for pair in list(self._pairs):
            pair.abort()
        if self._pairs:
            await asyncio.wait([pair.gone for pair in self._pairs])


class _Side(asyncio.Protocol):
    """One end of a pair; what it reads goes to the other."""

    def __init__(self, pair: _Pair) -> None:
        self.pair = pair
        self.stage = ""
        self.other: _Side
        self.transport: asyncio.Transport | None = None
        self.over = False
        self._waiting: list[bytes] = []  # for the other side to be connected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # uvloop's is one only in shape
        if self.pair.gone.done() or self.pair.tap.closed:  # meanwhile gRPC has hung up, or we have
            transport.abort()  # type: ignore[attr-defined]
            return
        for data in self.other._waiting:
            self.write(data)
        self.other._waiting.clear()

    def data_received(self, data: bytes) -> None:
        self.pair.read(self, data)
        if self.other.transport is None:
            self._waiting.append(data)
        else:
            self.other.write(data)

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.over:
            self.transport.write(data)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._read(pause=True)

    def resume_writing(self) -> None:
        self._read(pause=False)

    def _read(self, *, pause: bool) -> None:
        other = self.other.transport
        if other is not None and not self.other.over:
            if pause:
                other.pause_reading()
            else:
                other.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.over = True
        self.pair.fell(self, error)


class _Pair:
    """A connection of gRPC and the one to the backend that belongs to it."""

    def __init__(self, tap: Tap) -> None:
        self.tap = tap
        self.greeted = False  # the backend's SETTINGS came
        self.ready = False
        self.near, self.far = _Near(self), _Side(self)
        self.near.other, self.far.other = self.far, self.near
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client = ClientSide(HEADER.encode(), self._call, tap.counters)
        self._server = ServerSide(tap.counters, tap.seek)
        self._kind = ""  # how it ended, in a word
        self._reason = ""
        self._greeting = asyncio.Event()  # the backend's SETTINGS came, or never will
        self._task: asyncio.Task[None] | None = None
        self._calming: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self.far.transport is not None and not self.far.over

    def begin(self) -> None:
        """GRPC has connected: so do we."""
        if self.tap.state is not Connectivity.TRANSIENT_FAILURE:
            self.tap.become(Connectivity.CONNECTING, self.tap.reason)
        self.tap.counters["connections"] += 1
        self._task = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        tap, limit_s = self.tap, self.tap.options.connect_timeout_s
        try:
            async with asyncio.timeout(limit_s) as limit:
                await tap.network.dial(tap.endpoint, self.far, tap.secure)
                await self._greeting.wait()
        except (OSError, ValueError, OverflowError) as error:
            stage = "no HTTP/2 SETTINGS" if self.is_open else "no connection"
            late = f"{stage} within {limit_s:g}s"
            self._close(late if limit.expired() else describe_failure(error))

    def read(self, side: _Side, data: bytes) -> None:
        """Look at what passes, before it is passed on."""
        counters = self.tap.counters
        if side is self.near:
            self._client.feed(data)
            counters["bytes_out"] += len(data)
            if self.greeted and self._client.acknowledged and not self.ready and self._calming is None:
                self._calming = asyncio.get_running_loop().call_later(_CALM_S, self._become_ready)
            return
        counters["bytes_in"] += len(data)
        counters["reads"] += 1
        self._server.feed(data)
        self.tap.found = self.tap.found or self._server.found
        if self._server.flaw:
            self._close(self._server.flaw)
        elif self._server.greeted and not self.greeted:
            self.greeted = True
            counters["opened"] += 1
            self._greeting.set()

    def _call(self, value: bytes) -> None:
        self._become_ready()
        if value.isdigit():
            self.tap.watcher.saw(self.tap, int(value))

    def _become_ready(self) -> None:
        if not self.ready and not self.far.over:
            self.ready = True
            self.tap.become(Connectivity.READY, "")

    def fell(self, side: _Side, error: Exception | None) -> None:
        """One side is gone; the other goes with it."""
        if not self._reason:
            ours = ("by gRPC", "closed by gRPC")
            self._kind, self._reason = ours if side is self.near else describe_loss(error)
        self._close(self._reason)

    def abort(self) -> None:
        """Close both sides at once."""
        self._close("connection closed")
        for side in (self.near, self.far):
            if side.transport is not None and not side.over:
                side.transport.abort()

    def _close(self, reason: str) -> None:
        self._reason = self._reason or reason
        self.ready = False
        if self._calming is not None:
            self._calming.cancel()
        task = self._task
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        for side in (self.near, self.far):
            if side.transport is not None and not side.over:
                side.transport.close()  # what was passed on is still written
        if not self.gone.done() and self.near.over and (self.far.over or self.far.transport is None):
            self.gone.set_result(None)
            self.tap.lost(self, self._kind or "by us", self._reason)


class _Near(_Side):
    """The side of gRPC."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self.pair.tap.closed:
            self.pair.begin()
