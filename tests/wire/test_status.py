"""Which status a call ends with: named behaviours of grpc-status, HTTP status, content type and grpc-message."""

from __future__ import annotations

import pytest

from lbctl.model import Code, Origin
from tests.scripted import answering
from tests.wire import frames as h2
from tests.wire.frames import Field, msg, okh, reply, trailers, trailers_only
from tests.wire.harness import anomalies, call, calls, failed, meeting, succeeded, verdict

pytestmark = pytest.mark.usefixtures("door")

GRPC = ("content-type", "application/grpc")


async def test_a_unary_call_is_ok_on_one_connection() -> None:
    async with meeting(answering(reply)) as (server, client):
        succeeded(await call(client))
    assert len(server.connections) == 1
    request = server.connections[0].requests[1]
    assert (request.header(b":path"), request.message) == (b"/pkg.Svc/Method", b"request")


async def test_an_empty_message_is_a_message_both_ways() -> None:
    async with meeting(answering(lambda sid: reply(sid, b""))) as (server, client):
        succeeded(await call(client, b""), b"")
    request = server.connections[0].requests[1]
    assert bytes(request.body) == bytes(5)
    assert not server.connections[0].all_seen(h2.HEADERS)[0].flags & h2.END_STREAM


async def test_trailers_only_carry_the_servers_code_and_words() -> None:
    async with meeting(answering(lambda sid: trailers_only(sid, 5, ("grpc-message", "nope")), reply)) as (_, client):
        result = await call(client)
        assert verdict(result) == (Code.NOT_FOUND, Origin.SERVER, 1)
        assert result.reply.reason == "nope"
        succeeded(await call(client))


async def test_a_thousand_ended_streams_with_an_error_are_no_success() -> None:
    async with meeting(answering(lambda sid: okh(sid) + trailers(sid, 12))) as (server, client):
        results = [result for _ in range(10) for result in await calls(client, 100)]
    assert {verdict(result) for result in results} == {(Code.UNIMPLEMENTED, Origin.SERVER, 1)}
    assert len(results) == len(server.connections[0].requests) == 1000


@pytest.mark.parametrize(
    "answer",
    [lambda sid: okh(sid) + trailers(sid), lambda sid: trailers_only(sid, 0)],
    ids=["after_headers", "trailers_only"],
)
async def test_ok_without_a_message_is_internal(answer: h2.ReplyBytes) -> None:
    async with meeting(answering(answer, reply)) as (_, client):
        failed(await call(client), Code.INTERNAL, Origin.CLIENT, "no message")
        succeeded(await call(client))


HTTP_STATUS = {
    204: Code.UNKNOWN,
    302: Code.UNKNOWN,
    400: Code.INTERNAL,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.UNIMPLEMENTED,
    415: Code.UNKNOWN,
    429: Code.UNAVAILABLE,
    431: Code.INTERNAL,
    500: Code.UNKNOWN,
    502: Code.UNAVAILABLE,
    503: Code.UNAVAILABLE,
    504: Code.UNAVAILABLE,
}


@pytest.mark.parametrize(("status", "code"), HTTP_STATUS.items())
async def test_an_http_status_without_grpc_status_is_mapped(status: int, code: Code) -> None:
    def bare(sid: int) -> bytes:
        return h2.headers(sid, (":status", str(status)), end=True)

    def html(sid: int) -> bytes:
        head = h2.headers(sid, (":status", str(status)), ("content-type", "text/html"))
        return head + h2.data(sid, b"<h1>upstream is down</h1>", end=True)

    async with meeting(answering(bare, html, reply)) as (_, client):
        failed(await call(client), code, Origin.HTTP, str(status))
        failed(await call(client), code, Origin.HTTP, str(status), "upstream is down")
        succeeded(await call(client))


async def test_grpc_status_beats_the_http_status() -> None:
    def answer(sid: int) -> bytes:
        return h2.headers(sid, (":status", "503"), GRPC, ("grpc-status", "7"), ("grpc-message", "no"), end=True)

    async with meeting(answering(answer)) as (_, client):
        failed(await call(client), Code.PERMISSION_DENIED, Origin.SERVER, "no")


async def test_a_missing_status_is_unknown_and_the_reason_says_where_it_was_missing() -> None:
    endings: list[h2.ReplyBytes] = [
        lambda sid: okh(sid) + h2.data(sid, h2.message(b"reply"), end=True),
        lambda sid: okh(sid) + msg(sid) + h2.headers(sid, ("x-note", "no status here"), end=True),
        lambda sid: h2.header_frame(sid, h2.RESPONSE_BLOCK, end=True),
    ]
    async with meeting(answering(*endings)) as (_, client):
        reasons = {failed(await call(client), Code.UNKNOWN, Origin.HTTP) for _ in endings}
    assert len(reasons) == 3


@pytest.mark.parametrize("kind", ["application/grpc+proto", "application/grpc;charset=utf-8", "Application/GRPC"])
async def test_a_grpc_content_type_is_recognised(kind: str) -> None:
    def answer(sid: int) -> bytes:
        return h2.headers(sid, (":status", "200"), ("content-type", kind)) + msg(sid) + trailers(sid)

    async with meeting(answering(answer)) as (_, client):
        succeeded(await call(client))


@pytest.mark.parametrize("kind", ["application/grpc-web", "application/grpcx", "application/json", None])
async def test_status_0_under_another_content_type_is_no_success(kind: str | None) -> None:
    fields: list[Field] = [(":status", "200")]
    if kind is not None:
        fields.append(("content-type", kind))

    def answer(sid: int) -> bytes:
        return h2.headers(sid, *fields) + msg(sid) + trailers(sid)

    async with meeting(answering(answer, reply)) as (_, client):
        failed(await call(client), Code.UNKNOWN, Origin.HTTP)
        succeeded(await call(client))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"caf%C3%A9", "café"),
        (b"%e2%82%ac 5", "€ 5"),
        (b"100%, %zz %4", "100%, %zz %4"),
        (b"%FF%FE", "\ufffd\ufffd"),
        (b"raw \xff byte", "raw \ufffd byte"),
    ],
)
async def test_grpc_message_is_percent_decoded_and_never_fails_a_call(raw: bytes, text: str) -> None:
    async with meeting(answering(lambda sid: trailers_only(sid, 13, ("grpc-message", raw)), reply)) as (server, client):
        result = await call(client)
        assert verdict(result) == (Code.INTERNAL, Origin.SERVER, 1)
        assert result.reply.reason == text
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_a_code_above_16_is_unknown_and_its_number_is_kept() -> None:
    async with meeting(answering(lambda sid: okh(sid) + trailers(sid, 77))) as (_, client):
        result = await call(client)
    assert verdict(result) == (Code.UNKNOWN, Origin.SERVER, 1)
    assert result.reply.raw_code == 77


@pytest.mark.parametrize("status", ["", "abc", "-1", "1.0", "1234567890", "٣"])
async def test_a_malformed_grpc_status_is_said_to_be_malformed(status: str) -> None:
    async with meeting(answering(lambda sid: okh(sid) + msg(sid) + trailers(sid, status))) as (_, client):
        failed(await call(client), Code.UNKNOWN, Origin.CLIENT, "malformed grpc-status")


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["00"], Code.OK),
        (["005"], Code.NOT_FOUND),
        (["0", "0"], Code.OK),
        (["5", "0"], Code.NOT_FOUND),
        (["0", "7"], Code.PERMISSION_DENIED),
    ],
)
async def test_leading_zeros_and_repeated_statuses_never_hide_an_error(statuses: list[str], code: Code) -> None:
    first, *more = statuses

    def answer(sid: int) -> bytes:
        return okh(sid) + msg(sid) + trailers(sid, first, *(("grpc-status", status) for status in more))

    async with meeting(answering(answer)) as (_, client):
        assert verdict(await call(client)) == (code, Origin.SERVER, 1)
        assert bool(anomalies(client)) == (len(set(statuses)) > 1)


async def test_grpc_status_in_initial_headers_is_ignored_when_trailers_follow() -> None:
    def answer(sid: int) -> bytes:
        return h2.headers(sid, (":status", "200"), GRPC, ("grpc-status", "0")) + msg(sid) + trailers(sid, 9)

    async with meeting(answering(answer)) as (_, client):
        assert verdict(await call(client)) == (Code.FAILED_PRECONDITION, Origin.SERVER, 1)
