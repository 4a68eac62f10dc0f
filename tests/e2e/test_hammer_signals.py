"""How a run ends when somebody wants it to end."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import Running, check, row_of, running
from tests.rpc.servers import black_hole
from tests.scripted import Connection, ScriptedServer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PLAIN = ("--ui", "plain", "--interval", "100ms", "-c", "6")
RAW = ("p.S/M", "--binary-file", "/dev/null")


async def under_way(run: Running) -> None:
    await run.hears("hammer 0")


@asynccontextmanager
async def silent_backend(calls: int) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A backend that takes calls and never answers; the event is set once so many have arrived."""
    arrived = asyncio.Event()
    taken = 0

    async def behave(peer: Connection) -> None:
        nonlocal taken
        while True:
            await peer.request()
            taken += 1
            if taken >= calls:
                arrived.set()

    async with ScriptedServer(behave) as server:
        yield str(server.endpoint), arrived


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_one_signal_ends_a_run_gracefully(number: signal.Signals, status: int, demo: Standing) -> None:
    async with running("hammer", "echo", "-z", "60s", *PLAIN, "-o", "json", etcd=demo.etcd) as run:
        await under_way(run)
        run.send(number)
        done = await run.ended()
    document = done.document
    assert done.status == status
    assert document["end_reason"] == "interrupted"
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert document["ok"] == document["requests"] > 0
    assert document["duration_s"] < 50
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.parametrize(("number", "by"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
async def test_the_summary_says_what_stopped_the_run_and_how_far_it_was(
    number: signal.Signals, by: str, demo: Standing
) -> None:
    async with running("hammer", "echo", "-n", "100m", *PLAIN, etcd=demo.etcd) as run:
        await under_way(run)
        run.send(number)
        done = await run.ended()
    assert f"\nStopped by {by} after " in done.out
    assert " of 100,000,000)\n" in done.out
    assert "Traceback" not in done.err


async def test_a_second_ctrl_c_cancels_what_is_in_flight_and_counts_it() -> None:
    async with silent_backend(6) as (backend, arrived):
        command = ("--backends", backend, *RAW, "-z", "60s", "--grace", "60s", "-t", "0", *PLAIN, "-o", "json")
        async with running("hammer", *command) as run:
            await arrived.wait()
            run.send(signal.SIGINT)
            await run.hears("hammer 0")
            run.send(signal.SIGINT)
            done = await run.ended()
    document = done.document
    assert done.status == 130
    assert document["end_reason"] == "interrupted"
    assert (document["requests"], document["ok"], document["errors"], document["cancelled"]) == (6, 0, 0, 6)
    assert row_of(document, backend)["cancelled"] == 6
    assert document["latency_ms"] is None
    assert document["duration_s"] < 50


async def test_whoever_cannot_wait_gets_two_lines_and_a_file_with_all_of_it(tmp_path: Path) -> None:
    async with silent_backend(6) as (backend, arrived):
        command = ("--backends", backend, *RAW, "-n", "100", "--grace", "60s", "-t", "0", *PLAIN, "--save", "run.json")
        async with running("hammer", *command, cwd=tmp_path) as run:
            await arrived.wait()
            run.send(signal.SIGINT)
            await run.hears("hammer 0")
            run.send(signal.SIGINT)
            done = await run.ended()
    first, second = done.out.splitlines()
    assert re.fullmatch(r"Stopped by Ctrl-C after \d+\.\ds \(6 of 100\)", first)
    assert second == "ok 0  errors 0 (-)  cancelled 6  0/s"
    assert "\nsaved run.json; HTML: lbctl report run.json -o html\n" in done.err
    assert json.loads((tmp_path / "run.json").read_text())["cancelled"] == 6


@pytest.mark.parametrize("grace", ["0", "100ms"])
async def test_what_does_not_end_within_the_grace_time_is_cancelled(grace: str) -> None:
    async with silent_backend(6) as (backend, arrived):
        command = ("--backends", backend, *RAW, "-z", "60s", "--grace", grace, "-t", "0", *PLAIN, "-o", "json")
        async with running("hammer", *command) as run:
            await arrived.wait()
            run.send(signal.SIGINT)
            done = await run.ended()
    document = done.document
    assert done.status == 130
    assert (document["requests"], document["errors"], document["cancelled"]) == (6, 0, 6)
    assert document["duration_s"] < 50


async def test_the_grace_time_holds_for_a_duration_too() -> None:
    async with silent_backend(6) as (backend, _):
        command = ("--backends", backend, *RAW, "-z", "100ms", "--grace", "100ms", "-t", "0", *PLAIN, "-o", "json")
        async with running("hammer", *command) as run:
            done = await run.ended()
    document = done.document
    assert done.status == 0
    assert (document["end_reason"], document["requests"], document["cancelled"]) == ("duration", 6, 6)


async def test_a_hang_up_writes_the_file_and_nothing_else(demo: Standing, tmp_path: Path) -> None:
    command = ("echo", "-z", "60s", *PLAIN, "-o", "json", "--save", "run.json")
    async with running("hammer", *command, etcd=demo.etcd, cwd=tmp_path) as run:
        await under_way(run)
        run.send(signal.SIGHUP)
        done = await run.ended()
    assert (done.status, done.out) == (129, "")
    document = json.loads((tmp_path / "run.json").read_text())
    check(document)
    assert document["end_reason"] == "interrupted"
    assert document["ok"] == document["requests"] > 0
    assert "saved" not in done.err


async def test_a_hang_up_saves_the_result_although_nobody_reads_any_more(demo: Standing, tmp_path: Path) -> None:
    command = ("echo", "-z", "60s", *PLAIN, "--save", "run.json")
    async with running("hammer", *command, etcd=demo.etcd, cwd=tmp_path) as run:
        await under_way(run)
        await run.hang_up()
        run.send(signal.SIGHUP)
        assert (await run.ended()).status == 129
    check(json.loads((tmp_path / "run.json").read_text()))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_while_connecting_ends_the_run_before_it_began(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    with black_hole() as endpoint:
        command = ("--backends", str(endpoint), *RAW, "-o", "json", "--save", "run.json")
        async with running("hammer", *command, cwd=tmp_path) as run:
            await run.hears("connecting to 1 backend of p.S ...")
            run.send(number)
            done = await run.ended()
    assert (done.status, done.out) == (status, "")
    assert done.err == "connecting to 1 backend of p.S ...\n"
    assert not (tmp_path / "run.json").exists()


async def test_a_signal_while_the_method_is_looked_up_ends_the_run(tmp_path: Path) -> None:
    with black_hole() as endpoint:
        async with running("hammer", "--backends", str(endpoint), "--save", "run.json", cwd=tmp_path) as run:
            await appears(tmp_path / "run.json")
            run.send(signal.SIGINT)
            done = await run.ended()
    assert (done.status, done.out) == (130, "")
    assert "rror" not in done.err
    assert not (tmp_path / "run.json").exists()


async def appears(path: Path) -> None:
    async with asyncio.timeout(30):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.02)


async def test_signals_that_come_with_the_end_do_not_cost_the_result(demo: Standing) -> None:
    async with running("hammer", "echo", "-z", "60s", *PLAIN, "-o", "json", etcd=demo.etcd) as run:
        await under_way(run)
        run.send(signal.SIGINT)
        run.send(signal.SIGTERM)
        done = await run.ended()
    assert done.status in (130, 143)
    assert done.document["end_reason"] == "interrupted"
