"""Backends that fail while they are under load: counted, attributed, and never a reason to hang."""

from __future__ import annotations

import re
import signal
from collections import Counter

import pytest

from tests.e2e.backends import fleet
from tests.e2e.runs import Running, events_of, hammer, lbctl, row_of, running
from tests.rpc.servers import checking, serving
from tests.scripted import Connection, ScriptedServer
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PLAIN = ("-z", "60s", "-c", "6", "--ui", "plain", "--interval", "200ms", "-o", "json")
CHECK = ("grpc.health.v1.Health/Check", "--binary-file", "/dev/null")
RAW = ("p.S/M", "--binary-file", "/dev/null")


async def errors(run: Running, least: int) -> None:
    """Wait until the progress tells of so many errors."""
    while int(re.findall(r" err ([\d,]+) ", await run.hears("hammer 0"))[0].replace(",", "")) < least:
        pass


async def healthy(_: object) -> bytes:
    return b"\x08\x01"


@pytest.mark.slow
async def test_a_backend_that_restarts_on_its_port_is_called_again() -> None:
    async with serving([checking(healthy)]) as steady:
        first = serving([checking(healthy)])
        moody = await first.__aenter__()
        async with running("hammer", "--backends", f"{steady},{moody}", *CHECK, *PLAIN) as run:
            await run.hears("hammer 0", "backends 2/2")
            await first.__aexit__(None, None, None)
            await run.hears("hammer 0", "backends 1/2")
            async with serving([checking(healthy)], port=moody.port):
                await run.hears("event", str(moody), "connected")
                for _ in range(3):
                    await run.hears("hammer 0", "backends 2/2")
                run.send(signal.SIGINT)
                done = await run.ended()
    document = done.document
    row = row_of(document, str(moody))
    assert (row["state"], row["reason"], row["left_s"]) == ("ready", "", None)
    assert document["errors"] == row["errors"] <= 6
    assert row_of(document, str(steady))["errors"] == 0
    told = [text for backend, text in events_of(document, "health") if backend == str(moody)]
    assert told[-1] == "connected"
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.slow
async def test_a_backend_that_freezes_costs_deadlines_of_its_own_only() -> None:
    async with (
        fleet(1, 1) as (here, (steady, frozen)),
        running("hammer", "echo", "Echo/Say", "-t", "400ms", *PLAIN, etcd=here.etcd) as run,
    ):
        await run.hears("hammer 0", "backends 2/2")
        here.freeze(frozen)
        await errors(run, 12)
        here.thaw(frozen)
        for _ in range(2):
            await run.hears("hammer 0")
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    assert set(document["codes"]) == {"OK", "DEADLINE_EXCEEDED"}
    (group,) = document["error_groups"]
    assert (group["origin"], group["backends"]) == ("client", {frozen: document["errors"]})
    assert row_of(document, steady)["errors"] == 0
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.slow
async def test_calls_that_no_backend_is_left_for_wait_until_their_deadline() -> None:
    async with (
        fleet(1) as (here, (only,)),
        running("hammer", "echo", "Echo/Say", "-t", "300ms", *PLAIN, etcd=here.etcd) as run,
    ):
        await run.hears("hammer 0", "backends 1/1")
        await here.kill(only)
        await run.hears("hammer 0", "backends 0/1")
        await errors(run, 18)
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    groups = {(group["origin"], group["message"]): group for group in document["error_groups"]}
    lonely = groups["client", "no backend was ready before the deadline"]
    assert (lonely["code"], lonely["backends"]) == ("UNAVAILABLE", {})
    assert row_of(document, only)["state"] in ("transient_failure", "connecting")  # again and again
    assert row_of(document, only)["errors"] == document["errors"] - lonely["count"] <= 6
    assert document["cancelled"] == 0


async def test_a_server_that_sends_everybody_away_now_and_then_costs_no_call() -> None:
    async def behave(peer: Connection) -> None:
        for _ in range(50):
            last = (await peer.request()).stream
            peer.send(h2.reply(last))
        peer.send(h2.goaway(last))
        await peer.gone()

    async with ScriptedServer(behave) as server:
        command = ("--backends", str(server.endpoint), *RAW, "-n", "1000", "-c", "8", "-t", "10s", "-o", "json")
        document = (await hammer(*command)).document
        assert len(server.served) == 20
    assert (document["ok"], document["errors"]) == (1000, 0)
    # What a server says it did not process is sent once more.
    assert document["attempts"] == document["requests"] + document["retries"]


async def test_what_a_server_refuses_is_sent_once_more_and_then_counted() -> None:
    async def behave(peer: Connection) -> None:
        while True:
            peer.send(h2.rst((await peer.request()).stream, 7))

    async with ScriptedServer(behave) as server:
        command = ("--backends", str(server.endpoint), *RAW, "-n", "30", "-o", "json")
        document = (await hammer(*command)).document
    assert (document["errors"], document["attempts"], document["retries"]) == (30, 60, 30)
    (group,) = document["error_groups"]
    assert (group["code"], group["origin"], group["count"]) == ("UNAVAILABLE", "transport", 30)
    assert group["message"] == "stream reset by peer: REFUSED_STREAM"


async def test_a_server_without_a_free_stream_holds_nothing_up() -> None:
    async def behave(peer: Connection) -> None:
        await peer.gone()

    async with ScriptedServer(behave, settings={3: 0}) as server:
        command = ("--backends", str(server.endpoint), *RAW, "-n", "20", "-t", "200ms", "-o", "json")
        document = (await hammer(*command)).document
    assert document["codes"] == {"DEADLINE_EXCEEDED": 20}
    assert document["attempts"] == 0
    assert document["error_groups"][0]["message"] == "deadline exceeded before the call could be sent"


async def test_errors_that_backends_answer_are_theirs_and_no_failure_of_the_run() -> None:
    options = ("--errors", "0%,100%", "--latency", "0ms", "--weights", "1,1")
    done = await lbctl("demo", *options, "--", "lbctl", "hammer", "echo", "Echo/Say", "-n", "200", "-o", "json")
    document = done.document
    assert done.status == 0
    assert document["codes"] == {"OK": 100, "UNAVAILABLE": 100}
    (group,) = document["error_groups"]
    assert (group["origin"], group["message"]) == ("server", "injected by lbctl demo --errors")
    assert Counter(row["errors"] for row in document["backends"]) == {0: 1, 100: 1}
    assert sum(bucket["count"] for bucket in document["histogram"]) == 100


async def test_what_a_server_says_cannot_draw_on_the_terminal() -> None:
    async def behave(peer: Connection) -> None:
        while True:
            stream = (await peer.request()).stream
            peer.send(h2.trailers_only(stream, 13, ("grpc-message", "%1b[2J%1b]0;title%07%0d%0aerror: mine")))

    async with ScriptedServer(behave) as server:
        command = ("--backends", str(server.endpoint), *RAW, "-n", "3")
        done = await hammer(*command)
    shown = done.out + done.err
    assert [char for char in shown if char < " " and char != "\n"] == []
    assert "\nerror: mine" not in shown
    assert "INTERNAL" in done.out


async def test_a_signal_to_the_demo_reaches_its_command_and_its_status_comes_back() -> None:
    command = ("lbctl", "hammer", "echo", "-z", "60s", "-c", "3", "-o", "json")
    async with running("demo", "--latency", "2ms", "--", *command) as run:
        await run.hears("event")
        run.send(signal.SIGINT)
        done = await run.ended()
    assert done.status == 130
    assert (done.document["end_reason"], done.document["errors"]) == ("interrupted", 0)
