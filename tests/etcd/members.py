"""Real etcd members of a test's own, single or as a cluster: to be killed, frozen and started again at will."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx

from lbctl.demo.etcd_binary import find_binary
from lbctl.demo.etcd_server import free_port
from lbctl.demo.parent_death import die_with_parent
from lbctl.demo.scratch import ScratchDir
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.stubs import pb
from tests.demo.watching import until

_ATTEMPTS = 5
_PORT_PAUSE_S = 0.3
_TAKEN = "address already in use"
_READY = "serving client traffic"

Flags = Mapping[str, str]


class Member:
    """One etcd process, on the same ports and data however often it is started."""

    def __init__(self, name: str, folder: Path, flags: Flags) -> None:
        self.name = name
        self.port, self.peer_port = free_port(), free_port()
        self.cluster = ""
        self._folder = folder
        self._flags = flags
        self._process: asyncio.subprocess.Process | None = None

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def peer(self) -> str:
        return f"{self.name}=http://127.0.0.1:{self.peer_port}"

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    async def run(self) -> None:
        """Start the process; it serves when ``ready`` returns."""
        scheme = "https" if "cert-file" in self._flags else "http"
        client, peer = f"{scheme}://{self.endpoint}", f"http://127.0.0.1:{self.peer_port}"
        flags = {
            "name": self.name,
            "data-dir": str(self._folder / self.name),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": self.cluster or self.peer,
            "heartbeat-interval": "30",
            "election-timeout": "300",
            "logger": "zap",
            "log-outputs": "stderr",
            **self._flags,
        }
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                str(find_binary(None, os.environ)),
                *(f"--{name}={value}" for name, value in flags.items()),
                "--unsafe-no-fsync",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                preexec_fn=die_with_parent(),
                env={name: value for name, value in os.environ.items() if not name.startswith("ETCD")},
            )

    async def ready(self) -> None:
        """Wait until it serves; raise OSError where another has taken one of its ports."""

        async def serves() -> bool:
            if self._running.returncode is not None:
                raise OSError(self.log[-2000:])
            return _READY in self.log

        await until(serves, f"{self.name} serves")

    async def start(self) -> None:
        """Start it again and wait; its ports were free for a while, and a passing connection may sit on one."""
        for attempt in range(_ATTEMPTS):
            try:
                await self.run()
                return await self.ready()
            except OSError as error:
                if _TAKEN not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
            await asyncio.sleep(_PORT_PAUSE_S)
        raise AssertionError("unreachable")

    def signal(self, number: signal.Signals) -> None:
        self._running.send_signal(number)

    def freeze(self) -> None:
        """Stop it where it is: its connections stay, and say nothing."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End it at once; ``start`` brings it back with what it knew."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def served(self, method: str) -> int:
        """How many calls of a method it has begun to serve since it was started."""
        async with httpx.AsyncClient(trust_env=False) as client:
            page = (await client.get(f"http://{self.endpoint}/metrics")).text
        begun = (line for line in page.splitlines() if line.startswith("grpc_server_started_total"))
        return sum(int(line.split()[-1]) for line in begun if f'grpc_method="{method}"' in line)

    @property
    def _log(self) -> Path:
        return self._folder / f"{self.name}.log"

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process


@asynccontextmanager
async def member(flags: Flags | None = None) -> AsyncIterator[Member]:
    """Run one etcd for a block."""
    async with cluster(1, flags) as members:
        yield members[0]


@asynccontextmanager
async def cluster(size: int = 3, flags: Flags | None = None) -> AsyncIterator[Sequence[Member]]:
    """Run a cluster for a block, on ports that were free."""
    async with AsyncExitStack() as stack:
        folder = ScratchDir()
        stack.callback(folder.cleanup)
        for attempt in range(_ATTEMPTS):
            members = [Member(f"m{attempt}{number}", Path(folder.path), flags or {}) for number in range(size)]
            for each in members:
                each.cluster = ",".join(other.peer for other in members)
                stack.push_async_callback(each.kill)
            try:
                await asyncio.gather(*(each.run() for each in members))
                await asyncio.gather(*(each.ready() for each in members))
                break
            except OSError as error:
                if _TAKEN not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
        yield members


async def leader_of(members: Sequence[Member]) -> Member:
    """Wait for a leader that all of them agree on."""
    ids: dict[int, Member] = {}
    found: list[Member] = []

    async def agreed() -> bool:
        named = set()
        for each in members:
            async with Etcd(EtcdConfig((each.endpoint,))) as etcd:
                request = pb.StatusRequest()
                reply = await etcd.session.call(lambda channel: channel.maintenance.Status, request, repeatable=True)
            ids[reply.header.member_id] = each
            named.add(reply.leader)
        found[:] = [ids[each] for each in named if each in ids]
        return len(named) == len(found) == 1

    await until(agreed, "a leader")
    return found[0]
