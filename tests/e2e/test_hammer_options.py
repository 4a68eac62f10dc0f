"""What each option of hammer does to a run of a real process."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from lbctl.demo.protos import echo_pb2
from lbctl.model import Endpoint
from tests.e2e.backends import fleet
from tests.e2e.conftest import Standing
from tests.e2e.runs import check, events_of, hammer, picks_by_weight, row_of, running
from tests.rpc.servers import V1ALPHA, Reflection, echo_files, reflecting, serving
from tests.scripted import Connection, ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SAY = "demo.echo.v1.Echo/Say"


# How much.


async def test_n_alone_sends_exactly_that_many(demo: Standing) -> None:
    document = (await hammer("echo", "-n", "1k", "-c", "7", "-o", "json", etcd=demo.etcd)).document
    assert (document["requests"], document["ok"], document["end_reason"]) == (1000, 1000, "completed")
    assert document["load"] == {
        "mode": "closed",
        "requests": 1000,
        "duration_s": None,
        "concurrency": 7,
        "connections": 1,
        "rps": None,
        "arrival": None,
        "stages": [],
        "timeout_s": 20.0,
        "latency_correction": True,
        "count_errors": False,
    }


async def test_fewer_calls_than_concurrency_are_not_rounded_up(demo: Standing) -> None:
    document = (await hammer("echo", "-n", "49", "-c", "50", "-o", "json", etcd=demo.etcd)).document
    assert (document["requests"], document["ok"]) == (49, 49)
    assert sum(row["picks"] for row in document["backends"]) == 49


async def test_without_a_limit_a_thousand_calls_are_sent(demo: Standing) -> None:
    document = (await hammer("echo", "-o", "json", etcd=demo.etcd)).document
    assert (document["requests"], document["load"]["concurrency"]) == (1000, 50)


async def test_z_alone_ends_without_an_error_and_counts_every_call(demo: Standing) -> None:
    document = (await hammer("echo", "-z", "700ms", "-c", "8", "-o", "json", etcd=demo.etcd)).document
    assert document["end_reason"] == "duration"
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert document["ok"] == document["requests"] > 8
    assert document["duration_s"] >= 0.7
    assert document["load"]["requests"] is None


@pytest.mark.parametrize(("n", "z", "reason"), [("20", "60s", "completed"), ("100m", "300ms", "duration")])
async def test_of_n_and_z_the_first_to_come_ends_the_run(n: str, z: str, reason: str, demo: Standing) -> None:
    document = (await hammer("echo", "-n", n, "-z", z, "-c", "4", "-o", "json", etcd=demo.etcd)).document
    assert document["end_reason"] == reason
    assert document["errors"] == 0
    assert (document["requests"] == 20) is (reason == "completed")


async def test_a_deadline_shorter_than_the_backend_takes_is_kept_for_every_call() -> None:
    async with fleet(1) as (here, (only,)):
        await here.deregister(only)
        slow = await here.start(1, latency_s=0.3)
        done = await hammer("echo", SAY, "-t", "50ms", "-n", "40", "-c", "10", "-o", "json", etcd=here.etcd)
    document = done.document
    assert done.status == 0
    assert document["codes"] == {"DEADLINE_EXCEEDED": 40}
    (group,) = document["error_groups"]
    # Who was faster to notice, the backend or lbctl, is a matter of microseconds.
    assert (group["code"], group["count"]) == ("DEADLINE_EXCEEDED", 40)
    assert group["origin"] == "client"
    assert group["backends"] == {slow: 40}
    assert document["latency_ms"] is None
    assert row_of(document, slow)["latency_ms"] is None
    assert document["histogram"] == []
    assert document["duration_s"] < 20


# What is sent.


class Requests:
    """A scripted backend that keeps what it was asked, and answers OK."""

    def __init__(self) -> None:
        self.server = ScriptedServer(answering(h2.reply))

    @property
    def all(self) -> list[tuple[str, bytes]]:
        return [
            (request.header(b":path").decode(), request.message)  # type: ignore[union-attr]
            for peer in self.server.connections
            for request in peer.requests.values()
        ]


async def test_a_full_method_and_raw_bytes_need_no_reflection(tmp_path: Path) -> None:
    message = tmp_path / "request.bin"
    message.write_bytes(b"\x0a\x02hi")
    backend = Requests()
    async with backend.server as server:
        command = ("--backends", str(server.endpoint), "pkg.Shop/Buy", "--binary-file", str(message), "-n", "3")
        document = (await hammer(*command, "-o", "json")).document
    assert backend.all == [("/pkg.Shop/Buy", b"\x0a\x02hi")] * 3
    assert (document["service"], document["method"], document["ok"]) == ("pkg.Shop", "pkg.Shop/Buy", 3)


async def test_the_raw_message_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    backend = Requests()
    async with backend.server as server:
        command = ("--backends", str(server.endpoint), "shop", "pkg.Shop/Buy", "--binary-file", "empty", "-n", "2")
        document = (await hammer(*command, "-o", "json", cwd=tmp_path)).document
    assert backend.all == [("/pkg.Shop/Buy", b"")] * 2
    assert document["service"] == "shop"


async def test_the_authority_is_the_address_unless_one_is_given() -> None:
    seen: list[bytes | None] = []

    async def behave(peer: Connection) -> None:
        while True:
            request = await peer.request()
            seen.append(request.header(b":authority"))
            peer.send(h2.reply(request.stream))

    async with ScriptedServer(behave) as server:
        command = ("--backends", str(server.endpoint), "p.S/M", "--binary-file", "/dev/null", "-n", "1")
        await hammer(*command)
        await hammer(*command, "--authority", "[::1]:443")
    assert seen == [str(server.endpoint).encode(), b"[::1]:443"]


async def test_the_authority_of_discovered_backends_is_the_service() -> None:
    seen: list[bytes | None] = []

    async def behave(peer: Connection) -> None:
        while True:
            request = await peer.request()
            seen.append(request.header(b":authority"))
            peer.send(h2.reply(request.stream))

    async with ScriptedServer(behave) as server, fleet() as (here, _):
        await here.register(str(server.endpoint), 1)
        done = await hammer("echo", "p.S/M", "--binary-file", "/dev/null", "-n", "1", etcd=here.etcd)
    assert done.status == 0
    assert seen == [b"echo"]


@pytest.mark.parametrize("kind", ["text", "file", "stdin", "stdin-"])
async def test_a_message_may_be_given_read_or_piped(kind: str, demo: Standing, tmp_path: Path) -> None:
    text = '{"message": "grüße"}'
    (tmp_path / "say.json").write_text(text, encoding="utf-8")
    data = {"text": text, "file": "@say.json", "stdin": "@", "stdin-": "@-"}[kind]
    stdin = text.encode() if kind.startswith("stdin") else None
    command = ("echo", "Echo/Say", "-d", data, "-n", "5", "-o", "json")
    done = await hammer(*command, etcd=demo.etcd, stdin=stdin, cwd=tmp_path)
    assert done.status == 0
    assert (done.document["method"], done.document["ok"]) == (SAY, 5)


async def test_the_message_arrives_as_it_was_given() -> None:
    backend = Requests()
    async with (
        serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1ALPHA)) as describing,
        backend.server as it,
    ):
        backends = f"{describing},{it.endpoint}"
        data = '{"message": "hi", "count": "7"}'
        done = await hammer("--backends", backends, "shop", "Say", "-d", data, "-n", "2", "-o", "json")
    assert done.status == 0
    assert backend.all == [("/test.Echo/Say", echo_pb2.SayRequest(message="hi").SerializeToString() + b"\x10\x07")]
    assert done.document["method"] == "test.Echo/Say"


async def test_a_server_that_knows_only_v1alpha_is_enough() -> None:
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1ALPHA)) as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "Say", "-n", "3", "-o", "json")
    document = done.document
    assert done.status == 0
    assert document["method"] == "test.Echo/Say"
    # It describes what it does not serve: an answer like any other.
    assert document["codes"] == {"UNIMPLEMENTED": 3}
    assert document["error_groups"][0]["origin"] == "server"


# To whom.


async def test_backends_by_hand_have_the_weights_given(demo: Standing) -> None:
    first, second, third = demo.backends
    command = ("--backends", f"{first}=3,{second},{third}=0", "-n", "400", "-o", "json")
    document = (await hammer(*command)).document
    assert picks_by_weight(document) == [(0, 0), (1, 100), (3, 300)]
    assert document["service"] == "backends"
    assert [row["key"] for row in document["backends"]] == sorted(demo.backends)
    assert events_of(document, "joined") == [(None, "3 backends of backends given by --backends")]


async def test_backends_by_hand_may_have_a_name(demo: Standing) -> None:
    backends = ",".join(demo.backends)
    document = (await hammer("--backends", backends, "shop", "Echo/Say", "-n", "9", "-o", "json")).document
    assert (document["service"], document["method"], document["ok"]) == ("shop", SAY, 9)


async def test_a_lone_full_method_is_a_method(demo: Standing) -> None:
    document = (await hammer("--backends", demo.backends[0], SAY, "-n", "9", "-o", "json")).document
    assert (document["service"], document["method"], document["ok"]) == ("demo.echo.v1.Echo", SAY, 9)


async def test_a_host_name_is_an_address_too(demo: Standing) -> None:
    port = demo.backends[0].rpartition(":")[2]
    document = (await hammer("--backends", f"localhost:{port}", "-n", "9", "-o", "json")).document
    assert (document["ok"], document["backends"][0]["address"]) == (9, str(Endpoint("localhost", int(port))))


# Where it goes.


async def test_standard_output_holds_one_document_and_standard_error_the_rest(demo: Standing) -> None:
    done = await hammer("echo", "-n", "10", "-o", "json", etcd=demo.etcd)
    assert done.document["ok"] == 10
    assert done.err.splitlines() == [
        "no METHOD given: calling grpc.health.v1.Health/Check, which changes nothing",
        "connecting to 3 backends of echo (authority echo) ...",
        "event  00:00 - resolved /services/echo/: 3 backends of echo",
    ]


async def test_yaml_is_the_same_document(demo: Standing) -> None:
    done = await hammer("echo", "-n", "10", "-o", "yaml", etcd=demo.etcd)
    document = yaml.safe_load(done.out)
    check(document)
    assert document["ok"] == 10


@pytest.mark.parametrize("more", [(), ("-z", "600ms", "--interval", "100ms")])
async def test_q_leaves_standard_error_empty(more: tuple[str, ...], demo: Standing) -> None:
    done = await hammer("echo", "-q", "-c", "2", "-n", "1000", "-o", "json", *more, etcd=demo.etcd)
    assert (done.status, done.err) == (0, "")
    assert done.document["ok"] > 0


async def test_without_a_screen_there_is_nothing_but_the_summary(demo: Standing) -> None:
    done = await hammer("echo", "Echo/Say", "-n", "10", "--ui", "none", etcd=demo.etcd)
    assert done.err == "connecting to 3 backends of echo (authority echo) ...\n"
    assert "Summary\n" in done.out


PROGRESS = re.compile(
    r"hammer 00:0\d [\d,]+/100,000,000 00:0\d/00:00 \d+% [\d,.]+ rps ok [\d,]+ err 0 \(0\.00%\) p50 \S+ p99 \S+"
    r" maxd \d+\.\dpp backends 3/3"
)


async def test_a_run_in_a_pipe_says_how_far_it_is(demo: Standing) -> None:
    options = ("-n", "100m", "-z", "900ms", "-c", "4", "--ui", "plain", "--interval", "200ms")
    done = await hammer("echo", *options, etcd=demo.etcd)
    lines = [line for line in done.err.splitlines() if line.startswith("hammer ")]
    assert len(lines) >= 2
    for line in lines:
        assert PROGRESS.fullmatch(line), line
    assert done.err.isascii()


async def test_the_result_is_saved_as_it_is_printed(demo: Standing, tmp_path: Path) -> None:
    done = await hammer("echo", "-n", "10", "-o", "json", "--save", "run.json", etcd=demo.etcd, cwd=tmp_path)
    assert (tmp_path / "run.json").read_text() == done.out
    assert done.err.endswith("\nsaved run.json; HTML: lbctl report run.json -o html\n")


async def test_a_saved_result_replaces_an_older_one(demo: Standing, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("x" * 100_000)
    done = await hammer("echo", "-n", "10", "--save", "run.json", etcd=demo.etcd, cwd=tmp_path)
    assert done.status == 0
    check(json.loads((tmp_path / "run.json").read_text()))


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def test_auto_names_the_file_after_the_service_and_the_time(demo: Standing, tmp_path: Path) -> None:
    done = await hammer("echo", "-n", "10", "--save", "auto", etcd=demo.etcd, cwd=tmp_path)
    (saved,) = files_in(tmp_path)
    assert re.fullmatch(r"lbctl-echo-\d{8}-\d{6}\.json", saved.name)
    check(json.loads(saved.read_text()))
    assert done.err.endswith(f"\nsaved {saved.name}; HTML: lbctl report {saved.name} -o html\n")
    assert "Summary\n" in done.out


async def test_a_reader_that_has_seen_enough_is_no_error(demo: Standing) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        async with running("hammer", "echo", "-n", "50", "-o", "json", etcd=demo.etcd, stdout=writer) as run:
            done = await run.ended()
    finally:
        os.close(writer)
    assert done.status == 141
    assert "rror" not in done.err
