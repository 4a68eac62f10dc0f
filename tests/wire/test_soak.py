"""Three hundred connections one after the other: calls go on, and neither memory nor descriptors grow.

The stream ids of each connection begin near their end, which otherwise takes a billion calls to reach; or the server
sends each one away. The cyclic garbage collector is off, as it is during a load, so that nothing of lbctl's may be in a
cycle; asyncio's own transports are in one each, and are collected before their memory is looked at.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from lbctl.model import Code, Endpoint
from lbctl.rpc.link import Link
from lbctl.wire.header_reader import HeaderReader
from lbctl.wire.limits import LAST_STREAM
from lbctl.wire.session import Session
from lbctl.wire.windows import SendWindows
from tests.wire import frames as h2
from tests.wire.frames import reply
from tests.wire.hot_client import HotClient

pytestmark = pytest.mark.slow

CALLS = 4  # on each connection
WARM, ROUNDS = 100, 300
DESCRIPTORS = Path("/proc/self/fd")


class LeanServer(asyncio.Protocol):
    """Answers every request and keeps nothing; ``leaving`` sends each connection away after its share of calls."""

    def __init__(self, *, leaving: bool) -> None:
        self._leaving = leaving
        self._rest = b""
        self._answered = 0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(h2.settings())

    def data_received(self, data: bytes) -> None:
        buffer = (self._rest + data).removeprefix(h2.PREFACE)
        heard, used = h2.split(buffer)
        self._rest = buffer[used:]
        for frame in heard:
            if frame.kind == h2.SETTINGS and not frame.flags & h2.ACK:
                self._transport.write(h2.settings_ack())
            elif frame.kind == h2.DATA and frame.flags & h2.END_STREAM:
                self._answer(frame.stream)

    def _answer(self, stream: int) -> None:
        self._answered += 1
        farewell = h2.goaway(stream) if self._leaving and self._answered == CALLS else b""
        self._transport.write(farewell + reply(stream) + h2.window_update(0, 100))


@asynccontextmanager
async def lean_server(*, leaving: bool) -> AsyncIterator[Endpoint]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: LeanServer(leaving=leaving), "127.0.0.1", 0)
    async with server:
        yield Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])


def begin_near_the_end(patch: pytest.MonkeyPatch) -> None:
    """The hook: every session has but a few stream ids left."""
    original = Session.__init__

    def init(self: Session, *args: object, **options: object) -> None:
        original(self, *args, **options)  # type: ignore[arg-type]
        self.next_id = self.last_stream - 2 * (CALLS - 1)

    patch.setattr(Session, "__init__", init)


class Footprint(NamedTuple):
    """What is held right now."""

    ours: int  # objects of the connections, before anything is collected
    octets: int
    objects: int
    descriptors: int
    tasks: int


def footprint() -> Footprint:
    ours = sum(isinstance(each, (Session, Link, HeaderReader, SendWindows)) for each in gc.get_objects())
    gc.collect()
    octets, _ = tracemalloc.get_traced_memory()
    descriptors = len(os.listdir(DESCRIPTORS)) if DESCRIPTORS.exists() else 0
    return Footprint(ours, octets, len(gc.get_objects()), descriptors, len(asyncio.all_tasks()))


@contextmanager
def measured() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


async def use_up(client: HotClient) -> None:
    """As many calls as a connection has to give, two at a time."""
    for _ in range(CALLS // 2):
        for ended in await asyncio.gather(*(client.unary("/pkg.Svc/Method", b"x", timeout_s=5.0) for _ in range(2))):
            assert (ended.reply.code, ended.attempts) == (Code.OK, 1), ended.reply


@pytest.mark.parametrize("leaving", [False, True], ids=["ids_run_out", "server_leaves"])
async def test_hundreds_of_successors_take_over_and_nothing_grows(
    leaving: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not leaving:
        begin_near_the_end(monkeypatch)
    async with (
        lean_server(leaving=leaving) as endpoint,
        HotClient(endpoint, authority="soak", connect_timeout_s=5.0) as client,
    ):
        with measured():
            for _ in range(WARM):
                await use_up(client)
            before = footprint()
            for _ in range(ROUNDS):
                await use_up(client)
            after = footprint()
        assert client.counters["connections"] in range(WARM + ROUNDS, WARM + ROUNDS + 3)  # successors are begun early
        assert client.counters["protocol_errors"] == 0
    assert max(before.ours, after.ours) < 30
    assert after.octets - before.octets < 30_000
    assert after.objects - before.objects < 200
    assert after.descriptors - before.descriptors <= 2
    assert after.tasks - before.tasks <= 2


def test_the_last_stream_id_is_well_below_what_the_protocol_allows() -> None:
    assert LAST_STREAM % 2 == 1
    assert LAST_STREAM < h2.LARGEST_WINDOW
