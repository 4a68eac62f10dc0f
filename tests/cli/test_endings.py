"""Signals end every command with a status of lbctl's own, and never as the system would end it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lbctl.__main__ import _Endings
from lbctl.etcd.client import Etcd
from tests.cli.processes import lbctl, line
from tests.warm import Process

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@asynccontextmanager
async def mute_etcd() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """An etcd that never answers, and whether somebody has come."""
    came = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}", came


@asynccontextmanager
async def waiting(command: str) -> AsyncIterator[Process]:
    """A command that waits for an etcd that does not answer."""
    async with mute_etcd() as (endpoint, came):
        arguments = ("--endpoints", endpoint, "--dial-timeout", "1m", "--command-timeout", "1m")
        async with lbctl(*command.split(), *arguments) as process:
            async with asyncio.timeout(20):
                await came.wait()
            yield process


async def ended(process: Process, number: signal.Signals) -> tuple[int, bytes, bytes]:
    process.send_signal(number)
    async with asyncio.timeout(20):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out, err


@pytest.mark.e2e
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", ["ls", "doctor", "drain echo 127.0.0.1:1 -y"])
async def test_a_command_that_waits_for_etcd_ends_at_once_and_without_a_word(
    command: str, number: signal.Signals
) -> None:
    async with waiting(command) as process:
        assert await ended(process, number) == (128 + number, b"", b"")


@pytest.mark.e2e
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("command", ["watch echo", "ls -w", "health echo --watch"])
async def test_what_goes_on_for_ever_ends_in_the_same_way_before_it_has_begun(
    command: str, number: signal.Signals, status: int
) -> None:
    async with waiting(command) as process:
        assert await ended(process, number) == (status, b"", b"")


@pytest.mark.e2e
@pytest.mark.parametrize("number", SIGNALS)
async def test_a_command_that_reads_a_file_ends_so_too(number: signal.Signals, tmp_path: Path) -> None:
    pipe = tmp_path / "run.json"
    os.mkfifo(pipe)
    async with lbctl("report", str(pipe)) as process:
        async with asyncio.timeout(20):
            writing = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)  # returns when it is read
        try:
            assert await ended(process, number) == (128 + number, b"", b"")
        finally:
            os.close(writing)


@pytest.mark.e2e
@pytest.mark.parametrize("command", ["watch echo --no-check", "ls -w", "health echo --watch"])
async def test_a_hang_up_is_no_normal_end_of_what_goes_on_for_ever(command: str, etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with lbctl("--endpoints", etcd.endpoints[0], *command.split()) as process:
        assert await line(process)
        status, _, err = await ended(process, signal.SIGHUP)
        assert (status, err) == (129, b"")


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_what_is_to_be_ignored_is_ignored() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as by nohup
    endings = _Endings()
    for change in (endings.leave_at_once, endings.listen):
        change()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert callable(signal.getsignal(signal.SIGTERM))


@pytest.mark.usefixtures("handlers")
def test_without_an_event_loop_a_signal_interrupts_and_the_first_one_is_the_status() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    endings = _Endings()
    endings.listen()
    assert endings.status(130) == 130
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert [endings.status(code) for code in (130, 0, 1)] == [143, 0, 1]
