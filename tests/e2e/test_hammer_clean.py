"""What a run leaves behind: nothing. Warnings are errors here, and Python's development mode looks for leaks."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.backends import fleet
from tests.e2e.conftest import Standing
from tests.e2e.runs import ROOT, STRICT, hammer, running, session_of
from tests.rpc.servers import answering, black_hole, refused_port
from tests.scripted import Connection, ScriptedServer
from tests.view.ptys import OnTerminal

pytestmark = pytest.mark.e2e

RAW = ("p.S/M", "--binary-file", "/dev/null")
SLOW = re.compile(r"^Executing <.* took [\d.]+ seconds\n", re.MULTILINE)  # development mode's word on a busy machine
CONNECTING = "connecting to 3 backends of echo (authority echo) ...\n"
RESOLVED = "event  00:00 - resolved /services/echo/: 3 backends of echo\n"


async def test_a_run_says_its_own_lines_only(demo: Standing) -> None:
    done = await hammer("echo", "Echo/Say", "-n", "2000", etcd=demo.etcd, environ=STRICT)
    assert (done.status, SLOW.sub("", done.err)) == (0, CONNECTING + RESOLVED)


async def test_so_does_one_that_is_interrupted(demo: Standing) -> None:
    async with running("hammer", "echo", "Echo/Say", "-z", "60s", etcd=demo.etcd, environ=STRICT) as run:
        await run.hears("event")
        run.send(signal.SIGINT)
        done = await run.ended()
    assert (done.status, SLOW.sub("", done.err)) == (130, CONNECTING + RESOLVED)


async def test_so_does_one_that_is_aborted() -> None:
    async def behave(peer: Connection) -> None:
        while True:
            await peer.request()

    async with ScriptedServer(behave) as server:
        command = ("--backends", str(server.endpoint), *RAW, "-z", "60s", "-t", "0", "--ui", "plain")
        async with running("hammer", *command, "--interval", "100ms", environ=STRICT) as run:
            await run.hears("hammer 0")
            run.send(signal.SIGINT)
            await run.hears("hammer 0")
            run.send(signal.SIGINT)
            done = await run.ended()
    own = ("connecting to ", "event  00:0", "hammer 00:0")
    assert [line for line in SLOW.sub("", done.err).splitlines() if not line.startswith(own)] == []


async def test_so_does_one_that_never_began() -> None:
    with black_hole() as endpoint:
        async with running("hammer", "--backends", str(endpoint), *RAW, environ=STRICT) as run:
            await run.hears("connecting")
            run.send(signal.SIGINT)
            done = await run.ended()
    assert (done.status, SLOW.sub("", done.err)) == (130, "connecting to 1 backend of p.S ...\n")


async def test_so_does_one_that_can_call_nobody() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web:
        with refused_port() as closed:
            done = await hammer("--backends", f"{web},{closed}", "Say", environ=STRICT)
    assert done.status == 5
    assert [line.partition(":")[0] for line in SLOW.sub("", done.err).splitlines()] == ["error", "hint"]


async def test_so_does_one_whose_etcd_is_down() -> None:
    with refused_port() as endpoint:
        done = await hammer("echo", "--dial-timeout", "300ms", etcd=str(endpoint), environ=STRICT)
    assert done.status == 3
    assert [line.partition(":")[0] for line in SLOW.sub("", done.err).splitlines()] == ["error", "hint"]


@pytest.mark.slow
async def test_so_does_one_that_loses_backends_and_etcd() -> None:
    options = ("-z", "60s", "-c", "4", "--ui", "plain", "--interval", "200ms", "-t", "1s")
    async with (
        fleet(1, 1) as (here, (first, second)),
        running("hammer", "echo", "Echo/Say", *options, etcd=here.etcd, environ=STRICT) as run,
    ):
        await run.hears("hammer 0", "backends 2/2")
        await here.server.kill()
        await here.kill(first)
        await run.hears("registry lost")
        await here.kill(second)
        await run.hears("hammer 0", "backends 0/2")
        run.send(signal.SIGINT)
        done = await run.ended()
    assert done.status == 130
    own = ("connecting to ", "event  00:", "hammer 00:")
    assert [line for line in SLOW.sub("", done.err).splitlines() if not line.startswith(own)] == []


@pytest.mark.parametrize(("key", "status", "by"), [("q", 0, "q"), ("\x03", 130, "Ctrl-C")])
def test_the_live_view_gives_the_terminal_back_and_leaves_no_process(
    key: str, status: int, by: str, demo: Standing
) -> None:
    command = ("lbctl", "--endpoints", demo.etcd, "hammer", "echo", "-z", "60s", "-c", "4", "--ui", "live")
    with OnTerminal("tests.e2e.controlling", *command) as terminal:
        terminal.shows("BACKENDS 3/3")
        terminal.send(key)
        assert terminal.ended() == status
        assert terminal.given_back()
        assert session_of(terminal.process.pid) == []
        assert f"Stopped by {by} after " in terminal.output()


def test_the_tests_run_what_stands_here() -> None:
    assert Path(sys.modules["lbctl"].__file__ or "").is_relative_to(ROOT)
