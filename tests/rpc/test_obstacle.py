"""Why a backend cannot be called, sorted and worded from what the engine says of it."""

from __future__ import annotations

import pytest

from lbctl.model import Code, Origin, Reply
from lbctl.rpc.obstacle import NOT_HTTP2, REFUSED, TLS, Kind, Obstacle, hint, listed, of_reason, printable, silent, told
from lbctl.suggestion import Again


@pytest.mark.parametrize(
    ("reason", "kind", "text"),
    [
        ("connection refused", Kind.REFUSED, "refused the connection"),
        ("connection refused; network is unreachable", Kind.ERROR, None),
        ("the name has no address", Kind.ERROR, "cannot be reached (the name has no address)"),
        ("network is unreachable", Kind.ERROR, "cannot be reached (network is unreachable)"),
        ("name or service not known", Kind.ERROR, "cannot be reached (name or service not known)"),
        ("no HTTP/2 SETTINGS within 10s", Kind.TIMEOUT, "gave no HTTP/2 SETTINGS within 10s"),
        ("connection reset by peer", Kind.ERROR, "reset the connection"),
        ("connection closed by peer", Kind.ERROR, "closed the connection"),
        (
            "connection closed by peer before its HTTP/2 SETTINGS: it may want TLS",
            Kind.ERROR,
            "closed the connection before its HTTP/2 SETTINGS: it may want TLS",
        ),
        (
            "connection reset by peer before its HTTP/2 SETTINGS: it may require a client certificate",
            Kind.CERTIFICATE,
            "reset the connection before its HTTP/2 SETTINGS: it may require a client certificate",
        ),
        (
            "the peer refused the TLS handshake: it may not accept the client certificate",
            Kind.CERTIFICATE,
            "refused the TLS handshake: it may not accept the client certificate",
        ),
        ("peer speaks HTTP/1.x, not HTTP/2", Kind.HTTP1, "speaks HTTP/1.x, not HTTP/2"),
        ("peer speaks TLS, not plaintext HTTP/2", Kind.TLS, "speaks TLS, not plaintext HTTP/2"),
        ("peer protocol error: peer does not speak HTTP/2", Kind.ERROR, "does not speak HTTP/2"),
        ("peer protocol error: first frame is not SETTINGS", Kind.ERROR, "breaks HTTP/2: first frame is not SETTINGS"),
        ("the peer does not speak TLS", Kind.PLAINTEXT, "does not speak TLS"),
        ("the peer requires a client certificate", Kind.CERTIFICATE, "requires a client certificate"),
        ("the certificate has expired", Kind.CERTIFICATE, "cannot be trusted: the certificate has expired"),
        ("no TLS version in common", Kind.ERROR, "cannot be reached (no TLS version in common)"),
        ("ALPN gave nothing", Kind.ERROR, "speaks TLS without HTTP/2 (ALPN gave nothing)"),
        ("the certificate is not for \x1b[2J", Kind.CERTIFICATE, None),
    ],
)
def test_the_reason_of_a_failed_connection_has_a_kind_and_continues_the_address(
    reason: str, kind: Kind, text: str | None
) -> None:
    obstacle = of_reason(reason)
    assert obstacle.kind is kind
    assert obstacle.text.isprintable()
    assert text is None or obstacle.text == text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(Code.UNIMPLEMENTED), "answered UNIMPLEMENTED"),
        (Reply(Code.UNAVAILABLE, Origin.SERVER, "warming up"), "answered UNAVAILABLE: warming up"),
        (Reply(Code.UNKNOWN, Origin.SERVER, "odd", raw_code=99), "answered code 99: odd"),
        (
            Reply(Code.UNIMPLEMENTED, Origin.HTTP, "HTTP status 404 without grpc-status"),
            "answered with something that is not gRPC: HTTP status 404 without grpc-status",
        ),
        (
            Reply(Code.UNAVAILABLE, Origin.TRANSPORT, "connection reset by peer"),
            "gave no answer: connection reset by peer",
        ),
        (Reply(Code.INTERNAL, Origin.CLIENT, "truncated message"), "gave no usable answer: truncated message"),
    ],
)
def test_who_decided_that_a_call_failed_stays_clear(reply: Reply, text: str) -> None:
    assert told(reply) == text


TRUST = "give --tls-ca FILE: the authority that signed it; or --tls-skip-verify to accept any certificate"
NAME = "give --tls-server-name NAME: the name its certificate is for"
CLIENT = "give --tls-cert FILE and --tls-key FILE: a certificate that the server accepts"


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("the certificate is signed by an unknown authority", TRUST),
        ("the certificate is not for echo but for other.example", NAME),
        ("the peer requires a client certificate", CLIENT),
        ("the peer does not trust our client certificate", CLIENT),
        ("the peer does not know the server name", "give --tls-server-name NAME: a name that the server knows"),
        ("the peer does not speak TLS", "give --plaintext"),
        (
            "peer speaks TLS, not plaintext HTTP/2",
            "give --tls, and --tls-ca FILE where its certificate is not from a public authority",
        ),
        ("peer speaks HTTP/1.x, not HTTP/2", "is this the port of the gRPC server?"),
        ("connection refused", "is it running? lbctl ls echo shows what is registered"),
    ],
)
def test_what_to_try_depends_on_what_is_wrong(reason: str, advice: str) -> None:
    assert hint([of_reason(reason)], "echo") == advice


def test_reasons_that_differ_are_told_behind_their_addresses() -> None:
    assert listed({"a:1": REFUSED}) == "a:1 refused the connection"
    assert listed({"a:1": REFUSED, "b:2": TLS}) == ("a:1 refused the connection; b:2 speaks TLS, not plaintext HTTP/2")


def test_a_reason_that_backends_share_is_told_once_with_their_addresses() -> None:
    assert listed({"a:1": REFUSED, "b:2": TLS, "c:3": REFUSED, "d:4": REFUSED}) == (
        "refused the connection (a:1, c:3, d:4); speaks TLS, not plaintext HTTP/2 (b:2)"
    )
    distrusted = of_reason("the certificate is not for x but for y")
    assert listed({f"a:{i}": distrusted for i in range(1, 6)}) == (
        "the certificate is not for x but for y (a:1, a:2 and 3 more)"
    )


def test_of_very_many_reasons_five_are_told_and_the_other_backends_counted() -> None:
    reasons = {f"a:{i}": silent(i) for i in range(1, 8)}
    assert listed(reasons).endswith("; a:5 did not answer within 5s; and 2 more")
    assert listed({"b:1": silent(1)} | reasons).startswith("did not answer within 1s (b:1, a:1); did not")


def test_of_several_obstacles_the_most_telling_gives_the_hint() -> None:
    assert hint([REFUSED, TLS, NOT_HTTP2], "echo").startswith("give --tls,")
    assert hint([REFUSED, NOT_HTTP2, silent(1)], "echo").startswith("is a gRPC server running there?")


def test_hints_name_commands_that_look_in_the_same_place() -> None:
    again = Again(("--endpoints", "10.0.0.1:2379"), ("--service-from", "value"), ("--tls",))
    assert hint([REFUSED], "/services/my echo/", again=again) == (
        "is it running? lbctl ls '/services/my echo/' --endpoints 10.0.0.1:2379 --service-from value --tls"
        " shows what is registered"
    )
    assert hint([Obstacle(Kind.UNIMPLEMENTED, "")], "echo", again=again) == (
        "turn reflection on in the server, give --protoset FILE or --proto FILE, or the "
        "full method and raw bytes: lbctl hammer echo "
        "pkg.Service/Method --binary-file FILE --endpoints 10.0.0.1:2379 --service-from value --tls"
    )


def test_backends_of_no_registry_are_not_looked_for_there() -> None:
    assert hint([REFUSED], "echo", registered=False) == "is it running?"
    assert hint([Obstacle(Kind.UNIMPLEMENTED, "")], "echo", registered=False) == (
        "turn reflection on in the server, give --protoset FILE or --proto FILE, or the "
        "full method and raw bytes: pkg.Service/Method --binary-file FILE"
    )
    assert hint([NOT_HTTP2], "", registered=True) == (
        "is a gRPC server running there? lbctl ls SERVICE shows what is registered"
    )


def test_running_out_of_time_is_said_in_seconds() -> None:
    assert silent(0.25) == Obstacle(Kind.TIMEOUT, "did not answer within 0.25s")


def test_texts_from_the_network_become_one_harmless_line() -> None:
    assert printable("a\n\tb \x1b[31m\x9b") == "a b \\x1b[31m\\x9b"
    assert printable("x" * 300) == "x" * 199 + "…"
