"""Files of requests, values that are drawn and several methods in one run, as a server sees them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from lbctl.rpc.messages.message import decode
from lbctl.rpc.schemas.schema import build_method
from tests.e2e.runs import Ended, hammer
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SAY = build_method(echo_files(), "test.Echo", "Say")


class Heard(NamedTuple):
    """One call as the server had it."""

    method: str
    messages: list[dict[str, Any]]
    metadata: dict[str, str | bytes]
    agent: str = ""


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio's types are Any here
    """Answers every method with the first message, and remembers what was sent."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        service, method = details.method[1:].split("/")
        if service != "test.Echo":
            return None

        async def one(message: bytes, context: object) -> bytes:
            self.heard.append(Heard(method, [decode(SAY, message)], *_metadata(context)))
            return message

        async def many(messages: AsyncIterator[bytes], context: object) -> bytes:
            found = [decode(SAY, message) async for message in messages]
            self.heard.append(Heard(method, found, *_metadata(context)))
            return b""

        if method == "Push":
            return grpc.stream_unary_rpc_method_handler(many)
        return grpc.unary_unary_rpc_method_handler(one)


def _metadata(context: Any) -> tuple[dict[str, str | bytes], str]:  # noqa: ANN401  # grpcio's own type has many
    found = dict(context.invocation_metadata())
    return {name: value for name, value in found.items() if name.startswith("x-")}, found["user-agent"]


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[Echo, str]]:
    echo = Echo()
    async with serving([*reflecting(Reflection(echo_files(), ["test.Echo"]), V1), echo]) as endpoint:
        yield echo, str(endpoint)


async def run(
    folder: Path, *options: str, method: str = "Say", stdin: bytes | None = None
) -> tuple[Ended, list[Heard]]:
    """What a run with these options sends."""
    async with echoing() as (echo, endpoint):
        target = (method,) if method else ()
        done = await hammer(
            "--backends", endpoint, "shop", *target, *options, "-o", "json", "--seed", "7", cwd=folder, stdin=stdin
        )
        return done, echo.heard


def said(heard: list[Heard]) -> str:
    return "".join(call.messages[0].get("message", "-") for call in heard)


ABC = '[{"message": "a"}, {"message": "b"}, {"message": "c"}]'


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_requests_come_in_turn_and_with_metadata_from_their_columns(tmp_path: Path, engine: str) -> None:
    (tmp_path / "users.csv").write_text("message,count,user\na,1,u1\nb,9007199254740993,u2\n")
    options = ("-D", "users.csv", "--metadata-from", "user=x-user", "-H", "x-call: {{seq}}", "-n", "5", "-c", "1")
    done, heard = await run(tmp_path, *options, "--engine", engine)
    assert done.document["ok"] == 5, done.err
    assert said(heard) == "ababa"
    assert [call.metadata for call in heard] == [
        {"x-user": "u1" if at % 2 == 0 else "u2", "x-call": str(at)} for at in range(5)
    ]
    assert heard[1].messages == [{"message": "b", "count": "9007199254740993"}]


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_the_name_of_the_client_can_be_set(tmp_path: Path, engine: str) -> None:
    _, heard = await run(tmp_path, "-n", "1", "-H", "User-Agent: mine/1", "--engine", engine)
    (agent,) = (call.agent for call in heard)
    assert agent.split()[0] == "mine/1"
    assert (agent == "mine/1") == (engine == "wire")  # grpcio puts its own behind it


async def test_a_run_ends_with_the_file_where_each_is_sent_once(tmp_path: Path) -> None:
    done, heard = await run(tmp_path, "-D", "-", "--data-order", "once", "-n", "100", stdin=ABC.encode())
    assert (done.document["requests"], done.document["end_reason"]) == (3, "completed")
    assert sorted(said(heard)) == ["a", "b", "c"]


async def test_a_file_that_is_sent_once_is_the_only_limit(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text('{"message": "a"}\n' * 1200)
    done, heard = await run(tmp_path, "-D", "x.ndjson", "--data-order", "once")
    assert (done.document["requests"], done.document["load"]["requests"], len(heard)) == (1200, None, 1200)


async def test_an_array_of_d_is_one_message_a_call(tmp_path: Path) -> None:
    _, heard = await run(tmp_path, "-d", ABC, "-n", "4", "-c", "1")
    assert said(heard) == "abca"


async def test_a_seed_makes_the_same_requests(tmp_path: Path) -> None:
    options = ("-d", '{"message": "{{uuid}}", "count": {{int 1 1000}}}', "-n", "20", "-c", "1")
    first, second = [(await run(tmp_path, *options))[1] for _ in range(2)]
    assert first == second
    assert len({call.messages[0]["message"] for call in first}) == 20
    _, literal = await run(tmp_path, "-d", '{"message": "{{uuid}}"}', "--no-template", "-n", "1")
    assert literal[0].messages == [{"message": "{{uuid}}"}]


async def test_a_line_that_is_wrong_later_ends_the_run_with_its_result_and_status_2(tmp_path: Path) -> None:
    lines = ['{"message": "%s"}' % ("x" * 1000)] * 3000
    lines[2499] = '{"mesage": "x"}'
    (tmp_path / "big.ndjson").write_text("\n".join(lines))
    done, heard = await run(tmp_path, "-D", "big.ndjson", "-n", "5000")
    assert done.status == 2
    assert 'error: big.ndjson: line 2500: test.Text has no field "mesage"' in done.err
    assert (done.document["requests"], done.document["end_reason"]) == (2499, "error")
    assert len(heard) == 2499


async def test_a_mix_calls_every_method_with_what_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        """
- {method: Echo/Say, weight: 3, data: {message: "{{pick a b}}"}, metadata: {x-kind: say}}
- {method: test.Echo/Push, data: [{message: c}, {message: d}], timeout: 3s}
- {method: Say, name: second, data_file: more.ndjson}
"""
    )
    (tmp_path / "more.ndjson").write_text('{"message": "e"}\n{"message": "f"}\n')
    options = ("--mix", "m.yaml", "-n", "200", "-H", "x-all: 1")
    done, heard = await run(tmp_path, *options, method="")
    document = done.document
    rows = {row["method"]: row for row in document["methods"]}
    assert list(rows) == ["test.Echo/Say", "test.Echo/Push", "second"]
    assert sum(row["requests"] for row in rows.values()) == document["requests"] == document["ok"] == 200
    assert 95 <= rows["test.Echo/Say"]["requests"] <= 145  # 120 are expected
    kinds = Counter((call.method, str(call.metadata.get("x-kind")), len(call.messages)) for call in heard)
    assert kinds == {
        ("Say", "say", 1): rows["test.Echo/Say"]["ok"],
        ("Push", "None", 2): rows["test.Echo/Push"]["ok"],
        ("Say", "None", 1): rows["second"]["ok"],
    }
    assert all(call.metadata["x-all"] == "1" for call in heard)
    assert {said([call]) for call in heard if "x-kind" in call.metadata} == {"a", "b"}
    assert set(document["histograms"]["methods"]) == set(rows)
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"x.json": ""}, ("-D", "x.json"), "-D: x.json is empty: there is no request in it"),
        (
            {"x.ndjson": '{"message": "a"}\n{"message": 5}\n'},
            ("-D", "x.ndjson"),
            'x.ndjson: line 2: field "message" must',
        ),
        ({}, ("-D", "none"), "-D: cannot read none: no such file or directory"),
        ({}, ("-D", "x", "-d", "{}"), "-d and -D are two requests"),
        ({}, ("-d", '{"message": "{{uid}}"}'), "-d: request: {{uid}}: there is no uid; did you mean uuid?"),
        ({}, ("-d", '{"count": "{{pick 1 x}}"}'), 'field "count" must be an integer from'),
        ({}, ("-H", "x: {{pick}}"), "metadata x: {{pick}}: pick takes at least 1 argument, not 0"),
        ({}, ("-d", "[]"), "request is empty: there is no request in it"),
        ({}, ("--data-order", "once"), "--data-order is for several requests"),
        ({"m.yaml": "- {method: Say, wieght: 2}"}, ("--mix", "m.yaml"), "--mix names the methods, and Say is one more"),
        (
            {"x.bin": "\x05abc"},
            ("--binary-file", "x.bin", "--binary-series"),
            "--binary-file: x.bin: message 1 at byte 0 is cut off",
        ),
    ],
)
async def test_what_is_wrong_is_told_before_anything_is_sent(
    tmp_path: Path, files: dict[str, str], options: tuple[str, ...], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done, heard = await run(tmp_path, *options)
    assert (done.status, done.out, heard) == (2, "", [])
    assert done.err.startswith(f"error: {message}"), done.err


async def test_keys_follow_the_request(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text("".join(json.dumps({"message": f"user-{at}"}) + "\n" for at in range(40)))
    async with echoing() as (one, first), echoing() as (two, second):
        options = ("-D", "x.ndjson", "--policy", "ring_hash", "--hash-key", "field:message", "-n", "200", "-c", "4")
        done = await hammer("--backends", f"{first},{second}", "shop", "Say", *options, "-o", "json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "the same for every call" not in done.err
    mine, others = ({call.messages[0]["message"] for call in echo.heard} for echo in (one, two))
    assert mine
    assert others
    assert not mine & others
    assert len(mine | others) == 40
