"""Metadata: what of it the server gets, what it never shows, and what cannot be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.runs import Ended, hammer
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving
from tests.scripted import Request, ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null", "-n", "2", "-c", "1")


async def sent(*options: str, **environ: str) -> tuple[Ended, list[Request]]:
    """What a run with these options sends, call by call."""
    async with ScriptedServer(answering(h2.reply)) as server:
        done = await hammer("--backends", str(server.endpoint), *RAW, *options, environ=environ)
        (peer,) = server.served
        return done, list(peer.requests.values())


def fields(request: Request, *names: bytes) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in request.head if name in names]


async def test_headers_and_json_are_sent_in_order_and_names_in_lower_case() -> None:
    _, requests = await sent("-m", '{"tag": ["a", "b"], "x-one": "1"}', "-H", "X-Two: 2 ", "-H", "tag: c")
    expected = [(b"tag", b"a"), (b"tag", b"b"), (b"x-one", b"1"), (b"x-two", b"2"), (b"tag", b"c")]
    assert [fields(request, b"tag", b"x-one", b"x-two") for request in requests] == [expected, expected]


async def test_binary_values_are_sent_as_base64_without_padding() -> None:
    _, requests = await sent("-H", "a-bin: AQI=", "-H", "b-bin: aGVsbG8=", "-H", "c-bin: AQI,AwQ")
    assert fields(requests[0], b"a-bin", b"b-bin", b"c-bin") == [
        (b"a-bin", b"AQI"),
        (b"b-bin", b"aGVsbG8"),
        (b"c-bin", b"AQI"),
        (b"c-bin", b"AwQ"),
    ]


async def test_secrets_never_enter_a_compression_table() -> None:
    headers = ("authorization: Bearer t", "x-session-token: t", "mine: t", "open: t")
    options = [word for header in headers for word in ("-H", header)]
    _, requests = await sent(*options, "--sensitive", "Mine")
    for request in requests:
        assert request.header(b"open") == b"t"
        assert b"\x10\x0fx-session-token" in request.block
        assert b"\x10\x04mine" in request.block
        assert b"\x10\x0dauthorization" in request.block
        assert b"\x10\x04open" not in request.block


async def test_variables_are_put_in_where_that_is_asked_for() -> None:
    _, requests = await sent("--expand-headers", "-H", "authorization: Bearer ${TOKEN}", TOKEN="abc")
    assert requests[0].header(b"authorization") == b"Bearer abc"
    _, requests = await sent("-H", "x: ${TOKEN}", TOKEN="abc")
    assert requests[0].header(b"x") == b"${TOKEN}"


async def test_no_secret_is_in_what_a_run_prints_or_saves(tmp_path: Path) -> None:
    async with ScriptedServer(answering(h2.reply)) as server:
        options = ("-H", "authorization: hunter2", "-m", '{"x-api-key": "hunter2"}', "-H", "mine: hunter2", "-v")
        saved = ("--sensitive", "mine", "--save", "run.json")
        done = await hammer("--backends", str(server.endpoint), *RAW, *options, *saved, cwd=tmp_path)
    assert done.status == 0
    assert "hunter2" not in done.out + done.err + (tmp_path / "run.json").read_text()
    assert "-H 'authorization: ***'" in done.out


async def test_reflection_is_asked_with_the_same_metadata() -> None:
    heard: list[str] = []

    class Guarded(Reflection):
        async def converse(self, questions, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            heard.append(dict(context.invocation_metadata()).get("authorization", ""))
            async for answer in super().converse(questions, context):
                yield answer

    async with serving(reflecting(Guarded(echo_files(), ["test.Echo"]), V1)) as endpoint:
        await hammer("--backends", str(endpoint), "shop", "Say", "-n", "1", "-H", "authorization: Bearer t")
    assert heard
    assert set(heard) == {"Bearer t"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-H", "x"), "Invalid value for '-H' / '--header': write 'name: value'"),
        (
            ("-H", "grpc-timeout: 1S"),
            "Invalid value for '-H' / '--header': 'grpc-timeout' is not free to be set: it belongs to HTTP/2 or gRPC",
        ),
        (
            ("-m", '{"a": 5}'),
            "Invalid value for '-m' / '--metadata': the value of 'a' must be a string or a list of strings",
        ),
        (("--sensitive", "a b"), "Invalid value for '--sensitive': 'a b' is not a metadata name"),
        (
            ("--expand-headers", "-H", "x: ${NO_SUCH}"),
            "--expand-headers: x needs the environment variable NO_SUCH, which is not set",
        ),
        (("-H", "x: a\x01b"), "metadata x: character 2 of the value is a control character"),
    ],
)
async def test_what_cannot_be_sent_is_refused_before_anybody_is_asked(options: tuple[str, ...], message: str) -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, *options)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}"), done.err


async def test_what_was_hardly_meant_is_said_and_sent_all_the_same() -> None:
    done, requests = await sent(
        "--sensitive", "x-sesion", "-H", "x-session: abc", "-H", "authorization: Bearer ${TOKEN}"
    )
    assert done.status == 0, done.err
    assert "note: --sensitive x-sesion: no metadata of that name is sent" in done.err.splitlines()
    as_it_is = "note: metadata authorization is sent with ${TOKEN} as it stands; --expand-headers replaces it"
    assert as_it_is in done.err.splitlines()
    assert requests[0].header(b"authorization") == b"Bearer ${TOKEN}"
    done, _ = await sent("--sensitive", "x-session", "-H", "x-session: abc", "-H", "price: $5")
    assert "note:" not in done.err
