"""When a call counts as written, on real sockets and both event loops: when the kernel has all of it, not before."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random

import pytest
import uvloop

from lbctl.clock import SystemClock
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import Secure
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.tls import Credentials, TlsOptions
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Request
from lbctl.wire.state import Call, Wait
from tests.fakes import until
from tests.rpc.tls_servers import CA, context
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2
from tests.wire.frames import reply

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
COUNT, SIZE = 950, 16_000  # far more than kernels buffer
ROOM = 2**30


class Together:
    """Calls started at once; those that have to wait leave it."""

    def __init__(self, attempts: int = 1) -> None:
        self.deadline_ns = 1 << 62
        self.timeout_ns = 0
        self.waited_for = Wait.NOTHING
        self.left: list[Together] = []

    def alone(self) -> Together:
        single = Together()
        self.left.append(single)
        return single


class User:
    """Sends calls through a subchannel, and keeps what is told."""

    def __init__(self, server: ScriptedServer, secure: Secure | None = None) -> None:
        self.done: list[Call] = []
        self.failed: list[str] = []
        self.written: list[Call] = []
        self.flusher = Flusher(self.written.extend)
        self.subchannel = Subchannel(
            server.endpoint,
            Request("/pkg.Svc/Method", bytes(SIZE), "echo", 0),
            self,
            flusher=self.flusher,
            clock=SystemClock(),
            rng=Random(1),
            secure=secure,
        )

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None:
        self.done += baskets.done
        self.failed += [reply.reason for _, reply in baskets.replies]
        baskets.done, baskets.replies = [], []

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None: ...

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None: ...

    def send(self, count: int) -> Together:
        together = Together()
        for _ in range(count):
            self.subchannel.send(together)
        self.flusher.flush()
        return together

    async def connect(self) -> None:
        self.subchannel.connect()
        await until(lambda: self.subchannel.state is Connectivity.READY)
        self.send(1)  # the template is made
        await until(lambda: self.done)
        self.done.clear()
        self.written.clear()


async def reading(peer: Connection) -> None:
    peer.send(h2.window_update(0, ROOM))
    while True:
        peer.send(reply((await peer.request()).stream), *(reply(request.stream) for request in peer.pending()))


def run(loop: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(work())


def hosts(tmp_path: Path) -> dict[str, str]:
    return {"tcp": "127.0.0.1", "unix": f"unix:{tmp_path}/echo", "tls": "127.0.0.1"}


def meeting(host: str, tmp_path: Path) -> tuple[ScriptedServer, Secure | None]:
    tls: ssl.SSLContext | None = context() if host == "tls" else None
    server = ScriptedServer(reading, settings={h2.INITIAL_WINDOW_SIZE: ROOM}, host=hosts(tmp_path)[host], tls=tls)
    return server, Credentials(TlsOptions(ca=CA)).secure("127.0.0.1") if tls else None


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("host", ["tcp", "unix", "tls"])
def test_calls_that_a_peer_does_not_read_are_written_when_it_does(loop: str, host: str, tmp_path: Path) -> None:
    async def work() -> None:
        server, secure = meeting(host, tmp_path)
        async with asyncio.timeout(20), server:
            user = User(server, secure)
            await user.connect()
            (peer,) = server.connections
            peer.deaf(deaf=True)
            batch = user.send(COUNT)
            assert 0 < len(batch.left) < COUNT
            assert {call.waited_for for call in batch.left} == {Wait.PEER}
            assert user.written == []
            assert user.subchannel.gauges().waiting == len(batch.left)
            later = user.send(3)
            assert len(later.left) == 3
            peer.deaf(deaf=False)
            await until(lambda: len(user.done) == COUNT + 3, 15.0)
            assert user.failed == []
            # Those that were answered before the last of them was written are none that waited to the end.
            assert set(user.written) <= {*batch.left, *later.left}
            assert set(later.left) <= set(user.written)
            counters = user.subchannel.total_counters()
            assert counters["blocked_writes"] >= 1
            assert counters["waited: peer"] == len(batch.left) + 3
            await user.subchannel.aclose()

    run(loop, work)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("host", ["tcp", "unix"])
def test_calls_that_the_kernel_takes_are_written_at_once(loop: str, host: str, tmp_path: Path) -> None:
    async def work() -> None:
        server, secure = meeting(host, tmp_path)
        async with asyncio.timeout(10), server:
            user = User(server, secure)
            await user.connect()
            (peer,) = server.connections
            batch = user.send(5)
            assert batch.left == []
            (link,) = user.subchannel._links
            assert link.write_backlog == 0
            # In the kernel already: the server hears of it although our loop has not gone on.
            await until(lambda: len(user.done) == 5)
            assert len(peer.requests) == 6
            await user.subchannel.aclose()

    run(loop, work)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_peer_said_before_it_went_is_heard_although_writing_to_it_fails(loop: str) -> None:
    """Its answer and its end lie in our kernel while we write into the void."""

    async def behave(peer: Connection) -> None:
        peer.send(h2.window_update(0, ROOM))
        peer.send(reply((await peer.request()).stream))
        request = await peer.request()
        peer.send(reply(request.stream))
        await peer.drain()
        peer.abort()

    async def work() -> None:
        server = ScriptedServer(behave, settings={h2.INITIAL_WINDOW_SIZE: ROOM}, strict=False)
        async with asyncio.timeout(10), server:
            user = User(server)
            await user.connect()
            user.send(1)
            # Our loop stands still while the server's end answers and goes: it runs on the same one, so give it turns
            # in which nothing of ours is read.
            (link,) = user.subchannel._links
            assert link._transport is not None
            link._transport._transport.pause_reading()  # type: ignore[attr-defined]
            await until(lambda: server.connections[0].closed)
            for _ in range(5):
                user.send(1)
                await asyncio.sleep(0.01)
            link._transport._transport.resume_reading()  # type: ignore[attr-defined]
            await until(lambda: user.failed)
            assert len(user.done) == 1
            assert len(user.failed) == 5
            await user.subchannel.aclose()

    run(loop, work)
