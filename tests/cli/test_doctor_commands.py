"""What ``lbctl doctor`` suggests can be pasted: every command is run as it stands, and finds what it is about."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack

import pytest

from lbctl.balance.load_report import LoadReport
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Endpoint
from tests.cli.conftest import Keys, Lbctl, Said
from tests.cli.processes import lbctl as process
from tests.doctor.ward import NOT_SERVING, Registry, backend, registry_in
from tests.etcd_fixture import LoopThread
from tests.rpc.servers import refused_port

pytestmark = pytest.mark.slow

_FOUND = {
    *("LB201", "LB203", "LB204", "LB205", "LB206", "LB207"),
    *("LB301", "LB302", "LB303", "LB304", "LB305", "LB306"),
    *("LB402", "LB403", "LB404"),
}
_WRITING = ("register", "deregister", "weight", "drain", "undrain")


class Scene:
    """Backends and registrations that stand while command lines are run in the thread of the test."""

    def __init__(self, etcd: EtcdServer) -> None:
        self._endpoint = etcd.endpoint
        self._thread = LoopThread()
        self._stack = AsyncExitStack()

    def backend(self, **faults: object) -> Endpoint:
        entering = self._stack.enter_async_context(backend(**faults))  # type: ignore[arg-type]
        return self._thread.run(entering)

    def plant(self, gone: Endpoint, dead: Endpoint) -> None:
        """Put every fault that has a command of its own there, and two services of one name."""
        well, other = self.backend(), self.backend()
        secure, ill = self.backend(tls=True), self.backend(status=NOT_SERVING)
        lacking, mute = self.backend(offers=("test.Other",)), self.backend(status=None, offers=None)
        slow = [self.backend(delay_s=delay_s) for delay_s in (0.0, 0.0, 0.05)]
        reporting = self.backend(report=LoadReport(named_metrics={"weight": 2.0}))

        async def register(registry: Registry) -> None:
            for endpoint in (well, gone, "192.0.2.1:50051", secure, ill, lacking):
                await registry.add(endpoint)
            await registry.add(well, name="again")
            await registry.add(dead, lease=0)
            await registry.add_json(other, "echo", weight="1")
            await registry.put("/services/echo/broken key", "rubbish")
            await registry.add(well, service="kept", lease=0)
            await registry.add(well, 0, service="zero")
            await registry.add(mute, service="mute")
            for endpoint in slow:
                await registry.add(endpoint, service="slow")
            await registry.add(reporting, 5, service="reporting")
            for endpoint, version in ((well, "v1"), (other, "v2")):
                await registry.add_json(endpoint, "rollout", version=version)

        self._thread.run(self._registering(register))

    async def _registering(self, register: object) -> None:
        assert callable(register)
        async with Etcd(EtcdConfig((self._endpoint,))) as etcd:
            await register(await registry_in(etcd))

    def close(self) -> None:
        self._thread.run(self._stack.aclose())
        self._thread.close()


@pytest.fixture
def scene(etcd_server: EtcdServer, keys: Keys) -> Iterator[Scene]:
    found = Scene(etcd_server)
    yield found
    found.close()


async def _started(*words: str) -> Said:
    """Start a command that never ends, and end it when it has said something."""
    async with process(*words) as started:
        assert started.stdout is not None
        async with asyncio.timeout(30):
            first = await started.stdout.readline()
            started.terminate()
            rest, said = await started.communicate()
        return Said(started.returncode or 0, (first + rest).decode(), said.decode())


def test_every_command_that_is_suggested_runs_as_it_stands(lbctl: Lbctl, scene: Scene, etcd_server: EtcdServer) -> None:
    def run(command: str) -> Said:
        name, verb, *words = shlex.split(command)
        assert name == "lbctl"
        if verb == "watch":
            return asyncio.run(_started(verb, *words))
        return lbctl(verb, *words, *(["--dry-run"] if verb in _WRITING else []))

    with ExitStack() as stack:
        scene.plant(*(stack.enter_context(refused_port()) for _ in range(2)))
        where = ("--endpoints", etcd_server.endpoint, "--prefix", "/services/", "--command-timeout", "4s")
        found = json.loads(lbctl("doctor", *where, "--probe", "90", "-o", "json").out)["findings"]
        commands = {each["code"]: each["command"] for each in found}
        ended = {code: run(command) for code, command in commands.items()}
    assert set(commands) == _FOUND
    failed = {code: said for code, said in ended.items() if said.status or "error:" in said.err}
    assert {code: said.status for code, said in failed.items()} == {"LB302": 1, "LB304": 1}, failed
    assert "CERTIFICATE" in failed["LB302"].out  # by TLS it is reached, and shows one that nobody here knows
    assert "UNIMPLEMENTED" in failed["LB304"].out
    assert {code for code, text in commands.items() if f"--endpoints {etcd_server.endpoint}" not in text} == {"LB302"}
    assert {code for code, text in commands.items() if "--prefix /services/ " not in text} == {"LB207", "LB302"}
