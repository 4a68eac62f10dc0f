"""One connection between asyncio's transport and a session."""

from __future__ import annotations

import asyncio
import socket

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.dial import dial_socket
from lbctl.rpc.link import Flusher, Link, describe_loss
from lbctl.rpc.links import Links
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import Call, Wait
from tests.fakes import FakeClock, MemoryNetwork, quiet_loop, turns
from tests.rpc.bench import OneCall
from tests.wire import frames as h2

__all__ = ["quiet_loop"]

BIG = Request("/pkg.Svc/Method", bytes(60_000), "echo", 0)


class Owner:
    """Keeps what a link tells."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def received(self, link: Link, now_ns: int) -> None:
        self.told.append(f"received at {now_ns}")

    def lost(self, link: Link) -> None:
        self.told.append("lost")


class Bench:
    """A link to a memory host."""

    def __init__(self, request: Request = BIG) -> None:
        self.clock = FakeClock()
        self.owner = Owner()
        self.written: list[Call] = []
        self.flusher = Flusher(self.written.extend)
        self.host = MemoryNetwork().host(1)
        self.link = Link(Session(request), self.owner, self.flusher, self.clock)

    async def connect(self) -> None:
        await self.host.receive(self.link)
        await turns()
        self.owner.told.clear()


async def test_the_preface_is_written_when_the_connection_is_made_and_settled_when_settings_came() -> None:
    bench = Bench()
    bench.host.settings = None
    await bench.host.receive(bench.link)
    assert (bench.host.end.transport.writes, bench.link.settled.done()) == (1, False)
    bench.host.end.say(h2.settings())
    assert bench.link.settled.done()
    assert bench.link.session.ready
    bench.link.abort()
    await bench.link.gone


async def test_a_link_that_was_never_connected_can_be_flushed_and_ended() -> None:
    link = Bench().link
    link.flush()
    link.close()
    link.abort()
    assert (link.is_open, link.write_backlog, link.bytes_out) == (False, 0, 0)


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_nothing_is_written_after_its_end(end: str) -> None:
    bench = Bench()
    await bench.connect()
    getattr(bench.link, end)()
    before = bench.link.bytes_out
    bench.link.session.emit(h2.ping())
    bench.flusher.flush()
    bench.link.close()
    bench.link.abort()
    await bench.link.gone
    bench.link.close()
    bench.link.abort()
    assert bench.link.bytes_out == before


@pytest.mark.parametrize("later", [False, True])
async def test_a_connection_whose_end_no_loop_tells_is_counted_as_closed(
    later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, links = Bench(), Links()
    await bench.connect()
    transport = bench.host.end.transport
    monkeypatch.setattr(transport, "close", lambda: None)
    monkeypatch.setattr(transport, "abort", lambda: None)
    monkeypatch.setattr(bench.owner, "lost", links.lost)
    links.add(bench.link)
    await links.aclose(0.01)
    if later:
        bench.link.connection_lost(None)  # it tells after all
    counters = links.counters()
    assert (len(links), counters["opened"], counters["closed: by lbctl"]) == (0, 1, 1)


async def test_octets_are_counted_both_ways() -> None:
    bench = Bench()
    await bench.host.receive(bench.link)
    await turns()
    assert bench.link.bytes_in == len(h2.settings())
    before = bench.link.bytes_out
    bench.host.end.say(h2.ping())
    assert bench.link.bytes_out == before + len(h2.ping())
    bench.link.close()
    await bench.link.gone


async def test_a_read_is_stamped_once_at_its_beginning() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.end.say(*[h2.ping(bytes([n]) * 8) for n in range(5)])
    assert bench.owner.told == [f"received at {bench.clock.now_ns()}"]
    bench.link.abort()
    await bench.link.gone


async def test_nothing_is_written_into_a_full_buffer_but_what_the_protocol_demands() -> None:
    bench = Bench()
    await bench.connect()
    end = bench.host.end
    end.say(h2.window_update(0, 1 << 20))
    end.transport.stalled = True
    calls = [OneCall() for _ in range(8)]
    for call in calls:
        bench.link.session.enqueue(call, BIG)
        bench.flusher.flush()
    assert bench.written == []
    assert (end.heads, bench.link.waiting, bench.link.write_backlog > 60_000) == (1, 8, True)
    assert {call.waited_for for call in calls} == {Wait.PEER}
    end.say(h2.ping(b"still on"))
    assert (end.heads, end.transport.writes) == (1, 4)
    end.transport.read_on()
    assert bench.written == calls
    assert (end.heads, bench.link.waiting, bench.link.blocked_writes) == (8, 0, 1)
    end.answer(8)
    assert bench.link.session.done == calls
    bench.link.close()
    await bench.link.gone


async def test_all_that_was_started_in_a_turn_goes_out_in_one_write_and_is_told_once() -> None:
    bench = Bench(Request("/pkg.Svc/Method", b"x", "echo", 0))
    await bench.connect()
    calls = [OneCall() for _ in range(10)]
    for call in calls:
        bench.link.session.enqueue(call, bench.link.session.request or BIG)
    before = bench.host.end.transport.writes
    bench.flusher.flush()
    assert (bench.host.end.transport.writes, bench.host.end.heads) == (before + 1, 10)
    bench.flusher.flush()
    assert bench.written == calls
    bench.link.abort()
    await bench.link.gone


async def test_a_peer_that_breaks_the_protocol_is_told_why_and_left() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.end.say(h2.frame(h2.PING, 0, 0, b"short"))
    assert bench.host.end.farewell == h2.FRAME_SIZE_ERROR
    assert not bench.host.end.is_open
    await bench.link.gone
    assert bench.owner.told[-1] == "lost"


async def test_what_is_decided_at_once_is_handed_over_once_and_in_the_next_turn() -> None:
    bench = Bench()
    bench.host.settings = {h2.MAX_HEADER_LIST_SIZE: 10}
    await bench.connect()
    for _ in range(3):
        bench.link.session.enqueue(OneCall(), BIG)
        bench.flusher.flush()
    assert bench.owner.told == []
    await turns()
    assert bench.owner.told == [f"received at {bench.clock.now_ns()}"]
    assert len(bench.link.session.replies) == 3
    bench.link.session.replies.clear()
    bench.link.abort()
    await bench.link.gone


async def test_the_end_is_told_after_everything_else() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.end.drop(BrokenPipeError())
    await bench.link.gone
    assert bench.owner.told == [f"received at {bench.clock.now_ns()}", "lost"]
    assert bench.link.session.closed == "connection closed by peer while writing"
    assert (bench.link.is_open, bench.link.write_backlog) == (False, 0)


async def test_a_connection_that_we_closed_was_not_closed_by_the_peer() -> None:
    bench = Bench()
    await bench.connect()
    bench.link.close()
    await bench.link.gone
    assert bench.link.session.closed == "connection closed"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (None, "by peer", "connection closed by peer"),
        (ConnectionResetError(104, "x"), "reset", "connection reset by peer"),
        (BrokenPipeError(32, "x"), "by peer", "connection closed by peer while writing"),
        (OSError(113, "No route to host"), "lost", "connection lost: no route to host"),
        (TimeoutError(110, "Connection timed out"), "lost", "connection lost: connection timed out"),
    ],
)
def test_losses_are_described_in_plain_words_and_counted_under_few(
    error: Exception | None, kind: str, words: str
) -> None:
    assert describe_loss(error) == (kind, words)


async def test_a_real_socket_sends_small_writes_at_once_and_is_kept_alive_and_not_waited_for_long() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    bench = Bench()
    async with asyncio.timeout(5), server:
        await dial_socket(Endpoint("127.0.0.1", server.sockets[0].getsockname()[1]), bench.link)
        assert bench.link._transport is not None
        raw = bench.link._transport.get_extra_info("socket")
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
        bench.link.abort()
        await bench.link.gone
