"""Stand-ins for time and for the network, driven by the test: nothing here waits for anything but a turn of the loop.

    network = MemoryNetwork()
    host = network.host(1)                 # an Endpoint to dial is host.endpoint
    host.mode = "refuse"                   # accept | refuse | hang
    Run(task, FakeClock(), network.as_network())

Connections go from a real ``Link`` to a ``ServerEnd``, which judges every byte as the scripted server does and answers
when it is told to.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.dial import Dialled, Network
from lbctl.rpc.options import Secure
from tests.wire import frames as h2
from tests.wire.checker import Ledger
from tests.wire.frames import ReplyBytes

EVERYTHING = 2**31 - 1


async def turns(count: int = 12) -> None:
    """Let everything that is due happen."""
    for _ in range(count):
        await asyncio.sleep(0)


def timers() -> list[asyncio.TimerHandle]:
    """What asyncio's own loop would still do later."""
    scheduled: list[asyncio.TimerHandle] = getattr(asyncio.get_running_loop(), "_scheduled", [])
    return [timer for timer in scheduled if not timer.cancelled()]


async def until(what: Callable[[], object], bound_s: float = 3.0) -> None:
    """Wait for something that real time or a real network will bring."""
    async with asyncio.timeout(bound_s):
        while True:
            if what():
                return
            await asyncio.sleep(0.001)


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self._now_ns = 1_000_000_000
        self._cpu_s = 1.0

    def now_ns(self) -> int:
        return self._now_ns

    def cpu_s(self) -> float:
        return self._cpu_s

    @staticmethod
    def wall() -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC)

    def advance(self, seconds: float, *, cpu_s: float = 0.0) -> None:
        self._now_ns += round(seconds * 1e9)
        self._cpu_s += cpu_s


class FakeAlarm:
    """An alarm that rings when it is told to; ``due_ns`` is when it would, None when it is not set."""

    spun_ns = 0

    def __init__(self, clock: FakeClock) -> None:
        self.due_ns: int | None = None
        self.is_open = False
        self._clock = clock
        self._ring: Callable[[], None] = lambda: None

    def made(self, ring: Callable[[], None], _clock: object) -> FakeAlarm:
        """What makes alarms, to be handed to a run."""
        self._ring, self.is_open = ring, True
        return self

    def set(self, delay_ns: int) -> None:
        assert self.is_open
        assert delay_ns >= 0
        self.due_ns = self._clock.now_ns() + delay_ns

    def clear(self) -> None:
        self.due_ns = None

    def close(self) -> None:
        self.due_ns, self.is_open = None, False

    def ring(self) -> bool:
        """Ring if it is time; whether it was."""
        if self.due_ns is None or self.due_ns > self._clock.now_ns():
            return False
        self.due_ns = None
        self._ring()
        return True


class FakeSleep:
    """Sleepers that lie until they are woken; ``delays`` is how long each wanted to."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self._sleepers: list[asyncio.Future[None]] = []

    async def __call__(self, seconds: float) -> None:
        self.delays.append(seconds)
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper

    def wake(self) -> None:
        """Let every sleeper go on."""
        sleepers, self._sleepers = self._sleepers, []
        for sleeper in sleepers:
            if not sleeper.done():
                sleeper.set_result(None)


class MemoryTransport(asyncio.Transport):
    """Hands bytes to a ServerEnd, or keeps them while the peer does not read."""

    def __init__(self, protocol: asyncio.Protocol, take: Callable[[bytes], None]) -> None:
        super().__init__()
        self.stalled = False
        self.writes = 0
        self.over = False  # connection_lost is on its way, or was called
        self._closing = False
        self._protocol: asyncio.Protocol | None = protocol
        self._take = take
        self._kept = b""
        self._high = 1 << 16
        self._paused = False

    def write(self, data: Any) -> None:  # noqa: ANN401  # whatever asyncio calls bytes
        if self._closing:
            raise RuntimeError("the handler is closed")  # as uvloop's does
        self.writes += 1
        self._take(data)
        if self.stalled:
            self._kept += data
            if len(self._kept) > self._high and not self._paused:
                self._paused = True
                assert self._protocol is not None
                self._protocol.pause_writing()

    def read(self, octets: int) -> None:
        """The peer reads so many, and not all there is."""
        self._kept = self._kept[octets:]

    def read_on(self) -> None:
        """The peer reads again."""
        self.stalled, self._kept = False, b""
        if self._closing:
            self.end(None)
        elif self._paused and self._protocol is not None:
            self._paused = False
            self._protocol.resume_writing()

    def deliver(self, data: bytes) -> None:
        """The peer wrote something."""
        if self._protocol is not None and not self._closing:
            self._protocol.data_received(data)

    def close(self) -> None:
        self._closing = True
        if not self._kept:
            self.end(None)

    def abort(self) -> None:
        self._closing, self._kept = True, b""
        self.end(None)

    def end(self, error: Exception | None) -> None:
        """The connection is over, as the protocol hears in the next turn."""
        self._closing = True
        if not self.over:
            self.over = True
            asyncio.get_running_loop().call_soon(self._lose, error)

    def _lose(self, error: Exception | None) -> None:
        protocol, self._protocol = self._protocol, None  # as asyncio's own transports do
        assert protocol is not None
        protocol.connection_lost(error)

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return len(self._kept)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high if high is not None else self._high

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default


class ServerEnd:
    """The server's end of one connection: ``waiting`` are the streams whose request is complete and not answered."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.ledger = Ledger()
        self.transport = MemoryTransport(protocol, self._hear)
        self.waiting: list[int] = []
        self.heads = 0  # requests whose headers were written
        self.timeouts: list[bytes | None] = []  # the grpc-timeout of each
        self.previous: list[bytes | None] = []  # the grpc-previous-rpc-attempts of each
        self.cancelled: list[int] = []  # streams that the client reset
        self.octets = 0  # of DATA
        self.latest: deque[tuple[dict[bytes, bytes], bytes]] = deque(maxlen=100)  # requests that are complete
        self._partial: dict[int, tuple[dict[bytes, bytes], bytearray]] = {}
        self.pings: list[bytes] = []  # of the client, none of them answered
        self.farewell: int | None = None  # the client's GOAWAY code
        self._unread = b""
        self._begun = False
        self._processed = 0

    @property
    def is_open(self) -> bool:
        return not self.transport.is_closing()

    @property
    def begun(self) -> list[int]:
        """Streams whose answer was begun and not ended."""
        streams = self.ledger.streams.items()
        return [number for number, state in streams if state.is_open and number not in self.waiting]

    def say(self, *parts: bytes) -> None:
        """Everything at once, in one read of the client."""
        whole = b"".join(parts)
        if not self.is_open or not whole:
            return
        for frame in h2.split(whole)[0]:
            self.ledger.sent(frame)
        self.transport.deliver(whole)

    def answer(self, count: int = 1, how: ReplyBytes = h2.reply) -> int:
        """Answer the oldest requests in one write; how many those were."""
        streams, self.waiting = self.waiting[:count], self.waiting[count:]
        self._processed = max([self._processed, *streams])
        if self.ledger.may_receive < h2.DEFAULT_WINDOW // 2:
            self.say(h2.window_update(0, h2.DEFAULT_WINDOW - self.ledger.may_receive))
        self.say(*(how(stream) for stream in streams))
        return len(streams)

    def goaway(self, last: int | None = None, code: int = h2.NO_ERROR, debug: bytes = b"") -> None:
        """Stop taking requests; those above ``last`` are not processed, by default those nobody answered."""
        kept = self._processed if last is None else last
        self.waiting = [stream for stream in self.waiting if stream <= kept]
        self.say(h2.goaway(kept, code, debug))

    def drop(self, error: Exception | None = None) -> None:
        """End the connection without a word."""
        self.transport.end(error)

    def _hear(self, data: bytes) -> None:
        self._unread += data
        if not self._begun:
            assert self._unread.startswith(h2.PREFACE)
            self._unread, self._begun = self._unread[len(h2.PREFACE) :], True
        frames, used = h2.split(self._unread)
        self._unread = self._unread[used:]
        for frame in frames:
            head = self.ledger.received(frame)
            if head is not None:
                self._note(dict(head))
                self._partial[frame.stream] = dict(head), bytearray()
            self.octets += len(frame.payload) * (frame.kind == h2.DATA)
            if frame.kind == h2.DATA:
                self._take(frame)
            elif frame.kind == h2.RST_STREAM:
                self.cancelled.append(frame.stream)
                self._partial.pop(frame.stream, None)
                self.waiting = [stream for stream in self.waiting if stream != frame.stream]
            elif frame.kind == h2.PING and not frame.flags & h2.ACK:
                self.pings.append(frame.payload)
            elif frame.kind == h2.GOAWAY:
                self.farewell = frame.number

    def _take(self, frame: h2.Frame) -> None:
        fields, body = self._partial.setdefault(frame.stream, ({}, bytearray()))
        body += frame.payload
        if frame.flags & h2.END_STREAM:
            del self._partial[frame.stream]
            self.latest.append((fields, bytes(body)))
            self.waiting.append(frame.stream)

    def _note(self, head: dict[bytes, bytes]) -> None:
        self.heads += 1
        self.timeouts.append(head.get(b"grpc-timeout"))
        self.previous.append(head.get(b"grpc-previous-rpc-attempts"))


class MemoryHost:
    """One address: how it receives connections, and those it has received."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.mode = "accept"
        self.settings: dict[int, int] | None = {}  # None: never says any
        self.greeting = b""  # said instead of SETTINGS
        self.dialled = 0
        self.ends: list[ServerEnd] = []
        self._hanging: list[asyncio.Future[None]] = []

    @property
    def end(self) -> ServerEnd:
        """The newest connection."""
        return self.ends[-1]

    @property
    def open(self) -> list[ServerEnd]:
        return [end for end in self.ends if end.is_open]

    async def receive(self, protocol: Dialled) -> None:
        self.dialled += 1
        if self.mode == "refuse":
            raise ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)")
        if self.mode == "hang":
            hanging = asyncio.get_running_loop().create_future()
            self._hanging.append(hanging)
            await hanging
        end = ServerEnd(cast(asyncio.Protocol, protocol))
        self.ends.append(end)
        protocol.connection_made(end.transport)
        asyncio.get_running_loop().call_soon(self._greet, end)

    def give_up(self) -> None:
        """The kernel ends the attempts that hang."""
        hanging, self._hanging = self._hanging, []
        for attempt in hanging:
            if not attempt.done():
                attempt.set_exception(TimeoutError(110, "Connect call failed ('127.0.0.1', 1)"))

    def _greet(self, end: ServerEnd) -> None:
        if not end.is_open:
            return
        if self.greeting:
            end.transport.deliver(self.greeting)
        elif self.settings is not None:
            end.say(h2.settings(self.settings))


class MemoryNetwork:
    """All hosts there are, and the sleep of those who cannot reach them."""

    def __init__(self) -> None:
        self.hosts: dict[Endpoint, MemoryHost] = {}
        self.sleep = FakeSleep()

    def host(self, number: int) -> MemoryHost:
        """The host of that number, 127.0.0.1:NUMBER."""
        endpoint = Endpoint("127.0.0.1", number)
        return self.hosts.setdefault(endpoint, MemoryHost(endpoint))

    async def dial(self, endpoint: Endpoint, protocol: Dialled, secure: Secure | None = None) -> None:
        await self.hosts[endpoint].receive(protocol)

    def as_network(self) -> Network:
        return Network(self.dial, self.sleep)


def _is_of_a_server(task: asyncio.Task[Any]) -> bool:
    """Whether it is one of grpcio's for a call that was cut off, which ends some time after its server has stopped."""
    return getattr(task.get_coro(), "__module__", "") == "grpc._cython.cygrpc"


@pytest.fixture(autouse=True)
async def quiet_loop() -> AsyncIterator[None]:
    """Fail a test in whose callbacks something was raised, or that left a task or a timer; import it to use it."""
    problems: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda _, context: problems.append(f"{context['message']}: {context.get('exception')!r}")
    )
    before = asyncio.all_tasks()
    yield
    await turns(3)
    await until(lambda: not any(map(_is_of_a_server, asyncio.all_tasks() - before)))
    gc.collect()  # tasks whose exception nobody saw say so when they go
    assert not problems
    assert not timers()
    assert not {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}
