"""``lbctl weight`` as a process: measured weights on real backends, questions on a terminal, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl.demo.child import BackendProcess
from lbctl.demo.etcd_server import EtcdServer
from lbctl.demo.latency import Fixed
from lbctl.demo.spec import BackendSpec
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Entry
from tests.e2e.runs import PATIENCE_S, ROOT, environment, lbctl, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SCHEMA = json.loads((ROOT / "docs" / "reference" / "weights.schema.json").read_text(encoding="utf-8"))
MEASURE = ("weight", "echo", "--auto", "Echo/Say", "--window", "1s", "-r", "120")


class Standing:
    """An etcd and three backends of weight 5 that nobody else uses: one is fine, one fails, one takes 200 ms."""

    def __init__(self, etcd: Etcd, addresses: list[str]) -> None:
        self.etcd = etcd
        self.endpoint = etcd.endpoints[0]
        self.fine, self.failing, self.slow = addresses

    async def entries(self) -> dict[str, Entry]:
        found = (await self.etcd.range(b"/services/echo/")).entries
        return {entry.value.decode().partition("|")[0]: entry for entry in found}

    async def weights(self) -> tuple[int, int, int]:
        entries = await self.entries()
        fine, failing, slow = (
            int(entries[each].value.partition(b"|")[2]) for each in (self.fine, self.failing, self.slow)
        )
        return fine, failing, slow

    async def reaches(self, *wanted: int) -> None:
        """Wait until the weights are these."""
        async with asyncio.timeout(PATIENCE_S), aclosing(self.etcd.watch(b"/services/echo/")) as events:
            async for _ in events:
                if await self.weights() == wanted:
                    return

    async def revision(self) -> int:
        return (await self.etcd.status()).revision


@pytest.fixture
async def standing(own_etcd: EtcdServer) -> AsyncIterator[Standing]:
    """Start the three; the rule's two thresholds of latency, 10 ms and 100 ms, are far from both latencies."""
    config = EtcdConfig((own_etcd.endpoint,), dial_timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S)
    async with Etcd(config) as etcd, backends(own_etcd.endpoint) as addresses:
        yield Standing(etcd, addresses)


@asynccontextmanager
async def backends(endpoint: str) -> AsyncIterator[list[str]]:
    children: list[BackendProcess] = []
    addresses = []
    try:
        for latency_s, error_rate in ((0.04, 0.0), (0.04, 0.5), (0.2, 0.0)):
            child = await BackendProcess.launch()
            children.append(child)
            address = f"127.0.0.1:{await child.port()}"
            addresses.append(address)
            await child.register(
                BackendSpec(
                    etcd=endpoint,
                    services=("echo",),
                    layout="seed",
                    weight=5,
                    ttl_s=30,
                    latency=Fixed(latency_s),
                    error_rate=error_rate,
                    seed=str(len(children)),
                )
            )
        yield addresses
    finally:
        for child in children:
            await child.stop()


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def row(found: dict[str, Any], address: str) -> dict[str, Any]:
    (only,) = (each for each in found["instances"] if each["address"] == address)
    return dict(only)


async def test_a_failing_backend_gets_half_and_a_slow_one_is_one_less(standing: Standing) -> None:
    before = await standing.revision()

    ended = await lbctl(*MEASURE, "-o", "json", etcd=standing.endpoint)

    assert ended.status == 0, ended.err
    found = document(ended.out)
    fine, failing, slow = (row(found, each) for each in (standing.fine, standing.failing, standing.slow))
    assert (fine["base"], fine["proposed"], fine["errors"]) == (5, 10, 0)
    assert (failing["base"], failing["proposed"]) == (5, 2)
    assert 0.1 < failing["error_rate"] < 0.9
    assert (slow["base"], slow["proposed"], slow["errors"]) == (5, 9, 0)
    assert slow["mean_ms"] >= 200
    assert all(35 <= each["requests"] <= 45 for each in (fine, failing, slow)), "everybody in turn"
    assert (found["state"], found["method"]) == ("dry_run", "demo.echo.v1.Echo/Say")
    assert await standing.revision() == before, "a dry run writes nothing"


async def test_apply_writes_what_was_found_and_the_leases_go_on(standing: Standing) -> None:
    before = await standing.entries()

    ended = await lbctl(*MEASURE, "--apply", "-o", "json", etcd=standing.endpoint)

    assert document(ended.out)["state"] == "written", ended.err
    assert await standing.weights() == (10, 2, 9)
    after = await standing.entries()
    assert {key: entry.lease for key, entry in after.items()} == {key: entry.lease for key, entry in before.items()}
    assert len({entry.mod_revision for entry in after.values()}) == 1, "one transaction, so one event"
    for entry in after.values():
        left = await standing.etcd.time_to_live(entry.lease)
        assert left is not None
        assert 0 < left.ttl <= left.granted == 30


@pytest.mark.slow
async def test_it_goes_on_from_the_base_until_ctrl_c(standing: Standing) -> None:
    """An owner that registers again is one that somebody wrote: two looks later its weight is found again."""
    arguments = (*MEASURE, "--every", "1s", "--confirm", "2", "--apply", "-o", "jsonl")
    async with running(*arguments, etcd=standing.endpoint) as run:
        await standing.reaches(10, 2, 9)
        entry = (await standing.entries())[standing.fine]
        await standing.etcd.put(entry.key, f"{standing.fine}|5".encode(), entry.lease)
        await standing.reaches(10, 2, 9)
        run.send(signal.SIGINT)
        ended = await run.ended()

    looks = [document(line) for line in ended.out.splitlines()]
    assert ended.status == 0, ended.err
    assert looks[0]["state"] == "unchanged", "one look is not enough"
    assert [each["state"] for each in looks].count("written") == 2
    assert {row(each, address)["base"] for each in looks for address in (standing.fine, standing.slow)} == {5}


async def test_one_look_that_is_interrupted_writes_nothing(standing: Standing) -> None:
    arguments = (*MEASURE[:4], "--window", "60s", "--apply")
    async with running(*arguments, etcd=standing.endpoint) as run:
        await run.hears("connecting to 3 backends")
        run.send(signal.SIGINT)
        ended = await run.ended()

    assert (ended.status, ended.out) == (130, "")
    assert await standing.weights() == (5, 5, 5)


async def test_a_saved_run_is_as_good(standing: Standing, tmp_path: Path) -> None:
    run = str(tmp_path / "run.json")
    load = ("hammer", "echo", "Echo/Say", "-n", "120", "--policy", "round_robin", "--save", run)
    assert (await lbctl(*load, etcd=standing.endpoint)).status == 0

    ended = await lbctl("weight", "echo", "--auto", "--from", run, "-o", "json", etcd=standing.endpoint)

    found = document(ended.out)
    addresses = (standing.fine, standing.failing, standing.slow)
    assert [row(found, each)["proposed"] for each in addresses] == [10, 2, 9], ended.err


async def nothing() -> None:
    """What happens meanwhile."""


async def typed(
    answer: bytes, *arguments: str, etcd: str, meanwhile: Callable[[], Awaitable[None]] = nothing, columns: int = 200
) -> tuple[int, str, str]:
    """Run lbctl with a terminal as its standard input, and answer once it has asked and something has happened.

    etcd has all the time that the test has: a busy machine may take longer than lbctl waits for a connection.
    """
    waits = {f"LBCTL_{name}_TIMEOUT": f"{PATIENCE_S:g}s" for name in ("DIAL", "COMMAND")}
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lbctl",
        *arguments,
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(etcd) | waits | {"COLUMNS": str(columns)},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            try:
                asked = await process.stderr.readuntil(b"[y/N] ")
            except asyncio.IncompleteReadError as ended:
                pytest.fail(f"nobody was asked: {ended.partial.decode()}")
            await meanwhile()
            os.write(ours, answer)
            out, rest = await process.communicate()
    finally:
        os.close(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), (asked + rest).decode()


async def test_on_a_terminal_the_change_is_shown_and_asked_about(standing: Standing) -> None:
    wish = ("weight", "echo", f"{standing.fine}=3")

    declined = await typed(b"\n", *wish, etcd=standing.endpoint)
    assert (declined[0], declined[1]) == (1, "")
    assert f"{standing.fine}|5  {standing.fine}|3" in declined[2]
    assert "3 instances, 3 left in the rotation\nWrite it for every client? [y/N] nothing was written" in declined[2]
    assert await standing.weights() == (5, 5, 5)

    agreed = await typed(b"y\n", *wish, etcd=standing.endpoint, columns=70)
    assert agreed[0] == 0
    assert "5 -> 3" in agreed[1]
    assert f"{standing.fine}|3\nhidden: OLD VALUE, LEASE (use -o wide)\n3 instances" in agreed[2]
    assert await standing.weights() == (3, 5, 5)


async def test_a_key_that_changes_while_it_is_asked_about_is_left_alone(standing: Standing) -> None:
    """Somebody writes between the question and its answer."""
    key = f"/services/echo/{standing.fine}".encode()
    entry = (await standing.entries())[standing.fine]

    async def overtake() -> None:
        await standing.etcd.put(key, f"{standing.fine}|7".encode(), entry.lease)

    wish = ("weight", "echo", f"{standing.fine}=3")
    status, out, err = await typed(b"y\n", *wish, etcd=standing.endpoint, meanwhile=overtake)

    assert (status, out) == (1, "")
    assert "error: a key changed since it was read: nothing was written" in err
    assert f"read {standing.fine}|5 at revision" in err
    assert f"now {standing.fine}|7 at revision" in err
    assert await standing.weights() == (7, 5, 5)
