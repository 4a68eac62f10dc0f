"""What the first bytes of an answer say about a port."""

from __future__ import annotations

import asyncio
import socket

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.channel import printable, target
from lbctl.rpc.probe import CLOSED, HTTP1, NOT_HTTP2, PREFACE, REFUSED, TLS, Kind, probe, unreachable
from tests.rpc.servers import answering, listening, serving


async def test_a_grpc_server_is_nothing_to_complain_of() -> None:
    async with serving() as endpoint:
        assert await probe(endpoint, 5) is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"", CLOSED),
        (b"\x15\x03\x01\x00\x02\x02\x46", TLS),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", HTTP1),
        (b"SSH-2.0-OpenSSH_9.2\r\n", NOT_HTTP2),
    ],
)
async def test_the_first_bytes_decide(answer: bytes, found: object) -> None:
    async with answering(answer) as endpoint:
        assert await probe(endpoint, 5) == found


@pytest.mark.parametrize("to_plaintext", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request"])
async def test_a_tls_server_that_hides_it_is_found_by_a_handshake(to_plaintext: bytes) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opening = await reader.read(1024)
        writer.write(to_plaintext if opening == PREFACE else b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76")

    async with listening(reply) as endpoint:
        assert await probe(endpoint, 5) == TLS


@pytest.mark.parametrize("endpoint", [Endpoint("x" * 64 + ".test", 1), Endpoint("127.0.0.1", 99999)])
async def test_what_cannot_be_an_address_does_not_resolve(endpoint: Endpoint) -> None:
    found = await probe(endpoint, 5)
    assert found is not None
    assert (found.kind, found.text) == (Kind.ERROR, "does not resolve to an address")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(), REFUSED.text),
        (OSError("Multiple exceptions: [Errno 111] refused, [Errno 111] refused"), REFUSED.text),
        (socket.gaierror(-2, "Name or service not known"), "does not resolve to an address"),
        (OSError(101, "Network is unreachable"), "cannot be reached (network is unreachable)"),
    ],
)
def test_connect_errors_have_plain_words(error: OSError, text: str) -> None:
    assert unreachable(error).text == text


@pytest.mark.parametrize(
    ("endpoint", "spelt"),
    [
        (Endpoint("127.0.0.1", 80), "ipv4:127.0.0.1:80"),
        (Endpoint("::1", 80), "ipv6:[::1]:80"),
        (Endpoint("fe80::1%eth0", 80), "ipv6:[fe80::1%25eth0]:80"),
        (Endpoint("echo.test", 80), "dns:///echo.test:80"),
        (Endpoint("unix:/tmp/s", 80), "dns:///unix%3A%2Ftmp%2Fs:80"),
    ],
)
def test_a_registry_cannot_choose_the_scheme_of_a_target(endpoint: Endpoint, spelt: str) -> None:
    assert target(endpoint) == spelt


def test_texts_from_the_network_become_one_harmless_line() -> None:
    assert printable("a\n\tb \x1b[31m\x9b") == "a b \\x1b[31m\\x9b"
    assert printable("x" * 300) == "x" * 199 + "…"
