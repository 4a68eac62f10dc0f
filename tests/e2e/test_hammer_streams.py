"""Streaming methods: what is sent, when a stream ends, and what must fit the method."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.demo.protos import echo_pb2
from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, hammer
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

TWO = '[{"message": "a"}, {"message": "b"}]'


async def streams(demo: Standing, method: str, *options: str, **more: object) -> Ended:
    command = ("echo", method, "-n", "12", "-c", "3", "-o", "json", *options)
    return await hammer(*command, etcd=demo.etcd, **more)  # type: ignore[arg-type]


def per_call(done: Ended) -> tuple[float, float]:
    """Messages sent and received by every call, which must be the same for all."""
    document = done.document
    assert (document["ok"], document["errors"], done.status) == (12, 0, 0), done.err
    counted = document["streams"]
    return counted["sent"] / 12, counted["received"] / 12


async def test_an_array_is_one_stream_of_its_messages(demo: Standing) -> None:
    collected = await streams(demo, "Echo/Collect", "-d", TWO, "--check", 'resp.count == 2 and resp.message == "a\\nb"')
    assert per_call(collected) == (2, 1)
    wrong = await streams(demo, "Echo/Collect", "-d", TWO, "--check", "resp.count == 3")
    assert (wrong.document["ok"], wrong.document["errors"], wrong.status) == (0, 12, 1)
    chat = await streams(demo, "Echo/Chat", "-d", TWO, "--check", 'resp.index == 0 or resp.message == "b"')
    assert per_call(chat) == (2, 2)


async def test_one_object_is_a_stream_of_one_message_and_nothing_one_of_an_empty_one(demo: Standing) -> None:
    assert per_call(await streams(demo, "Echo/Chat", "-d", '{"message": "a"}', "--check", 'resp.message == "a"')) == (
        1,
        1,
    )
    assert per_call(await streams(demo, "Echo/Collect", "--check", 'resp.count == 1 and resp.message == ""')) == (1, 1)


async def test_an_empty_array_is_a_stream_without_messages(demo: Standing) -> None:
    assert per_call(await streams(demo, "Echo/Collect", "-d", "[]", "--check", "resp.count == 0")) == (0, 1)


async def test_a_file_may_hold_a_message_a_line(demo: Standing, tmp_path: Path) -> None:
    (tmp_path / "messages.ndjson").write_text('{"message": "a"}\n\n{"message": "b"}\n{"message": "c"}\n')
    check = ("--check", 'resp.message == "a\\nb\\nc"')
    done = await streams(demo, "Echo/Collect", "-d", "@messages.ndjson", *check, cwd=tmp_path)
    assert per_call(done) == (3, 1)


async def test_more_messages_than_are_given_are_those_in_turn(demo: Standing) -> None:
    check = ("--check", 'resp.message == "a\\nb\\na\\nb\\na"')
    assert per_call(await streams(demo, "Echo/Collect", "-d", TWO, "--stream-messages", "5", *check)) == (5, 1)


async def test_a_server_stream_is_read_to_its_end_or_to_the_limit(demo: Standing) -> None:
    assert per_call(await streams(demo, "Echo/Repeat", "-d", '{"message": "x", "count": 7}')) == (1, 7)
    data = ("-d", '{"message": "x", "count": 100000}')  # far more than one read holds
    sent, received = per_call(await streams(demo, "Echo/Repeat", *data, "--stream-limit", "3"))
    assert sent == 1
    assert 3 <= received < 100_000


async def test_messages_are_spaced_out_and_the_gaps_are_in_the_result(demo: Standing) -> None:
    done = await streams(demo, "Echo/Chat", "-d", TWO, "--stream-messages", "3", "--stream-interval", "20ms")
    assert per_call(done) == (3, 3)
    assert done.document["streams"]["gap_ms"]["max"] >= 10
    assert done.document["latency_ms"]["min"] >= 40


async def test_a_stream_may_last_a_time_and_send_as_long(demo: Standing) -> None:
    options = ("-d", TWO, "--stream-messages", "0", "--stream-interval", "10ms", "--stream-duration", "150ms")
    done = await streams(demo, "Echo/Chat", *options, "-t", "5s")
    document = done.document
    assert (document["ok"], document["errors"]) == (12, 0)
    assert document["latency_ms"]["min"] >= 150
    assert document["streams"]["sent"] == document["streams"]["received"] >= 24


async def test_the_summary_tells_of_messages(demo: Standing) -> None:
    done = await hammer("echo", "Echo/Chat", "-d", TWO, "-n", "12", etcd=demo.etcd)
    assert "messages" in done.out


async def test_raw_bytes_need_no_reflection_when_the_kind_of_stream_is_said(tmp_path: Path) -> None:
    (tmp_path / "message.bin").write_bytes(echo_pb2.SayRequest(message="raw").SerializeToString())
    bodies: list[bytes] = []

    async def behave(peer: Connection) -> None:
        while True:
            request = await peer.request()
            bodies.append(bytes(request.body))
            peer.send(h2.reply(request.stream))

    async with ScriptedServer(behave) as server:
        options = ("--stream", "client", "--stream-messages", "2", "--binary-file", "message.bin", "-n", "2")
        done = await hammer("--backends", str(server.endpoint), "a.B/C", *options, "-o", "json", cwd=tmp_path)
    one = h2.message(b"\x0a\x03raw")
    assert bodies == [one + one] * 2
    assert (done.document["ok"], done.document["streams"]["sent"]) == (2, 4)


@pytest.mark.parametrize(
    ("method", "options", "message", "hint"),
    [
        (
            "Say",
            ("--stream-limit", "3"),
            "--stream-limit is for streaming methods, and demo.echo.v1.Echo/Say is unary",
            "",
        ),
        (
            "Say",
            ("--stream", "bidi"),
            "--stream bidi, but demo.echo.v1.Echo/Say is unary",
            "leave --stream out",
        ),
        (
            "Collect",
            ("--stream", "server"),
            "--stream server, but demo.echo.v1.Echo/Collect is client streaming",
            "leave --stream out",
        ),
        (
            "Repeat",
            ("--stream-messages", "2"),
            "--stream-messages is for clients that stream, and demo.echo.v1.Echo/Repeat is server streaming",
            "",
        ),
        (
            "Repeat",
            ("--stream-interval", "1s"),
            "--stream-interval is for clients that stream, and demo.echo.v1.Echo/Repeat is server streaming",
            "",
        ),
        (
            "Collect",
            ("--stream-limit", "2"),
            "--stream-limit is for servers that stream, and demo.echo.v1.Echo/Collect is client streaming",
            "",
        ),
        (
            "Chat",
            ("-d", "[]", "--stream-messages", "2"),
            "--stream-messages: the array of messages is empty",
            "write [{}] for an empty message",
        ),
        (
            "Chat",
            ("-d", '[{"message": "a"}, {"mesage": "b"}]'),
            'message 2: demo.echo.v1.SayRequest has no field "mesage"; did you mean "message"?',
            "",
        ),
    ],
)
async def test_what_does_not_fit_the_method_is_refused(
    method: str, options: tuple[str, ...], message: str, hint: str, demo: Standing
) -> None:
    done = await hammer("echo", f"Echo/{method}", *options, etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: {message}\nhint: {hint or 'see: lbctl hammer --help'}\n"


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            ("--stream-messages", "0"),
            "--stream-messages 0 sends messages until --stream-duration, which is missing",
            "",
        ),
        (
            ("--stream-duration", "30s"),
            "--stream-duration: a stream that lasts 30s does not end before its deadline, -t 20s",
            "give -t 0 for no deadline, or a longer one",
        ),
        (
            ("--stream-messages", "3", "--stream-interval", "2s", "-t", "4s"),
            "--stream-messages: a stream that lasts 4s does not end before its deadline, -t 4s",
            "give -t 0 for no deadline, or a longer one",
        ),
    ],
)
async def test_a_stream_that_cannot_end_well_is_refused_before_anybody_is_asked(
    options: tuple[str, ...], message: str, hint: str
) -> None:
    done = await hammer("--backends", "127.0.0.1:1", "a.B/C", *options)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: {message}\nhint: {hint or 'see: lbctl hammer --help'}\n"
