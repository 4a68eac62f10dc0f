"""A forked process of lbctl is like one that a user starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from tests import warm
from tests.e2e.runs import environment, session_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

NOWHERE = "127.0.0.1:1"


async def forked(*arguments: str, stdout: int = subprocess.PIPE) -> tuple[int, bytes, bytes]:
    process = await warm.start(arguments, environment(NOWHERE), stdout=stdout)
    out, err = await process.communicate()
    return process.returncode or 0, out, err


def started(*arguments: str, stdout: int = subprocess.PIPE) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "lbctl", *arguments]
    done = subprocess.run(command, env=environment(NOWHERE), stdout=stdout, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout or b"", done.stderr


@pytest.mark.parametrize("line", [("version",), ("ls", "--dial-timeout", "50ms"), ("policies", "nosuch")])
async def test_it_says_the_same_and_ends_the_same(line: tuple[str, ...]) -> None:
    assert await forked(*line) == started(*line)


async def test_a_standard_output_that_is_full_or_closed_is_told_alike() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    reader, closed = os.pipe()
    os.close(reader)
    for stdout in (full, closed):
        assert await forked("version", stdout=stdout) == started("version", stdout=stdout)
        os.close(stdout)


async def test_it_leads_a_session_and_has_a_folder_and_variables_of_its_own(etcd: Etcd, tmp_path: Path) -> None:
    wanted = environment(etcd.endpoints[0]) | {"LBCTL_DIAL_TIMEOUT": "50s"}
    command = ("register", "echo", "127.0.0.1:5", "--", "sh", "-c", "pwd; exec cat /proc/$PPID/stat")
    process = await warm.start(command, wanted, cwd=tmp_path)
    out, _ = await process.communicate()
    folder, stat = out.decode().splitlines()
    assert folder == str(tmp_path)
    assert int(stat.rpartition(")")[2].split()[3]) == process.pid
    assert session_of(process.pid) == []


async def test_a_signal_is_its_own_and_shows_in_its_status(etcd: Etcd) -> None:
    process = await warm.start(("watch", "echo", "--no-check"), environment(etcd.endpoints[0]))
    assert process.returncode is None
    process.kill()
    await process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_a_shell_may_start_them_too(etcd_server: EtcdServer, tmp_path: Path) -> None:
    """Its streams, status and signals are those of the run."""
    script = """
        lbctl version | sed s/^/said:/; lbctl policies nosuch 2>/dev/null || echo ended $?
        lbctl register echo 127.0.0.1:5 -q -- sh -c 'touch up; exec sleep 60' &
        until [ -e up ]; do sleep 0.05; done; kill -TERM $!; wait $!; echo ended $?
    """
    done = subprocess.run(
        ["sh", "-c", f"PATH={warm.shim(tmp_path)}:$PATH; {script}"],
        cwd=tmp_path,
        env=environment(etcd_server.endpoint),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.fullmatch(r"said:lbctl \S+\nended 4\nended 143\n", done.stdout), (done.stdout, done.stderr)
