"""lbctl as its users start it: a process, with real streams and signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.cli.processes import end, lbctl, line, line_with, schema

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
async def test_a_watch_in_a_pipe_prints_a_line_per_event_and_being_stopped_is_its_normal_end(
    stop: signal.Signals, etcd: Etcd
) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with lbctl("--endpoints", etcd.endpoints[0], "watch", "echo", "--no-check") as process:
        assert (await line(process)).split(maxsplit=3)[1:] == ["resync", "-", f"{await synced(etcd)}\n"]
        assert (await line(process)).split(maxsplit=3)[1:3] == ["joined", "127.0.0.1:1"]
        revision = await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|7")
        time, *rest = (await line(process)).split(maxsplit=3)
        assert rest == ["weight", "127.0.0.1:1", f"weight 5 -> 7 (rev {revision})\n"]
        assert len(time) == len("12:00:31.204")
        process.send_signal(stop)
        assert await end(process) == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""


async def synced(etcd: Etcd) -> str:
    return f"synced at rev {(await etcd.status()).revision}: 1 instance"


ENDLESS = [("watch", "echo", "--no-check"), ("ls", "echo", "-w"), ("health", "echo", "--watch")]


@pytest.mark.parametrize("command", ENDLESS, ids=lambda command: str(command[0]))
async def test_what_prints_for_ever_ends_when_nobody_reads_it_any_more(command: tuple[str, ...], etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    read_end, write_end = os.pipe()
    async with lbctl("--endpoints", etcd.endpoints[0], *command, stdout=write_end) as process:
        os.close(write_end)
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(os.read, read_end, 1)
        os.close(read_end)
        assert await end(process) == 141
        assert process.stderr is not None
        assert await process.stderr.read() == b""


@pytest.mark.parametrize("command", ENDLESS, ids=lambda command: str(command[0]))
async def test_what_prints_for_ever_ends_when_the_disk_is_full(command: tuple[str, ...], etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    full = os.open("/dev/full", os.O_WRONLY)
    async with lbctl("--endpoints", etcd.endpoints[0], *command, stdout=full) as process:
        os.close(full)
        assert await end(process) == 2
        assert process.stderr is not None
        said = await process.stderr.read()
    assert said == (
        b"error: cannot write the output: no space left on device\nhint: make room, or write it elsewhere\n"
    )


async def test_every_line_of_jsonl_fits_the_schema(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with lbctl("--endpoints", etcd.endpoints[0], "watch", "echo", "--no-check", "-o", "jsonl") as process:
        documents: list[Any] = [json.loads(await line(process)) for _ in range(2)]
        await etcd.delete(b"/services/echo/127.0.0.1:1")
        documents.append(json.loads(await line(process)))
    for document in documents:
        schema("watch").validate(document)
    assert [each["kind"] for each in documents] == ["resync", "joined", "left"]
    assert [each["instance"] and each["instance"]["weight"] for each in documents] == [None, 5, 5]


async def test_a_watch_survives_a_restart_of_etcd(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as writer:
        await writer.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
        async with lbctl("--endpoints", own_etcd.endpoint, "watch", "echo", "--no-check") as process:
            await line_with(process, "joined")
            await own_etcd.kill()
            await line_with(process, "registry lost: ")
            await own_etcd.restart()
            await line_with(process, "synced again at rev ")
            await writer.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|6")
            await line_with(process, "weight 5 -> 6")


async def test_ls_watch_appends_a_row_for_every_change_also_of_new_services(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with lbctl("--endpoints", etcd.endpoints[0], "ls", "-w", "--no-headers") as process:
        assert (await line(process)).split()[:2] == ["echo", "seed"]
        revision = await etcd.put(b"/services/order/127.0.0.1:2", b"127.0.0.1:2|3")
        assert await line(process) == f"JOINED  order  127.0.0.1:2  weight 3  share 100.0%  rev {revision}\n"
        process.send_signal(signal.SIGINT)
        assert await end(process) == 0


async def test_ls_watch_of_one_service_follows_it(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
    async with lbctl("--endpoints", etcd.endpoints[0], "ls", "echo", "-w", "--no-headers") as process:
        await line(process)
        await etcd.put(b"/services/other/127.0.0.1:3", b"127.0.0.1:3|5")
        revision = await etcd.put(b"/services/echo/127.0.0.1:2", b"127.0.0.1:2|5")
        assert await line(process) == f"JOINED  echo  127.0.0.1:2  weight 5  share 50.0%  rev {revision}\n"


async def test_ls_checks_the_health_of_real_backends_under_their_leases() -> None:
    listing = (sys.executable, "-m", "lbctl", "ls", "echo", "--check", "-o", "json")
    async with lbctl("demo", "--weights", "5,1,1", "--", *listing) as process:
        async with asyncio.timeout(40):
            out, _ = await process.communicate()
    assert process.returncode == 0
    document = json.loads(out)
    schema("services").validate(document)
    (service,) = document["services"]
    instances = service["instances"]
    assert sorted(each["weight"] for each in instances) == [1, 1, 5]
    assert sum(each["share"] for each in instances) == pytest.approx(1.0, abs=1e-5)
    for each in instances:
        assert each["health"] == "SERVING"
        assert each["rtt_ms"] > 0
        assert 0 < each["lease"]["ttl_s"] <= each["lease"]["granted_s"] == 10


async def test_an_etcd_that_is_down_ends_every_command_with_3() -> None:
    for arguments in (("ls",), ("watch", "echo")):
        async with lbctl("--endpoints", "127.0.0.1:1", "--dial-timeout", "300ms", *arguments) as process:
            async with asyncio.timeout(20):
                out, err = await process.communicate()
        assert (process.returncode, out) == (3, b"")
        assert err.decode().startswith(
            "error: etcd 127.0.0.1:1 did not answer within 0.3s (connection refused)\nhint: "
        )
