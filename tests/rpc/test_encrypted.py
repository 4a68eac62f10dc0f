"""TLS between a socket and a link: what becomes of its ends, on both event loops."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading

import pytest
import uvloop

from lbctl.model import Endpoint
from lbctl.rpc.dial import dial_socket
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.fakes import until
from tests.rpc.tls_servers import CA, Talk, context, serving

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
BIG = 3 << 20


class Far(asyncio.Protocol):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.stage = ""
        self.heard = bytearray()
        self.over: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set_result(error)


async def connected(endpoint: Endpoint) -> Far:
    far = Far()
    await dial_socket(endpoint, far, Credentials(TlsOptions(ca=CA)).secure(endpoint.host))
    return far


async def ended(far: Far) -> Exception | None:
    return await asyncio.wait_for(far.over, 5)


def run(loop: str, talk: Talk, work: object, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
    with serving(context(newest=newest), talk) as endpoint, asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(work(endpoint))  # type: ignore[operator]


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("loop", LOOPS)
def test_megabytes_go_through_unchanged_both_ways(loop: str, newest: ssl.TLSVersion) -> None:
    def echo(peer: socket.socket) -> None:
        got = bytearray()
        while len(got) < BIG:
            got += peer.recv(65536)
        peer.sendall(got)
        peer.recv(1)

    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        said = bytes(range(256)) * (BIG // 256)
        far.transport.write(said[:-7])
        far.transport.write(said[-7:])
        await until(lambda: len(far.heard) >= BIG, 10.0)
        assert far.heard == said
        far.transport.close()
        assert await ended(far) is None

    run(loop, echo, work, newest=newest)


@pytest.mark.parametrize("loop", LOOPS)
def test_words_that_come_with_the_end_of_the_handshake_are_heard(loop: str) -> None:
    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        assert await ended(far) is None
        assert far.heard == b"at once"

    run(loop, lambda peer: peer.sendall(b"at once"), work)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_goodbye_of_the_peer_is_an_ordinary_end_after_all_it_said(loop: str) -> None:
    answered = threading.Event()

    def leave(peer: socket.socket) -> None:
        peer.sendall(b"x" * 100_000)
        assert isinstance(peer, ssl.SSLSocket)
        peer.unwrap()  # waits for the other's goodbye
        answered.set()

    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        assert await ended(far) is None
        assert len(far.heard) == 100_000
        far.transport.write(b"nobody hears this")
        far.transport.close()

    run(loop, leave, work)
    assert answered.is_set()


@pytest.mark.parametrize("loop", LOOPS)
def test_our_end_is_said_properly(loop: str) -> None:
    heard: list[bytes] = []
    done = threading.Event()

    def listen(peer: socket.socket) -> None:
        heard.append(peer.recv(100))
        heard.append(peer.recv(100))  # raises where there was no goodbye
        done.set()

    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        far.transport.write(b"last words")
        far.transport.close()
        assert far.transport.is_closing()
        assert await ended(far) is None

    run(loop, listen, work)
    assert done.wait(5)
    assert heard == [b"last words", b""]


@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_not_tls_on_the_connection_ends_it_with_the_reason_after_all_that_was(loop: str) -> None:
    asked, said = threading.Event(), threading.Event()

    def babble(peer: socket.socket) -> None:
        asked.wait(5)
        peer.sendall(b"good")
        with socket.socket(fileno=socket.dup(peer.fileno())) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        said.set()
        peer.recv(1)

    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        asked.set()
        assert said.wait(5)  # on purpose: the loop then reads all of it at once
        assert isinstance(await ended(far), ssl.SSLError)
        assert far.heard == b"good"

    run(loop, babble, work)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_aborted_connection_is_over_at_once(loop: str) -> None:
    async def work(endpoint: Endpoint) -> None:
        far = await connected(endpoint)
        far.transport.abort()
        far.transport.write(b"nobody hears this")
        assert await ended(far) is None

    run(loop, lambda peer: None, work)
