"""TLS to backends: what is accepted, and that every way to fail is told in its own words, on both event loops."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import pytest
import uvloop

from lbctl.clock import SystemClock
from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint
from lbctl.rpc.caller import Caller
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.tls import Credentials, TlsOptions, alpn_flaw
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.wire.request import Request
from lbctl.wire.state import Call
from tests.rpc.tls_servers import (
    CA,
    CERTS,
    CLIENT_CERT,
    CLIENT_KEY,
    context,
    hang_up,
    http1,
    serving,
    settings_only,
    silence,
)
from tests.scripted import ScriptedServer, answering
from tests.wire.frames import reply

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
V12, V11 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_1

TRUSTING = TlsOptions(ca=CA)
SHOWING = TlsOptions(ca=CA, cert=CLIENT_CERT, key=CLIENT_KEY)
READY = "ready"


@pytest.fixture(params=LOOPS)
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=LOOPS[request.param]) as one:
        yield one


class _Listener:
    def __init__(self) -> None:
        self.end = asyncio.get_running_loop().create_future()

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None: ...

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None: ...

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        if state in (Connectivity.READY, Connectivity.TRANSIENT_FAILURE) and not self.end.done():
            self.end.set_result(reason or READY)


async def attempt(endpoint: Endpoint, secure: Secure | None, *, connect_timeout_s: float = 5.0) -> str:
    """How the first attempt to connect ends: ready, or the reason why not."""
    listener = _Listener()
    subchannel = Subchannel(
        endpoint,
        Request("/pkg.Svc/Method", b"", "echo", 0),
        listener,
        flusher=Flusher(),
        clock=SystemClock(),
        rng=Random(1),
        options=ConnectionOptions(connect_timeout_s=connect_timeout_s),
        secure=secure,
    )
    subchannel.connect()
    try:
        return str(await asyncio.wait_for(listener.end, 5))
    finally:
        await subchannel.aclose()


def outcome(
    runner: asyncio.Runner, server: AbstractContextManager[Endpoint], options: TlsOptions | None, name: str = ""
) -> str:
    with server as endpoint:
        secure = None if options is None else Credentials(options).secure(name or endpoint.host)
        return runner.run(attempt(endpoint, secure))


ACCEPTED: dict[str, tuple[Callable[[], AbstractContextManager[Endpoint]], TlsOptions]] = {
    "an_ipv4_address": (lambda: serving(context()), TRUSTING),
    "tls_1_2": (lambda: serving(context(newest=V12)), TRUSTING),
    "our_certificate": (lambda: serving(context(wants_client=True)), SHOWING),
    "our_certificate_tls_1_2": (lambda: serving(context(wants_client=True, newest=V12)), SHOWING),
    "anything_unverified": (lambda: serving(context("alone")), TlsOptions(skip_verify=True)),
    "expired_unverified": (lambda: serving(context("expired")), TlsOptions(skip_verify=True)),
    "one_certificate_pinned": (lambda: serving(context("alone")), TlsOptions(ca=CERTS / "alone.pem")),
}


@pytest.mark.parametrize(("server", "options"), ACCEPTED.values(), ids=ACCEPTED)
def test_good_servers_are_accepted(
    runner: asyncio.Runner, server: Callable[[], AbstractContextManager[Endpoint]], options: TlsOptions
) -> None:
    assert outcome(runner, server(), options) == READY


@pytest.mark.parametrize(("certificate", "name"), [("server", "echo"), ("other", "a.other.example")])
def test_a_certificate_is_good_for_each_of_its_names(runner: asyncio.Runner, certificate: str, name: str) -> None:
    assert outcome(runner, serving(context(certificate)), TRUSTING, name) == READY


NAMES = "other.example, *.other.example, 192.0.2.7"


@pytest.mark.parametrize(
    ("certificate", "name", "names"),
    [
        ("other", "127.0.0.1", NAMES),
        ("other", "echo", NAMES),
        ("server", "nope", "localhost, echo, 127.0.0.1, ::1"),
    ],
)
def test_a_certificate_for_another_name_is_refused_with_its_names(
    runner: asyncio.Runner, certificate: str, name: str, names: str
) -> None:
    told = outcome(runner, serving(context(certificate)), TRUSTING, name)
    assert told == f"the certificate is not for {name} but for {names}"


NO_TLS = "the peer does not speak TLS"
REFUSED: dict[str, tuple[Callable[[], AbstractContextManager[Endpoint]], TlsOptions | None, str]] = {
    "unknown_authority": (
        lambda: serving(context()),
        TlsOptions(),
        "the certificate is signed by an unknown authority",
    ),
    "self_signed": (
        lambda: serving(context("alone")),
        TRUSTING,
        "the certificate is self-signed, and not among the trusted ones",
    ),
    "expired": (lambda: serving(context("expired")), TRUSTING, "the certificate has expired"),
    "not_yet": (lambda: serving(context("early")), TRUSTING, "the certificate is not valid yet"),
    "no_alpn": (lambda: serving(context(alpn=())), TRUSTING, "ALPN gave nothing"),
    "old_version": (
        lambda: serving(context(newest=V11)),
        TRUSTING,
        "no TLS version in common: the peer refuses TLS 1.2 and 1.3",
    ),
    "certificate_required": (
        lambda: serving(context(wants_client=True)),
        TRUSTING,
        "connection lost: the peer requires a client certificate",
    ),
    "certificate_required_tls_1_2": (
        lambda: serving(context(wants_client=True, newest=V12)),
        TRUSTING,
        "the peer refused the TLS handshake: it may require a client certificate",
    ),
    "certificate_not_trusted": (
        lambda: serving(context(wants_client=True)),
        TlsOptions(ca=CA, cert=CERTS / "alone.pem", key=CERTS / "alone.key"),
        "connection lost: the peer does not trust our client certificate",
    ),
    "certificate_not_trusted_tls_1_2": (
        lambda: serving(context(wants_client=True, newest=V12)),
        TlsOptions(ca=CA, cert=CERTS / "alone.pem", key=CERTS / "alone.key"),
        "the peer does not trust our client certificate",
    ),
    "certificate_refused_without_a_word": (
        lambda: serving(context(), hang_up),
        SHOWING,
        "connection closed by peer before its HTTP/2 SETTINGS: it may not accept the client certificate",
    ),
    "plaintext_http1": (lambda: serving(None, http1), TRUSTING, NO_TLS),
    "plaintext_http2": (lambda: serving(None, settings_only), TRUSTING, NO_TLS),
    "plaintext_hangs_up": (
        lambda: serving(None, hang_up),
        TRUSTING,
        "the peer closed the connection during the TLS handshake: does it speak TLS?",
    ),
    "hangs_up_after_the_handshake": (
        lambda: serving(context(), hang_up),
        TRUSTING,
        "connection closed by peer before its HTTP/2 SETTINGS: it may require a client certificate",
    ),
    "we_speak_plaintext": (lambda: serving(context()), None, "before its HTTP/2 SETTINGS: it may want TLS"),
}


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize(("server", "options", "reason"), REFUSED.values(), ids=REFUSED)
def test_every_way_to_fail_has_its_own_words(
    runner: asyncio.Runner,
    server: Callable[[], AbstractContextManager[Endpoint]],
    options: TlsOptions | None,
    reason: str,
) -> None:
    told = outcome(runner, server(), options)
    assert told == reason if options is not None else told.endswith(reason)


def test_an_ipv6_address_is_verified_as_such(runner: asyncio.Runner) -> None:
    try:
        server = serving(context(), host="::1")
        assert outcome(runner, server, TRUSTING) == READY
    except OSError:
        pytest.skip("no IPv6 loopback here")


def test_a_peer_that_never_answers_the_handshake_is_given_up_at_the_connect_timeout(runner: asyncio.Runner) -> None:
    with serving(None, silence) as endpoint:
        secure = Credentials(TRUSTING).secure(endpoint.host)
        assert runner.run(attempt(endpoint, secure, connect_timeout_s=0.1)) == "no TLS handshake within 0.1s"


def test_a_peer_that_never_says_settings_is_given_up_at_the_connect_timeout(runner: asyncio.Runner) -> None:
    with serving(context(), silence) as endpoint:
        secure = Credentials(TRUSTING).secure(endpoint.host)
        assert runner.run(attempt(endpoint, secure, connect_timeout_s=0.2)) == "no HTTP/2 SETTINGS within 0.2s"


def test_calls_of_any_size_go_through(runner: asyncio.Runner) -> None:
    async def converse() -> None:
        server = ScriptedServer(answering(reply), tls=context())
        async with asyncio.timeout(10), server:
            secure = Credentials(TRUSTING).secure("127.0.0.1")
            async with Caller(server.endpoint, secure=secure) as caller:
                results = await asyncio.gather(
                    *(caller.unary("/pkg.Svc/Method", bytes(size), timeout_s=8) for size in (0, 1, 70_000, 1 << 20))
                )
        assert {result.reply.code for result in results} == {Code.OK}
        heads = [request.header(b":scheme") for request in server.connections[0].requests.values()]
        assert heads == [b"https"] * 4

    runner.run(converse())


@pytest.mark.parametrize(
    ("protocol", "flaw"), [("h2", ""), (None, "ALPN gave nothing"), ("http/1.1", "ALPN gave http/1.1")]
)
def test_only_h2_will_do(protocol: str | None, flaw: str) -> None:
    assert alpn_flaw(protocol) == flaw


# ---- files -----------------------------------------------------------------------------------------------------------


def refusal(options: TlsOptions) -> str:
    with pytest.raises(UsageError) as caught:
        Credentials(options)
    return str(caught.value)


def test_files_that_cannot_be_used_are_named_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    empty, missing = tmp_path / "empty.pem", tmp_path / "missing.pem"
    empty.write_text("")
    assert refusal(TlsOptions(ca=missing)) == f"the CA file {missing} cannot be read: no such file or directory"
    assert refusal(TlsOptions(ca=tmp_path)) == f"the CA file {tmp_path} cannot be read: is a directory"
    assert refusal(TlsOptions(ca=empty)).startswith(f"the CA file {empty} holds no usable PEM certificates")
    assert refusal(TlsOptions(ca=CLIENT_KEY)).startswith(f"the CA file {CLIENT_KEY} holds no usable PEM certificates")
    assert refusal(TlsOptions(cert=missing)).startswith(f"the client certificate {missing} cannot be read")
    assert refusal(TlsOptions(cert=CLIENT_CERT, key=missing)).startswith(f"the private key {missing} cannot be read")
    assert refusal(TlsOptions(cert=empty)).startswith(f"the client certificate {empty} cannot be used")
    assert refusal(TlsOptions(key=CLIENT_KEY)) == f"the private key {CLIENT_KEY} needs a client certificate"
    other = CERTS / "other.key"
    told = refusal(TlsOptions(cert=CLIENT_CERT, key=other))
    assert told == f"the private key {other} does not belong to the certificate {CLIENT_CERT}"


def test_a_key_with_a_passphrase_is_named_with_the_command_that_makes_one_without(tmp_path: Path) -> None:
    key = tmp_path / "my own.key"
    key.write_bytes((CERTS / "locked.key").read_bytes())
    with pytest.raises(UsageError) as caught:
        Credentials(TlsOptions(cert=CLIENT_CERT, key=key))
    assert str(caught.value) == f"the private key {key} has a passphrase, which lbctl cannot ask for"
    assert caught.value.hint == f"openssl pkey -in '{key}' -out PLAIN makes one without"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (TlsOptions(ca=Path("/nowhere")), "--tls-ca, LBCTL_TLS_CA or tls.ca"),
        (TlsOptions(ca=CLIENT_KEY), "--tls-ca, LBCTL_TLS_CA or tls.ca"),
        (TlsOptions(cert=Path("/nowhere")), "--tls-cert, LBCTL_TLS_CERT or tls.cert"),
        (TlsOptions(cert=CLIENT_CERT, key=Path("/nowhere")), "--tls-key, LBCTL_TLS_KEY or tls.key"),
        (TlsOptions(cert=CLIENT_CERT, key=CERTS / "other.key"), "--tls-key, LBCTL_TLS_KEY or tls.key"),
    ],
)
def test_where_a_file_that_cannot_be_used_was_named_is_told(options: TlsOptions, option: str) -> None:
    with pytest.raises(UsageError) as caught:
        Credentials(options)
    assert caught.value.hint == f"see {option} in the settings file"


def test_a_certificate_and_its_key_may_share_a_file(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(CLIENT_CERT.read_bytes() + CLIENT_KEY.read_bytes())
    Credentials(TlsOptions(cert=both))


@pytest.mark.parametrize("name", ["a" * 64 + ".example", ".example", "a..b"])
def test_a_server_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a TLS server name"):
        Credentials().secure(name)


def test_only_tls_1_2_and_newer_is_offered_and_h2_alone() -> None:
    secure = Credentials().secure("127.0.0.1")
    assert secure.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert secure.context.check_hostname
    assert secure.context.verify_mode is ssl.CERT_REQUIRED
    assert secure.server_name == "127.0.0.1"
