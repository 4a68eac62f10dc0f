"""What is said of an address that no call can be made to, whether we came with TLS or without."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.obstacle import HTTP1, NOT_HTTP2, PLAINTEXT, REFUSED, TLS, Kind, Obstacle, silent
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.probe import OPENING, connect
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.rpc.servers import CERTS, answering, black_hole, credentials, listening, refused_port, serving

CA = CERTS / "ca.pem"


def secure(*, ca: Path | None = CA, host: str = "127.0.0.1", **options: object) -> Secure:
    return Credentials(TlsOptions(ca=ca, **options)).secure(host)  # type: ignore[arg-type]


async def met(endpoint: Endpoint, tls: Secure | None = None, *, timeout_s: float = 5.0) -> Obstacle | None:
    async with Access(secure=tls).caller(endpoint) as caller:
        return await connect(caller, endpoint, tls, timeout_s)


async def test_a_grpc_server_is_nothing_to_complain_of() -> None:
    async with serving() as endpoint:
        assert await met(endpoint) is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"", Obstacle(Kind.ERROR, "closed the connection before its HTTP/2 SETTINGS")),
        (b"\x15\x03\x01\x00\x02\x02\x46", TLS),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", HTTP1),
        (b"SSH-2.0-OpenSSH_9.2\r\n", NOT_HTTP2),
    ],
)
async def test_the_first_bytes_decide(answer: bytes, found: Obstacle) -> None:
    async with answering(answer) as endpoint:
        assert await met(endpoint) == found


@pytest.mark.parametrize("to_plaintext", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request"])
async def test_a_tls_server_that_hides_it_is_found_by_a_handshake(to_plaintext: bytes) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opening = await reader.read(1024)
        writer.write(to_plaintext if opening.startswith(b"PRI") else b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76")

    async with listening(reply) as endpoint:
        assert await met(endpoint) == TLS


async def test_a_tls_server_is_found_by_a_client_without() -> None:
    async with serving(tls=True) as endpoint:
        assert await met(endpoint) == TLS


async def test_a_plaintext_server_is_found_by_a_client_with_tls() -> None:
    async with serving() as endpoint:
        assert await met(endpoint, secure()) == PLAINTEXT


async def test_a_plaintext_server_that_hangs_up_on_a_handshake_is_found_by_its_settings() -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.read(1024)).startswith(b"PRI"):
            writer.write(OPENING[24:])  # empty SETTINGS

    async with listening(reply) as endpoint:
        assert await met(endpoint, secure()) == PLAINTEXT


async def test_whoever_hangs_up_on_a_handshake_and_on_plaintext_has_closed_the_connection() -> None:
    async with answering(b"") as endpoint:
        obstacle = await met(endpoint, secure())
    assert obstacle is not None
    assert obstacle.kind is Kind.ERROR
    assert obstacle.text.startswith("closed the connection during the TLS handshake")


async def test_the_right_certificates_on_both_sides_are_nothing_to_complain_of() -> None:
    ours = secure(cert=CERTS / "client.pem", key=CERTS / "client.key")
    async with serving(tls=credentials(mutual=True)) as endpoint:
        assert await met(endpoint, ours) is None


@pytest.mark.parametrize(
    ("certificate", "text"),
    [
        ("alone", "cannot be trusted: the certificate is self-signed"),
        ("expired", "cannot be trusted: the certificate has expired"),
        ("other", "cannot be trusted: the certificate is not for 127.0.0.1"),
    ],
)
async def test_a_certificate_that_will_not_do_is_said_with_the_reason(certificate: str, text: str) -> None:
    async with serving(tls=credentials(certificate)) as endpoint:
        obstacle = await met(endpoint, secure())
        assert await met(endpoint, secure(ca=None, skip_verify=True)) is None
    assert obstacle is not None
    assert obstacle.kind is Kind.CERTIFICATE
    assert obstacle.text.startswith(text)


async def test_a_server_that_wants_a_client_certificate_may_only_close() -> None:
    async with serving(tls=credentials(mutual=True)) as endpoint:
        obstacle = await met(endpoint, secure())
    assert obstacle == Obstacle(
        Kind.CERTIFICATE, "closed the connection before its HTTP/2 SETTINGS: it may require a client certificate"
    )


async def test_a_server_that_closes_on_the_client_certificate_may_not_accept_it() -> None:
    async with serving(tls=credentials(mutual=True)) as endpoint:
        obstacle = await met(endpoint, secure(cert=CERTS / "alone.pem", key=CERTS / "alone.key"))
    assert obstacle is not None
    assert obstacle.kind is Kind.CERTIFICATE
    assert obstacle.text.endswith(
        " the connection before its HTTP/2 SETTINGS: it may not accept the client certificate"
    )


async def test_a_certificate_may_be_for_another_name_than_the_address() -> None:
    async with serving(tls=credentials("other")) as endpoint:
        assert await met(endpoint, secure(host="other.example")) is None


async def test_a_refused_port_is_refused_with_tls_as_without() -> None:
    with refused_port() as endpoint:
        assert await met(endpoint) == await met(endpoint, secure()) == REFUSED


async def test_a_silent_port_is_silent_with_tls_as_without() -> None:
    with black_hole() as endpoint:
        assert await met(endpoint, timeout_s=0.05) == await met(endpoint, secure(), timeout_s=0.05) == silent(0.05)


async def test_a_connection_that_may_take_less_time_than_the_question_says_what_it_waited_for() -> None:
    access = Access(options=ConnectionOptions(connect_timeout_s=0.05))
    with black_hole() as endpoint:
        async with access.caller(endpoint) as caller:
            obstacle = await connect(caller, endpoint, None, 5.0)
    assert obstacle == Obstacle(Kind.TIMEOUT, "gave no HTTP/2 SETTINGS within 0.05s")


async def test_what_cannot_be_an_address_cannot_be_reached() -> None:
    obstacle = await met(Endpoint("x" * 64 + ".test", 1))
    assert obstacle is not None
    assert (obstacle.kind, obstacle.text[:19]) == (Kind.ERROR, "cannot be reached (")
