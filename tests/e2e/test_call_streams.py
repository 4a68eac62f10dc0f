"""``lbctl call`` of streaming methods: messages from options, files, pipes and a terminal; answers as they come."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.calls import called, document
from tests.e2e.conftest import Standing
from tests.e2e.runs import environment, lbctl, running
from tests.view.ptys import OnTerminal

pytestmark = pytest.mark.e2e

WATCH: Final = "test.Echo/Watch"
PUSH: Final = "test.Echo/Push"
CHAT: Final = "test.Echo/Chat"
LINES: Final = b'{"message": "a"}\n\n{"message": "b"}\n'


def messages(out: str) -> list[str]:
    return [json.loads(line).get("message", "") for line in out.splitlines()]


async def test_what_a_server_streams_is_a_line_each() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, WATCH, "-d", '{"message": "hi"}')
        raw = await lbctl("call", "--backends", address, WATCH, "-d", '{"message": "hi"}', "-o", "raw")
        whole = await lbctl("call", "--backends", address, WATCH, "-d", '{"message": "hi"}', "-o", "json")
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {"message": "hi", "count": str(number)} for number in (1, 2, 3)
    ]
    assert ended.err.rstrip().endswith(", 1 sent, 3 received")
    assert raw.out == "".join(f"\x06\n\x02hi\x10{chr(number)}" for number in (1, 2, 3))
    found = document(whole)
    assert (found["kind"], found["calls"][0]["received"]) == ("server streaming", 3)
    assert [each["count"] for each in found["calls"][0]["replies"]] == ["1", "2", "3"]


async def test_what_came_before_an_error_is_printed_and_a_limit_ends_a_stream() -> None:
    async with called() as address:
        broken = await lbctl("call", "--backends", address, WATCH, "-d", '{"message": "broken"}')
        limited = await lbctl("call", "--backends", address, WATCH, "--stream-limit", "2")
    assert (broken.status, messages(broken.out)) == (79, ["broken"] * 3)
    assert "error: DATA_LOSS: the rest is gone" in broken.err
    assert (limited.status, len(limited.out.splitlines())) == (0, 2)


@pytest.mark.parametrize(
    "given",
    [
        ("-d", '[{"message": "a"}, {"message": "b"}]'),
        ("-d", '{"message": "a"} {"message": "b"}'),
        ("-d", "@two.ndjson"),
        ("-d", "@two.json"),
    ],
)
async def test_a_client_streams_what_options_and_files_have(given: tuple[str, str], tmp_path: Path) -> None:
    tmp_path.joinpath("two.ndjson").write_bytes(LINES)
    tmp_path.joinpath("two.json").write_text('[{"message": "a"},\n {"message": "b"}]')
    async with called() as address:
        ended = await lbctl("call", "--backends", address, PUSH, *given, cwd=tmp_path)
    assert (ended.status, json.loads(ended.out)) == (0, {"message": "a b", "count": "2"})


@pytest.mark.parametrize(
    "text", [LINES, b'[{"message": "a"},\n {"message":\n "b"}]\n', b'{"message":"a"}\n{"message":"b"}']
)
@pytest.mark.parametrize("asked", [("-d", "@"), ()])
async def test_a_client_streams_what_standard_input_has(text: bytes, asked: tuple[str, ...]) -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, PUSH, *asked, stdin=text)
    assert (ended.status, messages(ended.out)) == (0, ["a b"])
    assert ("reading messages from standard input" in ended.err) is (not asked)


async def test_standard_input_may_be_the_request_of_a_unary_call_and_only_if_asked_for() -> None:
    async with called() as address:
        asked = await lbctl("call", "--backends", address, "test.Echo/Say", "-d", "@", stdin=b'{"message":\n "hi"}')
        unread = await lbctl("call", "--backends", address, "test.Echo/Say", stdin=b'{"message": "hi"}')
    assert (messages(asked.out), messages(unread.out)) == (["hi"], [""])


async def test_both_sides_talk_as_they_come(tmp_path: Path) -> None:
    async with called() as address:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lbctl", "call", "--backends", address, CHAT, "-d", "@", "-q",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment(None),
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for word in ("one", "two"):
            process.stdin.write(json.dumps({"message": word}).encode() + b"\n")
            answer = await asyncio.wait_for(process.stdout.readline(), 30)
            assert json.loads(answer) == {"message": word.upper()}
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_a_server_that_ends_early_ends_the_call_with_its_status() -> None:
    endless = b'{"message": "a"}\n{"message": "stop"}\n' + b'{"message": "more"}\n' * 20_000
    async with called() as address:
        for method in (PUSH, CHAT):
            ended = await lbctl("call", "--backends", address, method, stdin=endless)
            assert ended.status == 74
            assert ", ended early by the server\n" in ended.err
            assert "error: ABORTED: that is enough" in ended.err


async def test_a_limit_that_ends_a_call_is_not_the_server() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, CHAT, "--stream-limit", "1", stdin=LINES * 20_000)
    assert (ended.status, messages(ended.out)) == (0, ["A"])
    assert "by the server" not in ended.err


async def test_an_open_pipe_does_not_hold_up_the_end_of_a_call() -> None:
    async with called() as address:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lbctl", "call", "--backends", address, CHAT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            env=environment(None),
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b'{"message": "stop"}\n')
        said = (await asyncio.wait_for(process.stderr.read(), 30)).decode()
        assert await asyncio.wait_for(process.wait(), 30) == 74
    assert "error: ABORTED: that is enough" in said


async def test_a_message_that_is_wrong_ends_a_pipe_with_its_line() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, CHAT, stdin=b'{"message": "a"}\n{"mesage": "b"}\n')
        text = await lbctl("call", "--backends", address, CHAT, stdin=b'{"message": "a"}\n{"message": \xff}\n')
        open_end = await lbctl("call", "--backends", address, CHAT, stdin=b'{"message":\n')
    assert (ended.status, text.status, open_end.status) == (2, 2, 2)
    assert 'error: standard input: line 2: test.Text has no field "mesage"' in ended.err
    assert f"hint: 1 message was sent to {address} before it, and the call is cancelled\n" in ended.err
    assert "error: standard input: line 2 is not UTF-8 text (byte 12)" in text.err
    assert "error: standard input is not valid JSON: line 2 column 1: " in open_end.err


async def test_values_are_drawn_for_messages_of_a_pipe() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, CHAT, stdin=b'{"message": "{{seq}}"}\n' * 3)
        plain = await lbctl("call", "--backends", address, CHAT, "--no-template", stdin=b'{"message": "{{seq}}"}\n')
    assert (messages(ended.out), messages(plain.out)) == (["0", "1", "2"], ["{{SEQ}}"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--repeat", "2"), "--repeat: the messages come from standard input while the call lasts"),
        (("--stream-messages", "2"), "--stream-messages: the messages come from standard input"),
        (("--policy", "ring_hash", "--hash-key", "field:message"), "--hash-key field:...: the messages come from"),
    ],
)
async def test_what_needs_all_messages_is_refused_for_standard_input(options: tuple[str, ...], said: str) -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, CHAT, "-d", "@", *options, stdin=LINES)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {said}")


async def test_whoever_stops_reading_ends_it_silently(demo: Standing) -> None:
    endless = ("call", "echo", "Echo/Repeat", "-d", '{"count": 100000}')
    async with running(*endless, etcd=demo.etcd) as run:
        await run.hang_up()
        ended = await run.ended()
    assert ended.status == 141


async def test_a_signal_cancels_the_call() -> None:
    async with called() as address:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lbctl", "call", "--backends", address, CHAT, "-d", "@",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=environment(None),
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"message": "a"}\n')
        await asyncio.wait_for(process.stdout.readline(), 30)
        process.send_signal(signal.SIGTERM)
        said = (await asyncio.wait_for(process.stderr.read(), 30)).decode()
        assert await asyncio.wait_for(process.wait(), 30) == 143
    ended, cancelled = said.splitlines()
    assert re.fullmatch(r"-> .*  CANCELLED \S+, 1 sent, 1 received", ended)
    assert cancelled == "cancelled by SIGTERM"


def typed(demo: Standing, method: str) -> OnTerminal:
    command = ("lbctl", "--endpoints", demo.etcd, "call", "echo", method)
    terminal = OnTerminal("tests.e2e.controlling", *command)
    terminal.shows("a message a line, as JSON; Ctrl-D ends them, Ctrl-C cancels the call")
    terminal.shows("\n> ")
    return terminal


def test_on_a_terminal_somebody_types(demo: Standing) -> None:
    with typed(demo, "Echo/Chat") as terminal:
        terminal.send('{"message": "hello"}\n')
        terminal.until(lambda: b"\r\x1b[K> " in terminal.raw, "the prompt, anew behind the answer")
        terminal.send('{"mesage": "hello"}\n')
        terminal.shows('not sent: demo.echo.v1.SayRequest has no field "mesage"')
        terminal.send("{\n")
        terminal.shows("not sent: request is not valid JSON")
        terminal.send("\x04")
        assert terminal.ended() == 0
        assert [json.loads(line)["message"] for line in terminal.output().splitlines()] == ["hello"]
        terminal.shows(" sent, 1 received")


def test_ctrl_c_cancels_what_is_being_typed(demo: Standing) -> None:
    with typed(demo, "Echo/Collect") as terminal:
        terminal.send("\x03")
        assert terminal.ended() == 130
        terminal.shows("cancelled by Ctrl-C")


def interrupted_unread(*arguments: str) -> int:
    """Interrupt lbctl when it has written its first octet, of which there are to be more than a pipe holds."""
    with subprocess.Popen(
        [sys.executable, "-m", "lbctl", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(None),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read(1) == b"{"
        process.send_signal(signal.SIGINT)
        return process.wait(30)


async def test_a_signal_is_heard_while_nobody_reads() -> None:
    async with called() as address:
        endless = ("call", "--backends", address, WATCH, "-t", "0", "-d", '{"message": "endless"}')
        assert await asyncio.to_thread(interrupted_unread, *endless) == 130


async def test_everything_comes_however_much_it_is(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Echo/Repeat", "-d", '{"message": "a", "count": 20000}', etcd=demo.etcd)
    assert (ended.status, len(ended.out.splitlines())) == (0, 20_000)
    assert ended.err.endswith(", 1 sent, 20,000 received\n")


async def test_a_stream_that_is_too_late_tells_what_had_come() -> None:
    async with called() as address:
        late = await lbctl("call", "--backends", address, WATCH, "-d", '{"message": "hang"}', "-t", "300ms")
    assert late.status == 68
    assert "error: DEADLINE_EXCEEDED: deadline exceeded (by lbctl)" in late.err
    assert late.err.splitlines()[0].endswith(", 1 sent, 1 received")


def test_what_is_said_is_broken_between_words_on_a_terminal(demo: Standing) -> None:
    arguments = ("--endpoints", demo.etcd, "call", "echo", "Say", "--policy", "random")
    with OnTerminal("lbctl", *arguments, size=(60, 24)) as terminal:
        assert terminal.ended() == 0
        first, second = [line.rstrip() for line in terminal.screen.display if line.strip()]
    assert re.fullmatch(r"-> \S+  random pick 1: drawn from 3 backends,( each)?", first)
    assert re.fullmatch(r"  .*the same chance  OK \S+", second)


async def test_a_limit_shows_no_message_more_however_many_come_at_once() -> None:
    async with called() as address:
        endless = ("call", "--backends", address, WATCH, "-d", '{"message": "endless"}')
        ended = await lbctl(*endless, "--stream-limit", "5", "-o", "json")
    (call,) = document(ended)["calls"]
    assert (ended.status, call["received"], len(call["replies"])) == (0, 5, 5)
