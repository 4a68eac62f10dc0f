"""``lbctl register`` as a process: it stays registered, carries a command, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.e2e.conftest import standing
from tests.e2e.runs import PATIENCE_S, ROOT, lbctl, running
from tests.e2e.test_weight import typed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

A = "127.0.0.1:50061"
KEY = f"/services/echo/{A}".encode()
WITH_LBCTL = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
REGISTER = ("register", "echo", A, "--weight", "3")


@pytest.fixture
async def alone(own_etcd: EtcdServer) -> AsyncIterator[Etcd]:
    """A client of an etcd that nobody else uses."""
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        yield etcd


async def lease_of(etcd: Etcd) -> int:
    entry = await etcd.get(KEY)
    assert entry is not None
    assert entry.value == f"{A}|3".encode()
    return entry.lease


async def goes(etcd: Etcd) -> None:
    """Wait until the key is not there."""
    async with asyncio.timeout(PATIENCE_S), aclosing(etcd.watch(KEY)) as events:
        async for _ in events:
            if await etcd.get(KEY) is None:
                return


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 129)])
async def test_it_stays_registered_until_a_signal_and_takes_its_lease_along(
    etcd: Etcd, number: signal.Signals, status: int
) -> None:
    async with running(*REGISTER, "--ttl", "5s", etcd=etcd.endpoints[0]) as run:
        told = await run.hears("registered")
        lease = await lease_of(etcd)
        assert told == f"registered {KEY.decode()} -> {A}|3 under lease {lease:x} of 5s, until Ctrl-C\n"
        run.send(number)
        ended = await run.ended()

    assert (ended.status, ended.out) == (status, "")
    assert await etcd.get(KEY) is None
    assert await etcd.time_to_live(lease) is None


async def test_a_command_runs_while_it_is_registered_and_gives_its_status(etcd: Etcd) -> None:
    command = ("sh", "-c", "lbctl ls echo -o name; exit 7")
    ended = await lbctl(*REGISTER, "--", *command, etcd=etcd.endpoints[0], environ=WITH_LBCTL)

    assert (ended.status, ended.out) == (7, f"{A}\n")
    assert await etcd.get(KEY) is None


async def test_what_the_command_prints_and_reads_is_its_own(etcd: Etcd) -> None:
    ended = await lbctl(*REGISTER, "-q", "--", "cat", etcd=etcd.endpoints[0], stdin=b"as it is\n")
    assert (ended.status, ended.out, ended.err) == (0, "as it is\n", "")


async def test_a_signal_deregisters_before_the_command_hears_of_it(etcd: Etcd) -> None:
    """Clients have to know first: the command looks whether it is still registered when it is told to end."""
    script = "trap 'lbctl ls echo 2>/dev/null; echo listed $?; exit 9' TERM; echo up >&2; while :; do sleep 0.05; done"
    async with running(*REGISTER, "--", "sh", "-c", script, etcd=etcd.endpoints[0], environ=WITH_LBCTL) as run:
        await run.hears("up")
        assert await etcd.get(KEY) is not None
        run.send(signal.SIGTERM)
        ended = await run.ended()

    assert (ended.status, ended.out) == (9, "listed 4\n")


async def test_a_command_that_is_killed_is_deregistered_and_told_as_a_shell_does(etcd: Etcd) -> None:
    ended = await lbctl(*REGISTER, "--", "sh", "-c", "kill -9 $$", etcd=etcd.endpoints[0])
    assert ended.status == 128 + signal.SIGKILL
    assert await etcd.get(KEY) is None


async def test_a_command_that_cannot_be_run_leaves_no_registration(etcd: Etcd, tmp_path: Path) -> None:
    script = tmp_path / "broken"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    ended = await lbctl(*REGISTER, "--", str(script), etcd=etcd.endpoints[0])
    assert ended.status == 127
    assert "error: cannot run" in ended.err
    assert await etcd.get(KEY) is None


SERVER = """
import signal, socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
print(f"bound {server.getsockname()[1]}", file=sys.stderr, flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
sys.stdin.readline()
server.listen()
while True:
    server.accept()[0].close()
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def test_a_server_is_registered_when_it_takes_connections(etcd: Etcd) -> None:
    """It is bound, and listens when it is told to."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = (sys.executable, "-c", SERVER.replace("0)", f"{port})", 1))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "lbctl", "register", "echo", address, "--wait", "60s", "--", *command),
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "LBCTL_ENDPOINTS": etcd.endpoints[0], "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        assert await process.stderr.readline() == f"bound {port}\n".encode()
        assert (await etcd.range(b"")).entries == (), "it is not registered before"
        process.stdin.write(b"\n")
        assert (await process.stderr.readline()).startswith(f"registered /services/echo/{address}".encode())
        process.terminate()
        await process.communicate()
    assert process.returncode == 4
    assert (await etcd.range(b"")).entries == ()


async def test_a_server_that_never_takes_connections_is_ended_and_never_registered(etcd: Etcd) -> None:
    waiting = ("register", "echo", f"127.0.0.1:{free_port()}", "--wait", "300ms", "--", "sleep", "600")
    before = (await etcd.status()).revision
    ended = await lbctl(*waiting, etcd=etcd.endpoints[0])
    assert ended.status == 5
    assert "takes no connections after 0.3s: nothing was registered" in ended.err
    assert (await etcd.status()).revision == before, "nothing was ever written"


async def test_a_server_that_ends_before_it_takes_connections_gives_its_status(etcd: Etcd) -> None:
    waiting = ("register", "echo", f"127.0.0.1:{free_port()}", "--wait", "60s", "--", "sh", "-c", "exit 6")
    before = (await etcd.status()).revision
    assert (await lbctl(*waiting, etcd=etcd.endpoints[0])).status == 6
    assert (await etcd.status()).revision == before


async def test_when_lbctl_is_killed_the_command_ends_and_the_key_goes_with_its_lease(etcd: Etcd) -> None:
    async with running(*REGISTER, "--ttl", "1s", "--", "sleep", "600", etcd=etcd.endpoints[0]) as run:
        await run.hears("registered")
        lease = await lease_of(etcd)
        run.send(signal.SIGKILL)
        await goes(etcd)
        await run.ended()  # the command, too, has closed what they shared

    assert await etcd.time_to_live(lease) is None


async def test_an_etcd_that_is_killed_and_comes_back_has_it_again(own_etcd: EtcdServer, alone: Etcd) -> None:
    async with running(*REGISTER, "--ttl", "2s", etcd=own_etcd.endpoint) as run:
        await run.hears("registered")
        await own_etcd.kill()
        await run.hears("etcd does not answer")
        await asyncio.sleep(2.5)  # longer than the lease
        await own_etcd.restart()
        await run.hears("the lease was kept")
        lease = await lease_of(alone)
        await alone.revoke(lease)
        await run.hears("registered anew")
        assert await lease_of(alone) != lease
        await alone.delete(KEY)
        await run.hears("it was put back")
        run.send(signal.SIGINT)
        ended = await run.ended()

    assert ended.status == 0
    assert (await alone.range(b"")).entries == ()


async def test_an_etcd_that_is_down_at_the_end_does_not_hold_it_up(own_etcd: EtcdServer, alone: Etcd) -> None:
    async with running(*REGISTER, "--ttl", "5s", "--", "sleep", "600", etcd=own_etcd.endpoint) as run:
        await run.hears("registered")
        await own_etcd.kill()
        run.send(signal.SIGTERM)
        ended = await run.ended()

    assert ended.status == 128 + signal.SIGTERM
    assert ended.err.endswith("could not be deleted: etcd does not answer; it goes with its lease, within 5s\n")


async def test_a_key_without_a_lease_is_deleted_at_the_end(etcd: Etcd) -> None:
    async with running(*REGISTER, "--no-lease", etcd=etcd.endpoints[0]) as run:
        await run.hears("registered")
        assert await lease_of(etcd) == 0
        await lbctl("drain", "echo", A, "-y", etcd=etcd.endpoints[0])
        run.send(signal.SIGINT)
        assert (await run.ended()).status == 0
    assert await etcd.get(KEY) is None


async def test_a_drain_of_a_registered_instance_stays_while_its_lease_does(etcd: Etcd) -> None:
    async with running(*REGISTER, "--ttl", "2s", etcd=etcd.endpoints[0]) as run:
        await run.hears("registered")
        await lbctl("drain", "echo", A, "-y", etcd=etcd.endpoints[0])
        await asyncio.sleep(2.5)  # longer than the lease, and several looks at the key
        entry = await etcd.get(KEY)
        assert entry is not None
        assert entry.value == f"{A}|0".encode()
        assert (await lbctl("undrain", "echo", A, "-y", etcd=etcd.endpoints[0])).status == 0
        await lease_of(etcd)
        run.send(signal.SIGINT)
        assert (await run.ended()).status == 0
    assert (await etcd.range(b"")).entries == ()


async def test_on_a_terminal_a_key_that_is_there_is_asked_about(etcd: Etcd) -> None:
    await etcd.put(KEY, b"127.0.0.1:50061|7")
    taking = (*REGISTER, "--once")

    status, out, err = await typed(b"n\n", *taking, etcd=etcd.endpoints[0])
    assert (status, out) == (1, "")
    assert f"{A}|7" in err
    assert err.endswith("It is registered already. Take it over? [y/N] nothing was written\n")

    async def overtake() -> None:
        await etcd.put(KEY, b"127.0.0.1:50061|8")

    status, out, err = await typed(b"y\n", *taking, etcd=etcd.endpoints[0], meanwhile=overtake)
    assert (status, out) == (1, "")
    assert f"error: {KEY.decode()} changed since it was read: nothing was written" in err

    status, _, _ = await typed(b"y\n", *taking, etcd=etcd.endpoints[0])
    assert status == 0
    await lease_of(etcd)


async def test_whoever_is_asked_knows_that_the_owner_may_undo_it(etcd: Etcd) -> None:
    await etcd.put(b"user.rpc/7587878123456782001", A.encode())
    _, _, err = await typed(b"n\n", "deregister", "user.rpc", A, etcd=etcd.endpoints[0])
    assert err.endswith(
        "1 instance, 0 left\ngo-zero puts a key back as soon as it is deleted\n"
        "Delete it for every client? [y/N] nothing was written\n"
    )


async def test_on_a_terminal_a_drain_and_a_deletion_are_asked_about(etcd: Etcd) -> None:
    await etcd.put(KEY, b"127.0.0.1:50061|3")
    status, out, err = await typed(b"\n", "drain", "echo", A, etcd=etcd.endpoints[0])
    assert (status, out) == (1, "")
    assert err.startswith("warning: no instance of echo is left in the rotation\n")
    assert err.endswith("1 instance, 0 left in the rotation\nDrain it for every client? [y/N] nothing was written\n")

    status, out, err = await typed(b"y\n", "deregister", "echo", A, etcd=etcd.endpoints[0])
    assert status == 0
    assert "1 instance, 0 left\nDelete it for every client? [y/N] 1 key deleted at revision" in err
    assert await etcd.get(KEY) is None


@pytest.mark.parametrize("layout", ["etcd-naming", "kratos", "kitex", "go-zero", "go-micro", "plain"])
async def test_a_demo_in_any_layout_can_be_called(layout: str) -> None:
    with standing("--layout", layout, "-b", "2", "--latency", "0ms") as demo:
        ended = await lbctl("hammer", "echo", "-n", "200", "-o", "json", etcd=demo.etcd)
    assert ended.status == 0, ended.err
    found = ended.document
    assert (found["ok"], len(found["backends"])) == (200, 2)


async def test_an_instance_of_a_demo_is_put_back_where_programs_of_its_layout_do_so() -> None:
    script = (
        "a=$(lbctl ls echo -o name | head -1); lbctl deregister echo $a -y; "
        "until lbctl ls echo -o name | grep $a; do sleep 0.1; done"
    )
    ended = await lbctl("demo", "--layout", "kitex", "--ttl", "2s", "--", "sh", "-ec", script)
    assert ended.status == 0, ended.err
